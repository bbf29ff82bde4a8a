create or replace function pgbaton._try_released(at timestamptz, released_from bigint, is_full boolean default false)
returns jsonb
language plpgsql volatile
as $$
declare
    v_done jsonb := pgbaton._try_step('released keys', at, released_from::text);
    v_failure jsonb;
    v_failed jsonb := jsonb '{}';
    v_row record;
    v_one jsonb;
begin
    if v_done ? 'failed' then
        select f.failure into strict v_failure from jsonb_each(v_done -> 'failed') as f (name, failure);
        -- A table that is locked, or a full disk, would be met by each one of them.
        if v_failure ->> 'code' ~ '^(53|55|57|58)' then
            return jsonb_build_object('failed', jsonb_build_object('released keys', v_failure));
        end if;
    elsif not is_full then
        return v_done;
    end if;
    for v_row in
        select r.* from pgbaton.baton_release as r
        where (v_failure is not null and r.id >= released_from) or (is_full and r.id < 0)
        order by r.id
        limit 1000
    loop
        v_one := pgbaton._try_step('released key', at, v_row.id::text);
        continue when not v_one ? 'failed';
        perform pgbaton._try_step('putting off a key', at, v_row.id::text);
        select f.failure into strict v_failure from jsonb_each(v_one -> 'failed') as f (name, failure);
        v_failed := v_failed || jsonb_build_object(
            pgbaton._name_of_row(
                'released keys', v_row.queue_id || ' ' || coalesce(v_row.parent_id::text, v_row.singleton_key, '')
            ),
            v_failure
        );
    end loop;
    return case when v_failed = '{}' then v_failed else jsonb_build_object('failed', v_failed) end;
end;
$$;
comment on function pgbaton._try_released(timestamptz, bigint, boolean) is
'Passes on released batons. One that cannot be passed on keeps no other from it, and is put off: with its number below
zero no claim meets it. When it is_full, those that were put off are tried again.';
