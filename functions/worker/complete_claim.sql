create or replace function pgbaton.complete_claim(lease_token bigint)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_spans pgbaton.span[];
    v_count integer := 0;
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
begin
    perform pgbaton._check_token(lease_token);
    -- Until none is left: a span that was split while we waited for its lock lives on in other rows.
    while exists (
        select from pgbaton.span as s
        where s.lease_token = complete_claim.lease_token
            and (v_allowed is null or s.queue_id = any (v_allowed))
        offset 0
    ) loop
        with held as materialized (
            -- Found without order, or where the table seems to be empty all of the primary key would be read in order.
            select s.lo, s.hi from pgbaton.span as s
            where s.lease_token = complete_claim.lease_token
                and (v_allowed is null or s.queue_id = any (v_allowed))
            offset 0
        ), locked as materialized (
            -- In order, as all do who lock several spans.
            select s.lo, s.hi from pgbaton.span as s
            where s.lo = any (array(select h.lo from held as h)) and s.hi = any (array(select h.hi from held as h))
                and s.lease_token is not distinct from complete_claim.lease_token
            order by s.lo
            for update
        ), removed as (
            delete from pgbaton.span as s
            where s.lo = any (array(select l.lo from locked as l)) and s.hi = any (array(select l.hi from locked as l))
            returning s.*
        )
        select coalesce(array_agg(r::pgbaton.span), '{}') into v_spans from removed as r;
        perform pgbaton._finish(v_spans, 'completed');
        v_count := v_count + (select coalesce(sum(s.hi - s.lo + 1), 0) from unnest(v_spans) as s);
    end loop;
    return v_count;
end;
$$;
comment on function pgbaton.complete_claim(bigint) is
'Ends all jobs that a claim still holds as completed and returns how many: 0 when nothing is left. With them those
whose lease ended, as long as nobody else has them. Jobs that were finished one by one before are not touched. Raises
22004 for null.';
