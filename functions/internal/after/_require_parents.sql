create or replace function pgbaton._require_parents(
    parent_ids bigint[], waits jsonb[] default null, row_nos bigint[] default null
)
returns void
language plpgsql volatile
as $$
declare
    v_allowed constant integer[] := pgbaton._allowed_queues('enqueue');
    v_missing bigint;
    v_row_no bigint;
begin
    select i.id into v_missing
    from unnest(parent_ids) as i (id)
    -- In this order, whatever the planner thinks of it: most are live, and history has many days.
    where not case
        when exists (
            select from pgbaton.span as s
            where pgbaton._covers(s.lo, s.hi, i.id)
                and (v_allowed is null or s.queue_id = any (v_allowed))
            offset 0
        ) then true
        else exists (
            select from pgbaton.job_history as h
            inner join pgbaton.queue as q on q.id = h.queue_id  -- not of one that was dropped
            where pgbaton._covers(h.lo, h.hi, i.id)
                and (v_allowed is null or h.queue_id = any (v_allowed))
            offset 0
        )
    end
    limit 1;
    if not found then
        return;
    elsif not pgbaton._is_read_committed() then
        raise exception using
            errcode = 'serialization_failure',
            message = format('job %s, named by after, is not there in this snapshot', v_missing),
            hint = 'Run the transaction again.';
    end if;
    select min(coalesce(row_nos[w.ordinal], w.ordinal)) into v_row_no
    from unnest(waits) with ordinality as w (wait, ordinal) where w.wait -> 'after' @> to_jsonb(v_missing);
    raise exception using
        errcode = 'PB002',
        message = format('job %s, named by after, does not exist%s', v_missing, ' (row ' || v_row_no || ')'),
        hint = 'It was never committed, its retention is over, or its queue is not yours: whether it completed is not '
            'known.';
end;
$$;
comment on function pgbaton._require_parents(bigint[], jsonb[], bigint[]) is
'Raises PB002 unless all of these jobs are known, live or ended, in queues in which the caller may enqueue; 40001 under
an older snapshot. waits: of rows, to say which row names the one that is not known; row_nos: what messages call them.';
