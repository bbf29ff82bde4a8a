create or replace function pgbaton._run_schedules(at timestamptz)
returns jsonb
language plpgsql volatile
as $$
declare
    v_schedule record;
    v_one jsonb;
    v_failure jsonb;
    v_count bigint := 0;
    v_failed jsonb := jsonb '{}';
    v_waited integer := 0;
begin
    for v_schedule in
        select s.name, s.queue_id from pgbaton.schedule as s
        where not s.is_paused and s.next_run_at <= at
        -- Their keys are locked one by one until the end: in the order of all producers.
        order by pgbaton._stripe(s.queue_id, coalesce(s.singleton_key, '')), s.name
        for update skip locked
    loop
        -- The policy of the queue is as it is until the end. While set_fifo_mode or drop_queue is at it: another time.
        continue when not pg_try_advisory_xact_lock_shared(pgbaton._lock_class() + 1, (
            select hashtext(q.name) & 255 from pgbaton.queue as q where q.id = v_schedule.queue_id
        ));
        -- After a few waits that came to nothing none is worth one.
        v_one := pgbaton._try_step(
            'schedule', at, v_schedule.name, max_wait => case when v_waited >= 5 then '1ms' end
        );
        v_count := v_count + coalesce((v_one ->> 'scheduled')::bigint, 0);
        continue when not v_one ? 'failed';
        v_failed := v_failed || (v_one -> 'failed');
        select f.failure into strict v_failure from jsonb_each(v_one -> 'failed') as f (name, failure);
        if v_failure ->> 'code' = '55P03' then
            v_waited := v_waited + 1;
        end if;
        perform pgbaton._try_step(
            'error of a schedule', at,
            jsonb_build_object('name', v_schedule.name, 'message', v_failure -> 'message')::text
        );
    end loop;
    return jsonb_build_object('scheduled', v_count, 'failed', v_failed);
end;
$$;
comment on function pgbaton._run_schedules(timestamptz) is
'Enqueues what schedules are due and returns how many jobs that were, and which schedules failed; at most 1000 of one
schedule a call. One that fails keeps no other from it, and is tried again by the next call.';
