create or replace function pgbaton._has_work(queue_ids integer[], plain_ids integer[], job_types text[], tags text[])
returns boolean
language plpgsql volatile
as $$
begin
    return (pgbaton._lane_heads(
        pgbaton._lane_starts(queue_ids, plain_ids, job_types, tags, pgbaton._unsettled_from()), 1
    )).lane_ids is not null;
end;
$$;
comment on function pgbaton._has_work(integer[], integer[], text[], text[]) is
'Whether a lane that matches has a claimable job; arguments as those of _lane_starts.';
