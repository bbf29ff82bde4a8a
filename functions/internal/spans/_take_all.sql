create or replace function pgbaton._take_all(
    job_ids bigint[], states pgbaton.job_state[], is_fenced boolean, lease_token bigint, allowed_queue_ids integer[],
    is_one_by_one boolean
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_left bigint[] := job_ids;
    v_taken pgbaton.span[];
    v_all pgbaton.span[] := '{}';
    v_is_busy boolean := is_one_by_one;
begin
    -- Spans split and merge while we wait for their locks: look again, in a new statement, for ids not found yet.
    -- Who had to wait for one job finishes jobs at the same time as others do: from here on each is on its own.
    loop
        v_taken := pgbaton._take(v_left, states, is_fenced, lease_token, allowed_queue_ids, v_is_busy);
        v_all := v_all || v_taken;
        exit when (select sum(t.hi - t.lo + 1) from unnest(v_taken) as t) = cardinality(v_left);
        v_left := array(
            select distinct i.id from unnest(v_left) as i (id)
            where i.id > 0 and not exists (select from unnest(v_taken) as t where i.id between t.lo and t.hi)
                and exists (
                    select from pgbaton.span as s
                    where pgbaton._covers(s.lo, s.hi, i.id) and s.state = any (states)
                        and (allowed_queue_ids is null or s.queue_id = any (allowed_queue_ids))
                        and (not is_fenced or s.lease_token = _take_all.lease_token
                            or (_take_all.lease_token is null and (s.held_key is null or s.policy is not null)))
                    offset 0
                )
        );
        exit when cardinality(v_left) = 0;
        if cardinality(v_all) > 0 and not pgbaton._lock_at_once(v_left) then
            raise exception using
                errcode = 'PB000',
                message = 'a job that moved is locked by somebody who may wait for one that is taken already';
        end if;
        v_is_busy := is_fenced and cardinality(job_ids) = 1;
    end loop;
    return v_all;
end;
$$;
comment on function pgbaton._take_all(
    bigint[], pgbaton.job_state[], boolean, bigint, integer[], boolean
) is
'What _carve does, but that it raises PB000 where it would have to wait for a job that moved meanwhile, with others in
hand.';
