create or replace function pgbaton._take_replaced(
    queue pgbaton.queue, singleton_key text, known_id bigint, may_replace boolean
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_queued_id bigint;
    v_taken pgbaton.span[];
begin
    loop
        v_queued_id := pgbaton._queued_job(queue, singleton_key);
        if v_queued_id is not null and not may_replace then
            return null;
        end if;
        v_taken := case
            when num_nonnulls(known_id, v_queued_id) = 0 then '{}'
            else pgbaton._take_unclaimed(array_remove(array[known_id, nullif(v_queued_id, known_id)], null))
        end;
        exit when v_queued_id is null or exists (select from unnest(v_taken) as s where s.lo = v_queued_id);
        -- It was claimed meanwhile: of short and stately it leaves its place, of exclusive it keeps it.
        if cardinality(v_taken) > 0 then
            perform pgbaton._put(v_taken);
        end if;
        if pgbaton._queued_job(queue, singleton_key) = v_queued_id then
            return null;
        end if;
    end loop;
    return v_taken;
end;
$$;
comment on function pgbaton._take_replaced(pgbaton.queue, text, bigint, boolean) is
'Takes out what a new job replaces and nobody has claimed: the job known under its dedup id, null for none, and the one
that keeps it from being queued under the policy of the queue. Null, with nothing taken, when that one may not be
replaced.';
