create or replace function pgbaton._wake_lanes_of(queue_id integer)
returns void
language plpgsql volatile
as $$
begin
    -- For transactions that wrote no span: what _is_seen_by_all looks for.
    lock table pgbaton.span in row exclusive mode;
    perform pgbaton._wake(array(select l.id from pgbaton.lane as l where l.queue_id = _wake_lanes_of.queue_id));
end;
$$;
comment on function pgbaton._wake_lanes_of(integer) is
'Notifies each worker that is asleep on a lane of this queue, all of which may have become claimable.';
