create or replace function pgbaton._health_of_lines(at timestamptz, queue_ids integer[])
returns table (check_name text, is_warn boolean, is_bad boolean, detail text)
language plpgsql volatile
as $$
declare
    v_asked constant interval := pgbaton._longest_wait();
    v_bound constant interval := coalesce(v_asked, '15 minutes');
    v_first constant interval := least(v_bound, '1 minute');
    v_sleepers_from constant bigint := pgbaton._sleepers_from();
    v_lines record;
begin
    select
        max(f.wait) filter (where not f.is_worked) as alone,
        string_agg(format('"%s" since %s', f.name, at - f.wait), ', ' order by f.wait desc)
        filter (where not f.is_worked and f.wait > v_first and f.place <= 5) as alone_names,
        max(f.wait) as longest,
        string_agg(format('"%s" since %s', f.name, at - f.wait), ', ' order by f.wait desc)
        filter (where f.wait > v_bound and f.place <= 5) as late_names
    into v_lines
    from (
        select w.*, row_number() over (partition by w.is_worked order by w.wait desc) as place
        from (
            select
                q.name, at - pgbaton._first_in_line(q.id) as wait,
                exists (
                    select from pgbaton.held_span as s where s.queue_id = q.id
                ) or exists (
                    select from pgbaton.sleeper as s
                    where s.id >= v_sleepers_from and s.asleep_until > at - interval '1 minute'
                        and (s.queue_ids is null or q.id = any (s.queue_ids))
                ) as is_worked
            from pgbaton.queue as q
            where not q.is_paused
                and (_health_of_lines.queue_ids is null or q.id = any (_health_of_lines.queue_ids))
        ) as w
        where w.wait is not null
    ) as f;

    check_name := 'queues without workers';
    is_warn := coalesce(v_lines.alone > v_first, false);
    is_bad := coalesce(v_lines.alone > v_bound, false);
    detail := case
        when not is_warn then format('No job has waited for %s on a queue on which nobody works.', v_first)
        else format(
            'Jobs wait and nobody works on their queue: %s. Start a worker for it, or pause the queue.',
            v_lines.alone_names
        )
    end;
    return next;

    check_name := 'waiting jobs';
    is_warn := v_asked is null or coalesce(v_lines.longest > v_bound, false);
    is_bad := false;
    detail := case when v_asked is null then format(
        'pgbaton.longest_wait is %L, which is no time above zero: 15 minutes count. ',
        pgbaton._shortened(current_setting('pgbaton.longest_wait'), 100)
    ) else '' end || case
        when v_lines.longest is null then 'No job waits for a worker.'
        when v_lines.longest <= v_bound then format('The first in line waits for %s.', v_lines.longest)
        else format(
            'Jobs have waited for a worker longer than %s (pgbaton.longest_wait): %s. More workers, or faster '
            'handlers, make the line shorter.', v_bound, v_lines.late_names
        )
    end;
    return next;
end;
$$;
comment on function pgbaton._health_of_lines(timestamptz, integer[]) is
'The checks of health() that look at who waits in line; null is all queues.';
