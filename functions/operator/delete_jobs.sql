create or replace function pgbaton.delete_jobs(tags text[] default null, job_ids bigint[] default null)
returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_asked bigint[] := coalesce(job_ids, '{}');
    v_failed pgbaton.span[];
    v_open bigint;
    v_known bigint[];
begin
    perform pgbaton._check_ids(v_asked);
    if cardinality(tags) > 0 then
        v_asked := v_asked || pgbaton._ids_by_tags(tags);
    end if;
    v_asked := pgbaton._granted_ids(v_asked, 'operate');
    -- Before all else is looked at: what is stored from now on may be staged, or live.
    v_asked := array(
        select distinct a.id from unnest(v_asked) as a (id)
        where exists (select from pgbaton.job as j where j.id = a.id offset 0)
    );
    if exists (select from pgbaton.spark_chunk) then
        -- What is staged is no job yet.
        v_asked := array(
            select unnest(v_asked)
            except
            select g.id
            from (select unnest(c.los) as lo, unnest(c.his) as hi from pgbaton.spark_chunk as c) as s
            cross join lateral generate_series(s.lo, s.hi) as g (id)
        );
    end if;
    v_failed := pgbaton._carve(v_asked, array['failed']::pgbaton.job_state[]);
    select min(a.id) into v_open from unnest(v_asked) as a (id) where (pgbaton._live_span(a.id)).lo is not null;
    if v_open is not null then
        raise exception using
            errcode = 'PB003',
            message = format('job %s is %s, not ended', v_open, pgbaton._state_of(v_open)),
            hint = 'Nothing was deleted. Cancel such jobs with pgbaton.cancel_jobs() first.';
    end if;

    v_open := (pgbaton._awaited(v_asked))[1];
    if v_open is not null then
        raise exception using
            errcode = 'PB003',
            message = format('another job waits for job %s', v_open),
            hint = format('Nothing was deleted. pgbaton.job_dependencies(%s) names those that wait.', v_open);
    end if;
    v_known := array(
        select distinct a.id from unnest(v_asked) as a (id)
        where exists (select from pgbaton.job as j where j.id = a.id offset 0)
    );
    perform pgbaton._pass_batons_of(v_failed);
    perform pgbaton._erase(v_known);
    if cardinality(v_known) > 0 then
        perform pgbaton._audit('delete_jobs', null, null, null, format('%s jobs', cardinality(v_known)));
    end if;
    return cardinality(v_known);
end;
$$;
comment on function pgbaton.delete_jobs(text[], bigint[]) is
'Removes for good the ended and failed jobs that carry all of the tags, and those with these ids, and returns how many.
A key that one of them held goes on. All or nothing: when one has not ended, or another job waits for it, the call
raises PB003 and deletes nothing. Unknown ids are passed over. No tags and no ids select nothing; with tags it reads
all live jobs and the history that retention keeps.

A dedup_id is kept as long as its queue keeps its history: a second job with the id of a deleted job is still a
duplicate.
Raises PB003, 2202E, 22004 or 22023.';
