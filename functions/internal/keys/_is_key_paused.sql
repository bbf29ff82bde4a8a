create or replace function pgbaton._is_key_paused(queue_id integer, job_id bigint)
returns boolean
language plpgsql stable
as $$
begin
    return exists (
        select from pgbaton.paused_key as k
        where k.queue_id = _is_key_paused.queue_id and k.singleton_key = (pgbaton._live_span(job_id)).held_key
    );
end;
$$;
comment on function pgbaton._is_key_paused(integer, bigint) is 'Whether a job holds a key that is paused.';
