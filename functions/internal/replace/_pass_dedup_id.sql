create or replace function pgbaton._pass_dedup_id(queue_id integer, dedup_id text, job_id bigint)
returns void
language plpgsql volatile
as $$
begin
    insert into pgbaton.dedup (queue_id, dedup_id, job_id, created_at)
    values (_pass_dedup_id.queue_id, _pass_dedup_id.dedup_id, _pass_dedup_id.job_id, pgbaton._now())
    on conflict on constraint dedup_pkey do update
    set job_id = excluded.job_id, created_at = excluded.created_at;
end;
$$;
comment on function pgbaton._pass_dedup_id(integer, text, bigint) is
'Notes that an id of a producer belongs to this job from now on.';
