create or replace function pgbaton._set_paused_aside(los bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_keys text[];
begin
    with paused as (
        update only pgbaton.span as s set ready = false, run_at = null
        where s.lo = any (los) and coalesce(s.ready, false) and exists (
            select from pgbaton.paused_key as k where k.queue_id = s.queue_id and k.singleton_key = s.held_key
        )
        returning s.queue_id, s.held_key
    )
    select array_agg(p.queue_id), array_agg(p.held_key) into v_queue_ids, v_keys from paused as p;
    -- It may be resumed in a transaction that cannot see this: see resume_key.
    perform pgbaton._release_keys(v_queue_ids, v_keys);
end;
$$;
comment on function pgbaton._set_paused_aside(bigint[]) is
'Jobs of paused keys that a claim picked become due for good, and claimable when their keys are resumed.';
