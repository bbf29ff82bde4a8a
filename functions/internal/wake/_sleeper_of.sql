create or replace function pgbaton._sleeper_of(
    sleepers_from bigint, worker_id text, queue_ids integer[], job_types text[], tags text[]
)
returns pgbaton.sleeper
language plpgsql volatile
as $$
declare
    v_role constant text := pgbaton._actor();
    v_sleeper pgbaton.sleeper;
begin
    select s.* into v_sleeper
    from pgbaton.sleeper as s
    where s.worker_id = _sleeper_of.worker_id and s.id >= sleepers_from and s.role_name = v_role
    order by s.worker_id desc, s.id desc
    limit 1;
    if v_sleeper.id is null or (v_sleeper.queue_ids, v_sleeper.job_types, v_sleeper.tags)
        is distinct from (queue_ids, job_types, tags)
    then
        v_sleeper := row(
            null, worker_id, v_role, pgbaton._channel(worker_id), queue_ids, job_types, tags, pgbaton._now(), null,
            null, null, false
        );
    end if;
    return v_sleeper;
end;
$$;
comment on function pgbaton._sleeper_of(bigint, text, integer[], text[], text[]) is
'The row of the caller''s worker, if it sleeps and asks for this, else one that _lie_down may store.';
