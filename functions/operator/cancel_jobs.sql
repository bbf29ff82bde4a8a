create or replace function pgbaton.cancel_jobs(
    tags text[] default null, job_ids bigint[] default null,
    out cancelled_job_ids bigint[], out unknown_job_ids bigint[]
)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_asked bigint[] := coalesce(job_ids, '{}');
    v_mine bigint[];
    v_spans pgbaton.span[];
begin
    perform pgbaton._check_ids(v_asked);
    if cardinality(tags) > 0 then
        v_asked := v_asked || pgbaton._granted_ids(pgbaton._live_ids_by_tags(tags), 'operate');
    end if;
    v_asked := array(select distinct a.id from unnest(v_asked) as a (id) order by a.id);
    v_mine := pgbaton._granted_ids(v_asked, 'operate');

    v_spans := pgbaton._carve(v_mine, array[
        'waiting', 'pending', 'retry', 'unknown_retry', 'active', 'cancelling'
    ]::pgbaton.job_state[]);
    perform pgbaton._cancel(v_spans);
    select
        coalesce(array_agg(a.id order by a.id) filter (where c.id is not null), '{}'),
        coalesce(array_agg(a.id order by a.id) filter (where c.id is null), '{}')
    into cancelled_job_ids, unknown_job_ids
    from unnest(v_asked) as a (id)
    left join (
        select g.id from unnest(v_spans) as s cross join lateral generate_series(s.lo, s.hi) as g (id)
    ) as c on c.id = a.id;
    if cardinality(cancelled_job_ids) > 0 then
        perform pgbaton._audit('cancel_jobs', null, null, null, format('%s jobs', cardinality(cancelled_job_ids)));
    end if;
end;
$$;
comment on function pgbaton.cancel_jobs(text[], bigint[]) is
'Cancels the jobs that carry all of the tags, and those with these ids. A job that never ran ends as unscheduled, one
between attempts as stopped. A running job is asked to stop, and keeps its key until the worker acknowledges it or its
lease ends. Returns the ids that are cancelled or being cancelled, and those that are unknown, have failed or had
ended. No tags and no ids select nothing; with tags it reads all live jobs. Raises 2202E, 22004 or 22023.';
