create or replace function pgbaton._carve(
    job_ids bigint[], states pgbaton.job_state[], is_fenced boolean default false, lease_token bigint default null,
    is_one_by_one boolean default false
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_allowed constant integer[] := case
        when is_fenced and pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
    v_first pgbaton.span;
    v_all pgbaton.span[];
begin
    if cardinality(job_ids) = 1 and job_ids[1] > 0 then
        v_first := pgbaton._take_first(job_ids[1], states, is_fenced, lease_token, v_allowed);
        if v_first.lo is not null then
            return array[v_first];
        end if;
        return pgbaton._take_all(job_ids, states, is_fenced, lease_token, v_allowed, is_one_by_one);
    end if;
    loop
        begin
            v_all := pgbaton._take_all(job_ids, states, is_fenced, lease_token, v_allowed, is_one_by_one);
            exit;
        exception when sqlstate 'PB000' then
            continue;  -- with nothing locked
        end;
    end loop;
    return v_all;
end;
$$;
comment on function pgbaton._carve(bigint[], pgbaton.job_state[], boolean, bigint, boolean) is
'Takes the jobs out of the live spans and returns them as spans of their own, which the caller puts back or
into history. Only jobs in one of the states are taken; a fenced call takes only those of its token, or
without a token those that hold no key. What is not returned was not touched. When jobs end is_one_by_one, what is
left of a span becomes one for each job, unless it was the first that ended.';
