create or replace function pgbaton.set_queue_limits(
    queue text,
    max_running integer default null,
    key_limit integer default null,
    rate_count integer default null,
    rate_interval interval default null,
    rate_burst integer default null,
    key_rate_count integer default null,
    key_rate_interval interval default null,
    key_rate_burst integer default null
)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue pgbaton.queue;
    v_is_changed boolean;
    v_are_keys_changed boolean;
    v_key_limit integer;  -- as it was
begin
    perform pgbaton._check_limits(
        max_running, key_limit, rate_count, rate_interval, rate_burst, key_rate_count, key_rate_interval,
        key_rate_burst
    );
    v_queue := pgbaton._close_gate(queue, max_running, key_limit);
    perform pgbaton._require_keys(v_queue, key_limit, key_rate_count);
    select l.size into v_key_limit from pgbaton.queue_limit as l where l.queue_id = v_queue.id and l.kind = 'key';
    -- Each of them: what is left out has no limit.
    select bool_or(c.is_changed), bool_or(c.is_changed) filter (where c.kind in ('key', 'key_rate', 'key_burst'))
    into v_is_changed, v_are_keys_changed
    from (
        select l.kind, pgbaton._set_limit(v_queue.id, l.kind, l.size, l.refill) as is_changed
        from (
            values
            ('running'::pgbaton.limit_kind, max_running, null::interval),
            -- 1 is what the policy has by itself, for jobs that run by more.
            ('key', case when key_limit > 1 then key_limit when v_key_limit is not null then 1 end, null),
            ('rate', rate_count, rate_interval), ('key_rate', key_rate_count, key_rate_interval),
            (
                'burst', case when rate_burst < rate_count then rate_burst end,
                case when rate_burst < rate_count then rate_interval * (rate_burst::float8 / rate_count) end
            ),
            (
                'key_burst', case when key_rate_burst < key_rate_count then key_rate_burst end,
                case when key_rate_burst < key_rate_count
                    then key_rate_interval * (key_rate_burst::float8 / key_rate_count)
                end
            )
        ) as l (kind, size, refill)
        offset 0
    ) as c;
    if not v_is_changed then
        return;
    end if;
    update pgbaton.queue as q set is_limited = exists (
        select from pgbaton.queue_limit as l where l.queue_id = v_queue.id
    )
    where q.id = v_queue.id;
    perform nextval('pgbaton.edge_seq');  -- there are limits: see _finish
    if v_are_keys_changed then
        perform pgbaton._let_start(v_queue.id, pgbaton._now());
    end if;
    if key_rate_count is null then
        delete from pgbaton.key_start as k where k.queue_id = v_queue.id;
    end if;
    if coalesce(v_key_limit, 1) <> coalesce(key_limit, 1) then
        perform pgbaton._fit_keys(v_queue.id);
    end if;
    perform pgbaton._wake_queues(array[v_queue.id]);
    perform pgbaton._audit('set_queue_limits', queue, null, null, nullif(concat_ws(
        ', ', 'max_running ' || max_running, 'key_limit ' || key_limit,
        'rate ' || rate_count || ' per ' || rate_interval, 'burst ' || rate_burst,
        'rate of each key ' || key_rate_count || ' per ' || key_rate_interval,
        'burst of each key ' || key_rate_burst
    ), ''));
end;
$$;
comment on function pgbaton.set_queue_limits(
    text, integer, integer, integer, interval, integer, integer, interval, integer
) is
'Sets all limits of a queue, over all workers. Null is no limit, so a call with the queue alone removes them.
max_running: how many of its jobs may be with workers at once, 1 to 1000. A job gives its place back when it ends, when
it goes to retry, or when its lease has ended and it is taken back.
key_limit: the same for each singleton_key, 1 to 1000, in a queue of policy singleton, where it is 1 without a limit.
Keys take turns, one job each.
rate_count, rate_interval: in any interval of that length, wherever it begins, at most rate_count jobs start (at most
1000000, 31 days). Each attempt is a start.
rate_burst: how many of these may start within interval * burst / count. It divides rate_count, and is rate_count by
default.
key_rate_count, key_rate_interval: the same rate for each singleton_key by itself, at most 100 starts, in a queue of
policy fifo or singleton. Jobs without a key have no such rate. A job that may not start yet is put off: its run_at
becomes the time when it may. It keeps its place and its key.
key_rate_burst: the same as rate_burst, for each key.

A claim hands out as many jobs as all limits allow, at once and exactly. The others stay where they are, and no attempt
is counted. Lower limits end nothing: no job starts until fewer run, or have started within the interval, than they
say. When the rate of each key changes, the next claim looks anew at the jobs that the former rate put off.

Waits for other calls that change the queue, and for its claims that are under way. A first max_running and a change of
key_limit also wait for open producers, and then the call reads all live jobs.
Raises PB001, PB003 (key_limit or a rate of each key, for another policy), PB009, 22004, 22023 for a bad argument, or
40001 for an older snapshot.';
