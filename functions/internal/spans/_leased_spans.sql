create or replace function pgbaton._leased_spans(
    worker_id text, queue_ids integer[], claimed_before timestamptz
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
begin
    with held as materialized (
        select s.lo, s.hi from pgbaton.held_span as s
        where (_leased_spans.worker_id is null or s.worker_id = _leased_spans.worker_id)
            and (queue_ids is null or s.queue_id = any (queue_ids))
            and (_leased_spans.claimed_before is null or s.claimed_at < _leased_spans.claimed_before)
    ), leased as materialized (
        select s.lo, s.hi from pgbaton.span as s
        where s.lo = any (array(select h.lo from held as h)) and s.hi = any (array(select h.hi from held as h))
            and s.lease_until is not null
            and (_leased_spans.worker_id is null or s.worker_id = _leased_spans.worker_id)
            and (queue_ids is null or s.queue_id = any (queue_ids))
            and (_leased_spans.claimed_before is null or s.claimed_at < _leased_spans.claimed_before)
        order by s.lo
        for update
    ), removed as (
        delete from pgbaton.span as s
        where s.lo = any (array(select l.lo from leased as l)) and s.hi = any (array(select l.hi from leased as l))
        returning s.*
    )
    select array_agg(r::pgbaton.span) into v_spans from removed as r;
    return v_spans;
end;
$$;
comment on function pgbaton._leased_spans(text, integer[], timestamptz) is
'Takes out the leased spans of a worker, of these queues, claimed before an instant (null: any); the caller
hands them to _recover.';
