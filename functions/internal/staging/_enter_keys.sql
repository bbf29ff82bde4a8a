create or replace function pgbaton._enter_keys(
    queue pgbaton.queue, singleton_keys text[], part integer, parts integer
)
returns void
language plpgsql volatile
as $$
declare
    -- Queue id and highest stripe of this transaction's statements so far, or "all" when it is alone.
    v_held constant text[] := string_to_array(nullif(current_setting('pgbaton.inbox', true), ''), ' ');
    v_first integer;
    v_last integer;
    v_is_sorted boolean := false;
begin
    if queue.policy = 'standard' or v_held = array[queue.id::text, 'all'] then
        return;
    end if;
    if part is not null and (v_held is null or v_held[1] = queue.id::text) then
        select min(s.stripe), max(s.stripe) into v_first, v_last
        from (
            select pgbaton._stripe(0, d.singleton_key) as stripe
            from (select distinct coalesce(k, '') as singleton_key from unnest(singleton_keys) as k) as d
            offset 0
        ) as s;
        v_is_sorted := v_first >= coalesce(v_held[2], '0')::integer
            and v_first::bigint * parts >> 8 = part and v_last::bigint * parts >> 8 = part;
    end if;
    if v_is_sorted then
        perform pg_advisory_xact_lock_shared(pgbaton._lock_class() + 4, queue.id);
    else
        perform pg_advisory_xact_lock(pgbaton._lock_class() + 4, queue.id);
    end if;
    perform set_config(
        'pgbaton.inbox', concat_ws(' ', queue.id, case when v_is_sorted then v_last::text else 'all' end), true
    );
end;
$$;
comment on function pgbaton._enter_keys(pgbaton.queue, text[], integer, integer) is
'Before a statement of enqueue_inbox locks the stripes of its keys: sees to it that transactions of many statements do
not wait for each other in a circle. Those whose part is one of stripes, and whose stripes rise from statement to
statement, go side by side, others alone. Nothing in a standard queue, where keys are not locked.';
