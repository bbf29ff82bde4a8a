create or replace function pgbaton._ranges_that_fit(
    ranges pgbaton.job_range[], filter jsonb, queue_ids integer[], lane_ids integer[]
)
returns pgbaton.job_range[]
language plpgsql stable
set timezone = 'UTC'
as $$
declare
    v_states constant text[] := array(select jsonb_array_elements_text(nullif(filter -> 'states', 'null')));
    v_worker_id constant text := filter ->> 'worker_id';
    v_after constant timestamptz := (filter ->> 'ended_after')::timestamptz;
    v_before constant timestamptz := (filter ->> 'ended_before')::timestamptz;
begin
    return array(
        select
            row(
                r.lo, r.hi, r.day, r.queue_id, r.lane_id, r.state, r.is_live, r.worker_id, r.ended_at
            )::pgbaton.job_range
        from unnest(ranges) with ordinality as r
        where case
                when queue_ids is null then r.queue_id in (select q.id from pgbaton.queue as q)  -- not a dropped one
                else r.queue_id = any (queue_ids)
            end
            and (lane_ids is null or r.lane_id = any (lane_ids))
            and (
                v_states = '{}'
                or case when r.state = 'failed' and not r.is_live then 'given_up' else r.state::text end
                = any (v_states)
            )
            and (v_worker_id is null or r.worker_id = v_worker_id)
            and (v_after is null or r.ended_at > v_after and (r.state = 'failed' or not r.is_live))
            and (v_before is null or r.ended_at < v_before and (r.state = 'failed' or not r.is_live))
        order by r.ordinality
    );
end;
$$;
comment on function pgbaton._ranges_that_fit(pgbaton.job_range[], jsonb, integer[], integer[]) is
'Those of the ranges that fit what a filter says of queue, type, tags, state, worker and end.';
