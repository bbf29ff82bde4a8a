create or replace function pgbaton._notify(sleeper_ids bigint[], channels text[])
returns void
language plpgsql volatile
as $$
begin
    -- A full queue would fail the transaction at its commit, and any notification fails PREPARE TRANSACTION. Who is not
    -- woken looks by itself after max_wait.
    if sleeper_ids is null or pg_notification_queue_usage() > 0.5 or current_setting('pgbaton.notify', true) = 'off'
    then
        return;
    end if;
    perform pg_notify(c.channel, ''), nextval('pgbaton.wake_up_seq')
    from (select distinct u.channel from unnest(channels) as u (channel)) as c;
    -- Whom somebody else is about to notify is notified by both. An older snapshot may know rows that are gone.
    if pgbaton._is_read_committed() then
        delete from pgbaton.sleeper as s
        where s.id = any (array(
            select g.id from pgbaton.sleeper as g where g.id = any (sleeper_ids) for update skip locked
        ));
    end if;
end;
$$;
comment on function pgbaton._notify(bigint[], text[]) is
'Notifies sleepers (null: none) on their channels, each worker once, and takes their rows away, so that the next who
makes a job claimable need not; nobody while the notification queue is more than half full, or when the session has set
pgbaton.notify to off. wake_up_seq counts them.';
