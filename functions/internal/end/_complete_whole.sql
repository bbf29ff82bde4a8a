create or replace function pgbaton._complete_whole(job_ids bigint[], lease_token bigint, wakes boolean)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_first constant bigint := job_ids[1];
    v_last constant bigint := job_ids[cardinality(job_ids)];
    v_is_run constant boolean := case
        when v_first < 1 or v_last < v_first then false
        when v_last - v_first + 1 = cardinality(job_ids) then job_ids = array(select generate_series(v_first, v_last))
        else false
    end;
    v_states constant pgbaton.job_state[] := array['active', 'cancelling']::pgbaton.job_state[];
    v_spans pgbaton.span[];
begin
    -- Before anything is locked: a narrowed caller must not hold up jobs of other queues.
    if pgbaton._has_grants() then
        return null;
    end if;
    -- By their ids: by token or state, all spans of the claim would be read. And through the primary key in its order,
    -- as all do who lock several spans. Twice, since neither way of finding them is good for the other.
    if v_is_run then
        with removed as (
            delete from pgbaton.leased_span as s
            where s.lo between v_first and v_last and s.hi <= v_last
                and s.lease_token is not distinct from _complete_whole.lease_token
            returning s.*
        )
        select array_agg(r::pgbaton.span) into v_spans from removed as r;
    else
        with removed as (
            delete from pgbaton.leased_span as s
            where s.lo = any (job_ids) and s.hi = s.lo
                and s.lease_token is not distinct from _complete_whole.lease_token
            returning s.*
        )
        select array_agg(r::pgbaton.span) into v_spans from removed as r;
    end if;
    -- With keys, or a policy, it is always spans of one.
    if v_spans is null then
        with removed as (
            delete from only pgbaton.span as s
            where s.lo = any (job_ids) and s.hi = s.lo
                and s.lease_token is not distinct from _complete_whole.lease_token and s.state = any (v_states)
            returning s.*
        )
        select array_agg(r::pgbaton.span) into v_spans from removed as r;
    end if;
    if v_spans is not null then
        perform pgbaton._finish(v_spans, 'completed', wakes => wakes);
    end if;
    return v_spans;
end;
$$;
comment on function pgbaton._complete_whole(bigint[], bigint, boolean) is
'The short way of complete_jobs: ends the spans under this token all of whose jobs are among the ids, as it is when
a worker completes what it claimed, and as it always is with keys. Of ids that do not follow one another, spans of
one job only. Null when there are none. wakes: as _free_places has it.';
