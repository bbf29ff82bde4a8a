create or replace function pgbaton._lease_in_order(
    los bigint[], worker_id text, lease_token bigint, at timestamptz, lease interval, slots smallint[]
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    with leased as (
        update only pgbaton.span as s
        set
            state = 'active',
            slot = coalesce(
                case when slots is not null then slots[array_position(los, s.lo)] end,
                case when s.held_key is not null or s.policy = 'exclusive' then 0 end  -- as _slot has it
            ),
            held_key = case when slots is null or slots[array_position(los, s.lo)] is null then s.held_key end,
            ready = false,
            attempt = s.attempt + 1,
            lease_token = _lease_in_order.lease_token,
            lease_until = pgbaton._after(
                at, coalesce(_lease_in_order.lease, (select q.lease from pgbaton.queue as q where q.id = s.queue_id))
            ),
            claimed_at = at,
            changed_at = null,
            worker_id = _lease_in_order.worker_id
        -- Whether any key is paused is looked at once. Not ready itself, or all claimable jobs may be read through
        -- span_ready_idx, those that were as well.
        where s.lo = any (los) and coalesce(s.ready, false) and (s.held_key is null or not (
            exists (select from pgbaton.paused_key) and exists (
                select from pgbaton.paused_key as k
                where k.queue_id = s.queue_id and k.singleton_key = s.held_key
            ) or exists (
                select from only pgbaton.span as o
                where o.queue_id = s.queue_id and o.singleton_key = s.held_key and o.slot = 0 and o.lo <> s.lo
                offset 0
            )
        ))
        returning s.*
    )
    select array_agg(l::pgbaton.span) into v_spans from leased as l;
    return v_spans;
end;
$$;
comment on function pgbaton._lease_in_order(bigint[], text, bigint, timestamptz, interval, smallint[]) is
'Leases spans of queues with keys or a policy, which _pick_spans locked, in place, and returns them as they are now:
those of a paused key, or beside a job of their key that runs, are left out. lease: null is that of the queue.
slots: in which of them run without the batons of their keys, see _places_aside; null is none.';
