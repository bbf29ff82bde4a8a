create or replace function pgbaton._complete_batch(
    job_ids bigint[], lease_token bigint, results jsonb[], wakes boolean default true
)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_spans pgbaton.span[];
    v_left bigint[] := job_ids;
begin
    -- What is plainly right needs no call: a statement is started for it.
    if (array_ndims(job_ids) = 1 and array_position(job_ids, null) is null and results is null) is not true then
        perform
            pgbaton._check_ids(job_ids),
            pgbaton._check_same_length('job_ids', cardinality(job_ids), 'results', cardinality(results));
    end if;
    if results is null and lease_token is not null and cardinality(job_ids) = 1 then
        if pgbaton._complete_first(job_ids[1], lease_token, wakes) then
            return null;
        end if;
    elsif results is null and lease_token is not null and cardinality(job_ids) > 1 then
        begin
            v_spans := pgbaton._complete_whole(job_ids, lease_token, wakes);
            if v_spans[1].hi - v_spans[1].lo + 1 = cardinality(job_ids) then  -- one for all, as with small batches
                return null;
            elsif (select sum(s.hi - s.lo + 1) from unnest(v_spans) as s) = cardinality(job_ids) then
                return null;
            elsif v_spans is not null then
                v_left := pgbaton._ids_outside(job_ids, v_spans);
                if not pgbaton._lock_at_once(v_left) then
                    raise exception using errcode = 'PB000', message = 'see _take_all';
                end if;
            end if;
        exception when sqlstate 'PB000' then
            v_spans := null;
            v_left := job_ids;
        end;
    end if;
    return v_spans || pgbaton._complete(v_left, lease_token, results, wakes);
end;
$$;
comment on function pgbaton._complete_batch(bigint[], bigint, jsonb[], boolean) is
'Ends jobs as completed. Null when all of them were, else the spans of those that were, for _verdicts. wakes: as
_free_places has it. Raises 22004, 2202E or PB011.';
