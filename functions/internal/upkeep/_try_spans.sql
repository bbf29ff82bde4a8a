create or replace function pgbaton._try_spans(step text, at timestamptz, since timestamptz, max_spans integer)
returns jsonb
language plpgsql volatile
as $$
declare
    v_done jsonb := pgbaton._try_step(step, at, null, since, max_spans);
    v_name constant text := case step when 'due jobs' then 'made_due' else 'recovered' end;
    v_count bigint := 0;
    v_failed jsonb := jsonb '{}';
    v_one jsonb;
    v_lo bigint;
begin
    -- A table that is locked, or a full disk, would be met by each one of them.
    if not v_done ? 'failed' or v_done #>> array['failed', step, 'code'] ~ '^(55|53|57|58)' then
        return v_done;
    end if;
    for v_lo in
        select s.lo from only pgbaton.span as s
        where step = 'due jobs' and not s.ready and s.state in ('pending', 'retry', 'unknown_retry')
            and s.run_at >= since and s.run_at <= at
        union all
        select s.lo from pgbaton.held_span as s
        where step <> 'due jobs' and s.state in ('active', 'cancelling')
            and s.lease_until >= since and s.lease_until < at
        limit max_spans
    loop
        v_one := pgbaton._try_step(step, at, v_lo::text, since, 1);
        v_count := v_count + coalesce((v_one ->> v_name)::bigint, 0);
        if v_one ? 'failed' then
            perform pgbaton._try_step('putting off', at, v_lo::text);
            v_failed := v_failed || (v_one -> 'failed');
        end if;
    end loop;
    return jsonb_build_object(v_name, v_count) || case
            when v_failed = '{}' then v_failed else jsonb_build_object('failed', v_failed)
        end;
end;
$$;
comment on function pgbaton._try_spans(text, timestamptz, timestamptz, integer) is
'The steps due jobs and ended leases, which claims rely on. One row that cannot be handled does not keep the others
from it: they are tried one by one then, and the bad one is put off for ten minutes.';
