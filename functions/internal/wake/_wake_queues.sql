create or replace function pgbaton._wake_queues(queue_ids integer[])
returns void
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._sleepers_from();
    v_found record;
begin
    -- For transactions that wrote no span: what _is_seen_by_all looks for.
    lock table pgbaton.span in row exclusive mode;
    select array_agg(s.id) as ids, array_agg(s.channel) as channels into v_found
    from pgbaton.sleeper as s
    where s.id >= v_from and (
            _wake_queues.queue_ids is null or s.queue_ids is null or s.queue_ids && _wake_queues.queue_ids
        );
    perform pgbaton._notify(v_found.ids, v_found.channels);
end;
$$;
comment on function pgbaton._wake_queues(integer[]) is
'Notifies each worker that is asleep on one of these queues (null: any), whatever else it asks for. Call it after the
write that makes jobs claimable, or that leaves a baton to the next claim.';
