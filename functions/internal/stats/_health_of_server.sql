create or replace function pgbaton._health_of_server(at timestamptz)
returns table (check_name text, is_warn boolean, is_bad boolean, detail text)
language plpgsql stable
as $$
declare
    v_oldest record;
    v_prepared record;
    v_standby record;
    v_dead record;
    v_slot record;
    v_usage constant double precision := pg_notification_queue_usage();
    v_sequences record;
    v_xids integer;
begin
    -- With a snapshot or, idle, with the id that it got when it wrote. Those of other databases hold nothing back here.
    select a.pid, at - a.xact_start as age, a.backend_xmin is null as has_only_written into v_oldest
    from pg_stat_activity as a
    where num_nonnulls(a.backend_xmin, a.backend_xid) > 0 and a.datname = current_database()
        and a.pid <> pg_backend_pid() and a.xact_start is not null
    order by a.xact_start limit 1;
    check_name := 'oldest snapshot';
    is_warn := coalesce(v_oldest.age > '5 minutes', false);
    is_bad := coalesce(v_oldest.age > '1 hour', false);
    detail := case
        when v_oldest.pid is null then 'No snapshot is open, as far as this role may see (pg_read_all_stats sees all).'
        else format(
            'The oldest %s is %s old (process %s).',
            case when v_oldest.has_only_written then 'transaction that wrote, and idles,' else 'snapshot' end,
            v_oldest.age, v_oldest.pid
        ) || case
            when is_warn then format(
                ' Claims stay fast but for keys with many finished jobs; dead rows pile up until it ends: '
                'pg_terminate_backend(%s) ends it.', v_oldest.pid
            )
            else ''
        end
    end;
    return next;

    select p.gid, at - p.prepared as age into v_prepared
    from pg_prepared_xacts as p where p.database = current_database()
    order by p.prepared limit 1;
    check_name := 'prepared transactions';
    is_warn := coalesce(v_prepared.age > '5 minutes', false);
    is_bad := coalesce(v_prepared.age > '1 hour', false);
    detail := case
        when v_prepared.gid is null then 'No transaction is prepared.'
        else format(
            'Transaction %L was prepared %s ago and keeps its locks and all dead rows until "commit prepared %L" or '
            '"rollback prepared %L" ends it.', v_prepared.gid, v_prepared.age, v_prepared.gid, v_prepared.gid
        )
    end;
    return next;

    select coalesce(nullif(r.application_name, ''), 'of process ' || r.pid) as name, age(r.backend_xmin) as xids
    into v_standby
    from pg_stat_replication as r where r.backend_xmin is not null
    order by age(r.backend_xmin) desc limit 1;
    check_name := 'standbys';
    is_warn := coalesce(v_standby.xids > 1000000, false);
    is_bad := coalesce(v_standby.xids > 100000000, false);
    detail := case
        when v_standby.name is null then 'No standby holds anything back, as far as this role may see.'
        else format(
            'Standby %s holds back the last %s transactions for its queries (hot_standby_feedback).',
            v_standby.name, v_standby.xids
        ) || case when is_warn then ' End the oldest one there, or turn the setting off.' else '' end
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
            'Slot %s holds back the last %s transactions.', v_slot.slot_name, v_slot.xids
        ) || case
            when is_warn then
                format(' If its reader is gone, pg_drop_replication_slot(%L) drops it.', v_slot.slot_name)
            else ''
        end
    end;
    return next;

    select sum(t.n_dead_tup) as dead, sum(t.n_live_tup) as live into v_dead
    from pg_stat_all_tables as t
    where t.relid in ('pgbaton.span'::regclass, 'pgbaton.ready_span'::regclass, 'pgbaton.leased_span'::regclass);
    check_name := 'dead rows';
    is_warn := v_dead.dead > 1000000 and v_dead.dead > 5 * v_dead.live;
    is_bad := v_dead.dead > 10000000 and v_dead.dead > 5 * v_dead.live;
    detail := format('Live jobs have by statistics %s live and %s dead rows.', v_dead.live, v_dead.dead) || case
            when is_warn then ' Autovacuum clears them unless a snapshot or a slot holds it back: the checks above '
                'say which.'
            else ''
        end;
    return next;

    check_name := 'notify queue';
    is_warn := v_usage > 0.1;
    is_bad := v_usage > 0.5;
    detail := format('The queue of notifications is %s %% full.', round((v_usage * 100)::numeric, 1)) || case
            when is_warn then ' A session that listens in a long transaction fills it: end that transaction.'
            else ''
        end;
    return next;

    select age(d.datfrozenxid) into v_xids from pg_database as d where d.datname = current_database();
    check_name := 'transaction ids';
    is_warn := v_xids > 1000000000;
    is_bad := v_xids > 1700000000;
    detail := format('The oldest transaction id that is not frozen is %s transactions old.', v_xids) || case
            when is_warn then ' At two billion the server takes no more writes. Autovacuum freezes them unless '
                'something holds it back: the checks above say what; "vacuum freeze" does it at once.'
            else ''
        end;
    return next;

    check_name := 'id headroom';
    select
        max(u.used) as used,
        string_agg(format('%s %% of %s', round(u.used * 100, 6), u.name), ', ' order by u.used desc)
        filter (where u.is_first or u.used > 0.5) as names
    into v_sequences
    from (
        select
            s.sequencename as name, coalesce(s.last_value, 0)::numeric / s.max_value as used,
            row_number() over (order by s.last_value::numeric / s.max_value desc nulls last) = 1 as is_first
        from pg_sequences as s
        where s.schemaname = 'pgbaton'
    ) as u;
    is_warn := v_sequences.used > 0.5;
    is_bad := v_sequences.used > 0.9;
    detail := format('Most used of all sequences: %s.', v_sequences.names) || case
            when is_warn then ' At the end whatever draws from it fails with 2200H. Once its low numbers are free '
                'again, "alter sequence pgbaton.… restart" starts anew.'
            else ''
        end;
    return next;
end;
$$;
comment on function pgbaton._health_of_server(timestamptz) is
'The checks of health() that look at the server.';
