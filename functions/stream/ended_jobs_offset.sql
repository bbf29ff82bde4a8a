create or replace function pgbaton.ended_jobs_offset(after jsonb default null, queue text default null)
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    -- The clock first: a transaction that is not in the snapshot begins later than that.
    v_now constant bigint := pgbaton._micros(pgbaton._now());
    v_snapshot constant pg_snapshot := pg_current_snapshot();
    v_oldest constant bigint := pg_snapshot_xmin(v_snapshot)::text::bigint;
    v_next constant bigint := pg_snapshot_xmax(v_snapshot)::text::bigint;
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
    v_until jsonb;
begin
    if not pgbaton._is_read_committed() then
        raise exception using
            errcode = 'feature_not_supported',
            message = 'this transaction sees the past only',
            hint = 'Call ended_jobs_offset in a READ COMMITTED transaction.';
    elsif after is null then
        return jsonb_build_object('xid', v_next, 'at', v_now, 'next_xid', v_next, 'next_at', v_now);
    end if;
    perform pgbaton._check_offset('after', after);
    if v_oldest <= (after ->> 'xid')::bigint then
        return after;
    end if;

    -- xid: all older transactions have ended. at: a time before the transaction xid began. It is noted beforehand,
    -- with what was then the next one.
    if v_oldest >= coalesce((after ->> 'next_xid')::bigint, 0) then
        v_until := jsonb_build_object(
            'xid', v_oldest, 'at', (after ->> 'next_at')::bigint, 'next_xid', v_next, 'next_at', v_now
        );
    else
        v_until := after || jsonb_build_object('xid', v_oldest);
    end if;
    v_until := jsonb_strip_nulls(v_until);

    -- A stream shall rest while nothing ends, but not fall behind by all that 32 bits can tell.
    if v_oldest - coalesce((after ->> 'xid')::bigint, 0) > 16777216 or exists (
        select from pgbaton._ended_between(after, v_until) as e
        where v_queue_ids is null or e.queue_id = any (v_queue_ids)
    ) then
        return v_until;
    end if;
    return after;
end;
$$;
comment on function pgbaton.ended_jobs_offset(jsonb, text) is
'How far one can read in the stream of jobs that ended or failed: up to the oldest transaction that is still open.
Each job is between two offsets once for each time it ended or failed, however late its transaction commits.
after: the offset up to which was read; it is returned as it is when no job (of the queue; null: of those the
caller may monitor) ended since. {} is the beginning; null (the default) gives the offset behind everything that
began before now.
Raises PB001, PB009, 22023 for what is no offset, 55000 for one of another server, 0A000 in a transaction that is
not READ COMMITTED.';
