create or replace function pgbaton._topic_regex(topic_pattern text)
returns text
language plpgsql immutable parallel safe
as $$
declare
    v_regex text := '';
    v_word text;
begin
    -- Matched against the topic with a dot before each word, so that # may stand for no word at all.
    foreach v_word in array string_to_array(topic_pattern, '.') loop
        v_regex := v_regex || case v_word
            when '#' then '([.][^.]+)*'
            when '*' then '[.][^.]+'
            else '[.]' || regexp_replace(v_word, '([^[:alnum:] ])', E'\\\\\\1', 'g')
        end;
    end loop;
    return '^' || v_regex || '$';
end;
$$;
comment on function pgbaton._topic_regex(text) is
'Regular expression of a topic pattern, for the topic with a dot in front.';
