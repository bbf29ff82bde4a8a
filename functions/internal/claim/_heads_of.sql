create or replace function pgbaton._heads_of(queue_id integer, policy pgbaton.queue_policy, max_lanes integer)
returns pgbaton.lanes
language plpgsql volatile
as $$
begin
    return pgbaton._lane_heads(
        pgbaton._lane_starts(
            array[queue_id], case policy when 'standard' then array[queue_id] end, null, '{}', pgbaton._unsettled_from()
        ), max_lanes
    );
end;
$$;
comment on function pgbaton._heads_of(integer, pgbaton.queue_policy, integer) is
'The lanes of a queue that have claimable work, the first max_lanes of them.';
