create or replace function pgbaton._place_job(
    queue pgbaton.queue, lane_id integer, run_at timestamptz, payload jsonb, singleton_key text,
    options pgbaton.job_options, known_id bigint, may_replace boolean, debounce interval, max_wait interval,
    out job_id bigint, out outcome text
)
language plpgsql volatile
as $$
declare
    v_taken constant pgbaton.span[] := pgbaton._take_replaced(queue, singleton_key, known_id, may_replace);
    v_place pgbaton.span;
begin
    if v_taken is null then
        outcome := format('rejected: the policy %s allows no further job of this key', queue.policy);
        return;
    end if;
    job_id := nextval('pgbaton.job_id_seq');
    select s.* into v_place from unnest(v_taken) as s
    where queue.policy = 'standard' or s.singleton_key = coalesce(_place_job.singleton_key, '');
    perform pgbaton._end_replaced(
        array(select s::pgbaton.span from unnest(v_taken) as s where s.lo is distinct from v_place.lo), job_id
    );
    outcome := case
        when cardinality(v_taken) > 0 then 'replaced'
        when may_replace and pgbaton._is_behind(queue, singleton_key, known_id) then 'behind'
        else 'enqueued'
    end;
    if v_place.lo is not null then
        perform pgbaton._take_place(
            v_place, job_id, lane_id, run_at, payload, singleton_key, options, debounce, max_wait
        );
    else
        perform pgbaton._add_job(
            job_id, queue, lane_id, coalesce(run_at, pgbaton._after(pgbaton._now(), debounce)), payload, singleton_key,
            options
        );
    end if;
end;
$$;
comment on function pgbaton._place_job(
    pgbaton.queue, integer, timestamptz, jsonb, text, pgbaton.job_options, bigint, boolean, interval, interval
) is
'Adds one job, which was checked, in the place of the one that it replaces, else at the end of its line. known_id: the
earlier job of its dedup id. Of another key than that one it goes to the end of its own. No id when it is rejected.';
