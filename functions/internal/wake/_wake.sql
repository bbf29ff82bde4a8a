create or replace function pgbaton._wake(
    lane_ids integer[], at timestamptz default null, max_sleepers bigint default null
)
returns void
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._sleepers_from();
    v_found record;
begin
    select array_agg(s.id) as ids, array_agg(s.channel) as channels into v_found
    from pgbaton.sleeper as s
    where s.id >= v_from and (at is null or s.asleep_until > at) and exists (
        select from pgbaton.lane as l
        where l.id = any (lane_ids)
            and (s.queue_ids is null or l.queue_id = any (s.queue_ids))
            and (s.job_types is null or l.job_type = any (s.job_types))
            and l.tags @> s.tags
        offset 0
    );
    if max_sleepers is not null then
        v_found.ids := v_found.ids[1:max_sleepers];
        v_found.channels := v_found.channels[1:max_sleepers];
    end if;
    perform pgbaton._notify(v_found.ids, v_found.channels);
end;
$$;
comment on function pgbaton._wake(integer[], timestamptz, bigint) is
'Notifies each worker that is asleep on one of these lanes; with at, only those that would sleep longer: they come, find
nothing yet, and lie down until then; with max_sleepers not more than that. Call it after the write that makes jobs
claimable: whoever lies down too late to be seen here can tell then that this transaction is open (_is_seen_by_all).';
