create or replace function pgbaton._recover(spans pgbaton.span[], reason text)
returns bigint
language plpgsql volatile
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_spent_ids bigint[];
    v_spent pgbaton.span[];
    v_living pgbaton.span[];
begin
    if spans is null or cardinality(spans) = 0 then
        return 0;
    end if;
    insert into pgbaton.lease_loss (queue_id, jobs)
    select s.queue_id, sum(s.hi - s.lo + 1) from unnest(spans) as s where s.lease_until < v_now group by s.queue_id;
    -- A cancellation that nobody confirmed.
    perform pgbaton._finish(
        array(select s::pgbaton.span from unnest(spans) as s where s.state = 'cancelling'), 'unknown_stopped'
    );

    v_living := array(select s::pgbaton.span from unnest(spans) as s where s.state = 'active');
    v_spent_ids := array(select j.job_id from pgbaton._jobs_of(v_living) as j where j.is_spent);
    v_spent := array(select s::pgbaton.span from unnest(v_living) as s where s.lo = s.hi and s.lo = any (v_spent_ids));
    perform pgbaton._requeue(
        array(
            select s::pgbaton.span from unnest(v_living) as s
            where s.lo < s.hi or s.lo <> all (v_spent_ids)
        ),
        'unknown_retry', v_now
    );
    if cardinality(v_spent_ids) > cardinality(v_spent) then
        -- Out of longer spans what has no attempt left.
        v_spent := v_spent || pgbaton._carve(v_spent_ids, array['unknown_retry']::pgbaton.job_state[]);
    end if;
    if cardinality(v_spent_ids) > 0 then
        perform pgbaton._fail(
            v_spent, v_spent_ids, array_fill(reason, array[cardinality(v_spent_ids)]), true, null
        );
    end if;
    return (select sum(s.hi - s.lo + 1) from unnest(spans) as s);
end;
$$;
comment on function pgbaton._recover(pgbaton.span[], text) is
'Takes jobs from a worker that is gone, spans that were carved out: active ones run again at their old place,
or are failed when their attempts are used up; cancelling ones end as unknown_stopped. Those whose lease had
ended are counted in lease_loss. Returns how many jobs it were.';
