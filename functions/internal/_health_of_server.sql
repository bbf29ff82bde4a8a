create or replace function pgbaton._health_of_server(at timestamptz)
returns table (check_name text, is_warn boolean, is_bad boolean, detail text)
language plpgsql stable
as $$
declare
    v_oldest record;
    v_dead record;
    v_slot record;
    v_usage constant double precision := pg_notification_queue_usage();
    v_ids constant double precision := coalesce(pg_sequence_last_value('pgbaton.job_id_seq'), 0) / 9.2e18;
begin
    select a.pid, at - a.xact_start as age into v_oldest
    from pg_stat_activity as a
    where a.backend_xmin is not null and a.pid <> pg_backend_pid() and a.xact_start is not null
    order by a.xact_start limit 1;
    check_name := 'oldest snapshot';
    is_warn := coalesce(v_oldest.age > '5 minutes', false);
    is_bad := coalesce(v_oldest.age > '1 hour', false);
    detail := case
        when v_oldest.pid is null then 'No snapshot is open, as far as this role may see (pg_read_all_stats sees all).'
        else format(
            'The oldest snapshot is %s old (process %s). Claims stay fast, but dead rows pile up until it ends: '
            'pg_terminate_backend(%s) ends it.', v_oldest.age, v_oldest.pid, v_oldest.pid
        )
    end;
    return next;

    select s.slot_name, age(coalesce(s.xmin, s.catalog_xmin)) as xids into v_slot
    from pg_replication_slots as s
    order by age(coalesce(s.xmin, s.catalog_xmin)) desc nulls last limit 1;
    check_name := 'replication slots';
    is_warn := coalesce(v_slot.xids > 1000000, false);
    is_bad := coalesce(v_slot.xids > 100000000, false);
    detail := case
        when v_slot.xids is null then 'No slot holds anything back.'
        else format(
            'Slot %s holds back the last %s transactions. If its reader is gone, '
            'pg_drop_replication_slot(%L) drops it.',
            v_slot.slot_name, v_slot.xids, v_slot.slot_name
        )
    end;
    return next;

    select t.n_dead_tup as dead, t.n_live_tup as live into v_dead
    from pg_stat_all_tables as t where t.relid = 'pgbaton.span'::regclass;
    check_name := 'dead rows';
    is_warn := v_dead.dead > 1000000 and v_dead.dead > 5 * v_dead.live;
    is_bad := v_dead.dead > 10000000 and v_dead.dead > 5 * v_dead.live;
    detail := format(
        'Table pgbaton.span has %s live and %s dead rows. Autovacuum clears them unless a snapshot or a slot '
        'holds it back.',
        v_dead.live, v_dead.dead
    );
    return next;

    check_name := 'notify queue';
    is_warn := v_usage > 0.1;
    is_bad := v_usage > 0.5;
    detail := format(
        'The queue of notifications is %s %% full. A session that listens in a long transaction fills it: '
        'end that transaction.',
        round((v_usage * 100)::numeric, 1)
    );
    return next;

    check_name := 'id headroom';
    is_warn := v_ids > 0.5;
    is_bad := v_ids > 0.9;
    detail := format('%s %% of the job ids are used.', round((v_ids * 100)::numeric, 6)) || case
            when is_warn then ' Once no low id is left, "alter sequence pgbaton.job_id_seq restart" starts anew.'
            else ''
        end;
    return next;
end;
$$;
comment on function pgbaton._health_of_server(timestamptz) is
'The checks of health() that look at the server.';
