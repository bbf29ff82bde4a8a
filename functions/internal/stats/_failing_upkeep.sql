create or replace function pgbaton._failing_upkeep(out steps bigint, out since timestamptz, out names text)
language sql stable
as $$
    select
        count(*), min(f.since),
        string_agg(
            format(
                case when a.is_narrowed then '%1$s (%3$s)' else '%2$s (%3$s %4$s)' end,
                f.step, f.name, f.code, f.message
            ),
            '; ' order by f.since, f.name
        ) filter (where f.place <= 10)
    from (
        select
            e.*, row_number() over (order by e.since, e.name) as place, split_part(e.name, ' "', 1) as step
        from (
            select u.name, u.failed_since as since, u.code, u.message from pgbaton.upkeep_failure as u
            union all
            -- Refused by its queue: it goes on at its next time.
            select format('schedule "%s"', s.name), coalesce(s.last_run_at, s.created_at), 'refused:', s.last_error
            from pgbaton.schedule as s
            where s.last_error is not null and not s.is_paused and not exists (
                select from pgbaton.upkeep_failure as u where u.name = format('schedule "%s"', s.name)
            )
        ) as e
    ) as f
    cross join (select pgbaton._allowed_queues('monitor') is not null as is_narrowed) as a
$$;
comment on function pgbaton._failing_upkeep() is
'How many steps of the upkeep fail, since when, and the first ten with their errors, for health(). To a narrowed
caller only which steps, since the rest may be of queues of others.';
