create or replace function pgbaton._check_topic(topic text, is_pattern boolean)
returns void
language plpgsql immutable parallel safe
as $$
begin
    if topic is null or octet_length(topic) > 255 or topic !~ (case
        when is_pattern then E'^([^.*#\\x01-\\x1f\\x7f]+|[*]|#)([.]([^.*#\\x01-\\x1f\\x7f]+|[*]|#))*$'
        else E'^[^.*#\\x01-\\x1f\\x7f]+([.][^.*#\\x01-\\x1f\\x7f]+)*$'
    end) then
        raise exception using
            errcode = case when topic is null then 'null_value_not_allowed' else 'invalid_parameter_value' end,
            message = format('topic %s is not valid', coalesce(quote_literal(topic), 'null')),
            hint = case
                when is_pattern then 'Use words with dots between them, at most 255 bytes; * stands for one word, '
                    '# for any number.'
                else 'Use words with dots between them, at most 255 bytes, for example order.paid.'
            end;
    end if;
end;
$$;
comment on function pgbaton._check_topic(text, boolean) is
'Raises 22004 or 22023 unless it is a topic, or a pattern of topics.';
