create or replace function pgbaton._job_filter(filter jsonb)
returns jsonb
language plpgsql stable
as $$
begin
    perform pgbaton._check_filter(filter, array[
        'ids', 'queue', 'states', 'job_type', 'tags', 'singleton_key', 'worker_id', 'error', 'payload', 'created_after',
        'created_before', 'ended_after', 'ended_before', 'extra_attempts'
    ]);
    -- A null is no condition, but as a payload.
    return coalesce((
        select jsonb_object_agg(e.key, e.value) from jsonb_each(filter) as e
        where e.value <> 'null' or e.key = 'payload'
    ), '{}');
end;
$$;
comment on function pgbaton._job_filter(jsonb) is
'A filter of find_jobs without what is null in it. Raises 22007 or 22023.';
