create or replace function pgbaton.ended_jobs_offset(after jsonb default null, queue text default null)
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    -- The clock first: who has the next transaction id, or a later one, began after that.
    v_now constant bigint := pgbaton._micros(pgbaton._now());
    v_oldest constant bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    v_next constant bigint := pgbaton._next_xid();
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'monitor');
    v_until jsonb;
begin
    if after is null then
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
'How far one can read in the stream of jobs that ended or failed: up to the oldest transaction that is still open. Each
job is between two offsets once for each time it ended or failed, however late its transaction commits.
after: the offset up to which was read; it is returned as it is when no job has ended since (of the queue; null: of
those that the caller may monitor). {} is the beginning; null (the default) gives the offset behind everything that
began before now.

Reads what ended or failed since an hour before after, and what vacuum has not summarized yet.
Raises PB001, PB009, 22023 for a value that is no offset, 55000 for an offset of another server.';
