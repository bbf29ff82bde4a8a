create or replace function pgbaton.complete_jobs(
    job_ids bigint[], lease_token bigint default null, results jsonb[] default null
)
returns setof pgbaton.verdict
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_spans pgbaton.span[];
    v_left bigint[] := job_ids;
    v_is_done boolean := false;
begin
    perform pgbaton._check_ids(job_ids);
    perform pgbaton._check_same_length('job_ids', cardinality(job_ids), 'results', cardinality(results));
    if results is null and lease_token is not null and cardinality(job_ids) = 1 then
        v_is_done := pgbaton._complete_first(job_ids[1], lease_token);
    elsif results is null and lease_token is not null and cardinality(job_ids) > 1 then
        v_spans := pgbaton._complete_whole(job_ids, lease_token);
        v_is_done := (select sum(s.hi - s.lo + 1) from unnest(v_spans) as s) = cardinality(job_ids);
        if v_spans is not null and not v_is_done then
            v_left := pgbaton._ids_outside(job_ids, v_spans);
        end if;
    end if;
    if v_is_done then
        return query select i.ordinal::integer, i.id, 'ok' from unnest(job_ids) with ordinality as i (id, ordinal);
        return;
    end if;
    v_spans := v_spans || pgbaton._complete(v_left, lease_token, results);
    return query select * from pgbaton._verdicts(job_ids, v_spans, lease_token);
end;
$$;
comment on function pgbaton.complete_jobs(bigint[], bigint, jsonb[]) is
'Ends jobs as completed, each with its result (null: none). One verdict for each id in input order: ok,
lease_lost, invalid_state (for example completed before) or not_found; one refused job does not hinder the
others.
lease_token: of the claim; jobs of a FIFO queue are refused without it. When the lease has ended and a job was taken
back, the last token still counts until somebody else claims the job.
Raises 22004 for a null in job_ids, 2202E for arrays of different lengths, PB011 for a result that
complete_job would refuse; then none is completed, and the message says which result it is.';
