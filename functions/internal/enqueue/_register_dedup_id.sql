create or replace function pgbaton._register_dedup_id(
    queue pgbaton.queue, dedup_id text, job_id bigint, on_duplicate text
)
returns bigint
language plpgsql volatile
as $$
declare
    v_earlier_id bigint;
begin
    loop
        insert into pgbaton.dedup (queue_id, dedup_id, job_id, created_at)
        values (queue.id, dedup_id, job_id, pgbaton._now())
        on conflict on constraint dedup_pkey do nothing;
        if found then
            return job_id;
        end if;
        select d.job_id into v_earlier_id
        from pgbaton.dedup as d
        where d.queue_id = queue.id and d.dedup_id = _register_dedup_id.dedup_id;
        exit when found;  -- else maintenance has just forgotten it
    end loop;
    if on_duplicate = 'error' then
        raise exception using
            errcode = 'PB006',
            message = format('queue "%s" has a job with dedup_id "%s": job %s', queue.name, dedup_id, v_earlier_id),
            hint = 'Pass on_duplicate => ''skip'' to get the earlier job''s id instead.';
    end if;
    return v_earlier_id;
end;
$$;
comment on function pgbaton._register_dedup_id(pgbaton.queue, text, bigint, text) is
'Notes the producer''s id for a job and returns the job that has it: this one, or the earlier one when
duplicates are skipped. Waits for an open transaction that enqueues the same id. Raises PB006.';
