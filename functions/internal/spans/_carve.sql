create or replace function pgbaton._carve(
    job_ids bigint[], states pgbaton.job_state[], is_fenced boolean default false, lease_token bigint default null,
    is_one_by_one boolean default false
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_left bigint[] := job_ids;
    v_allowed constant integer[] := case
        when is_fenced and pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
    v_first pgbaton.span;
    v_taken pgbaton.span[];
    v_all pgbaton.span[] := '{}';
    v_is_busy boolean := is_one_by_one;
begin
    if cardinality(job_ids) = 1 and job_ids[1] > 0 then
        v_first := pgbaton._take_first(job_ids[1], states, is_fenced, lease_token, v_allowed);
        if v_first.lo is not null then
            return array[v_first];
        end if;
    end if;
    -- Spans split and merge while we wait for their locks: look again, in a new statement, for ids not found yet.
    -- Who had to wait for one job finishes jobs at the same time as others do: from here on each is on its own.
    loop
        v_taken := pgbaton._take(v_left, states, is_fenced, lease_token, v_allowed, v_is_busy);
        v_all := v_all || v_taken;
        exit when (select sum(t.hi - t.lo + 1) from unnest(v_taken) as t) = cardinality(v_left);
        v_left := array(
            select distinct i.id from unnest(v_left) as i (id)
            where i.id > 0 and not exists (select from unnest(v_taken) as t where i.id between t.lo and t.hi)
                and exists (
                    select from pgbaton.span as s
                    where pgbaton._covers(s.lo, s.hi, i.id) and s.state = any (states)
                        and (v_allowed is null or s.queue_id = any (v_allowed))
                        and (not is_fenced or s.lease_token = _carve.lease_token
                            or (_carve.lease_token is null and (s.held_key is null or s.policy is not null)))
                    offset 0
                )
        );
        exit when cardinality(v_left) = 0;
        v_is_busy := is_fenced and cardinality(job_ids) = 1;
    end loop;
    return v_all;
end;
$$;
comment on function pgbaton._carve(bigint[], pgbaton.job_state[], boolean, bigint, boolean) is
'Takes the jobs out of the live spans and returns them as spans of their own, which the caller puts back or
into history. Only jobs in one of the states are taken; a fenced call takes only those of its token, or
without a token those that hold no key. What is not returned was not touched. When jobs end is_one_by_one, what is
left of a span becomes one for each job, unless it was the first that ended.';
