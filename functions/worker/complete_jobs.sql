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
    v_spans constant pgbaton.span[] := pgbaton._complete_batch(job_ids, lease_token, results);
begin
    if v_spans is null then
        return query select i.ordinal::integer, i.id, 'ok' from unnest(job_ids) with ordinality as i (id, ordinal);
    else
        return query select * from pgbaton._verdicts(job_ids, v_spans, lease_token);
    end if;
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
