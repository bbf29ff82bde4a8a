create or replace function pgbaton.set_fifo_mode(queue text, enabled boolean, force boolean default false)
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queue constant pgbaton.queue := pgbaton._seize_queue(queue);
begin
    if enabled is null then
        raise exception using
            errcode = 'null_value_not_allowed',
            message = 'enabled is null',
            hint = 'Pass true or false.';
    elsif enabled = (v_queue.policy = 'fifo') then
        return;
    elsif enabled and v_queue.policy <> 'standard' then
        raise exception using
            errcode = 'PB003',
            message = format('queue "%s" has the policy %s', queue, v_queue.policy),
            hint = 'Only a standard queue can be put in order; make a new one with pgbaton.create_fifo_queue().';
    end if;
    if enabled then
        perform pgbaton._put_in_order(v_queue);
    else
        perform pgbaton._give_up_order(v_queue, coalesce(force, false));
        if v_queue.is_limited then
            perform pgbaton._drop_key_limit(v_queue);  -- it writes the queue, which who fails a job locks after the job
        end if;
    end if;
    update pgbaton.queue as q
    set policy = case when enabled then 'fifo'::pgbaton.queue_policy else 'standard' end
    where q.id = v_queue.id;
    perform pgbaton._audit('set_fifo_mode', queue, null, null, enabled::text);
end;
$$;
comment on function pgbaton.set_fifo_mode(text, boolean, boolean) is
'Turns strict order per key on or off. On: the jobs of the queue stand in line per key in the order of their enqueue,
and one of each key holds it. Jobs that are running finish side by side, but stand in line when they run again; jobs
without a key stay unordered. Off: all waiting jobs become claimable, which needs force when there are any. Waits for
open producers, and reads all live jobs.
Raises PB001, PB003 (the policy is neither standard nor fifo; off, with a rate of each key), PB008 (off, with waiting
jobs, without force) or 22004.';
