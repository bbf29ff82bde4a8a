create or replace function pgbaton._wake_for_lease(queue_ids integer[], lease_until timestamptz)
returns void
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._sleepers_from();
    v_found record;
begin
    select array_agg(s.id) as ids, array_agg(s.channel) as channels into v_found
    from pgbaton.sleeper as s
    where s.id >= v_from and s.asleep_until > lease_until
        and (s.queue_ids is null or s.queue_ids && _wake_for_lease.queue_ids);
    perform pgbaton._notify(v_found.ids, v_found.channels);
end;
$$;
comment on function pgbaton._wake_for_lease(integer[], timestamptz) is
'Notifies each worker on one of these queues that would sleep past the end of a lease: it comes, and lies down until
then. Only for a lease that a call gives itself: nobody sleeps longer than those of the queues.';
