create or replace function pgbaton.complete_and_claim(
    job_ids bigint[],
    lease_token bigint,
    worker_id text,
    queues text[] default null,
    job_types text[] default null,
    tags text[] default '{}',
    batch_size integer default 10,
    lease interval default null,
    results jsonb[] default null
)
returns setof pgbaton.next_job
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now constant timestamptz := pgbaton._now();
    v_spans pgbaton.span[];
    v_ended integer[];  -- the queues of what is ended, where limits may count it
begin
    -- What is wrong whatever the tables hold is told before anything is completed.
    if (octet_length(worker_id) between 1 and 255 and batch_size between 1 and 100000
        and num_nonnulls(job_types, lease) = 0 and cardinality(tags) = 0
        and (queues is null or (array_ndims(queues) = 1 and array_position(queues, null) is null))) is not true
    then
        perform pgbaton._check_claim(worker_id, job_types, batch_size, lease), pgbaton._normal_tags(tags);
        if array_ndims(queues) is distinct from 1 or array_position(queues, null) is not null then
            perform pgbaton._claimable_queues(queues);
        end if;
    end if;
    if cardinality(job_ids) = 0 and results is null then
        return query
        select 'claimed', null::integer, c.*
        from pgbaton.claim_job_batch(worker_id, queues, job_types, tags, batch_size, lease) as c;
        return;
    end if;

    if not pgbaton._is_read_committed() then
        perform pgbaton._pass_on();
    end if;
    if pg_current_xact_id_if_assigned() is null and not pgbaton._is_tended(v_now) then
        perform pgbaton._note_ahead(v_now);
    end if;
    -- Who sleeps is woken at last: this call itself takes the places that it frees. There are edges, or limits.
    if pg_sequence_last_value('pgbaton.edge_seq') is not null and lease_token is not null then
        v_ended := array(
            select s.queue_id from pgbaton.held_span as s where s.lease_token = complete_and_claim.lease_token
        );
    end if;
    v_spans := pgbaton._complete_batch(job_ids, lease_token, results, v_ended is null);
    if v_spans is not null then
        return query
        select
            v.verdict, v.ordinal, v.job_id, null::text, null::text, null::text[], null::integer, null::text,
            null::integer, null::integer, null::jsonb, null::timestamptz, null::timestamptz, null::timestamptz,
            null::timestamptz, null::bigint, null::jsonb
        from pgbaton._verdicts(job_ids, v_spans, lease_token) as v
        where v.verdict <> 'ok';
    end if;
    begin
        return query
        select 'claimed', null::integer, c.*
        from pgbaton.claim_job_batch(worker_id, queues, job_types, tags, batch_size, lease) as c;
    exception
        -- As in _try_step, but for a deadlock: after it, and what is no error of the claim alone, all is done again.
        when data_exception or integrity_constraint_violation or cardinality_violation
            or object_not_in_prerequisite_state or syntax_error_or_access_rule_violation
            or dependent_objects_still_exist or feature_not_supported or insufficient_resources
            or program_limit_exceeded or system_error or internal_error or plpgsql_error or sqlstate 'PB000'
        then
            raise warning using
                errcode = sqlstate,
                message = format('the jobs were completed, but none could be claimed: %s', sqlerrm),
                hint = 'The next claim says it again.';
    end;
    if v_ended is not null then
        perform pgbaton._wake_limited(v_ended, cardinality(job_ids));
    end if;
end;
$$;
comment on function pgbaton.complete_and_claim(
    bigint[], bigint, text, text[], text[], text[], integer, interval, jsonb[]
) is
'complete_jobs and then claim_job_batch in one call: ends the jobs of the last batch as completed and leases the next
one. Returns a row for each job that was not completed, in input order, with its verdict as of complete_jobs, and then
a row with the verdict claimed for each job that is leased now. A key that a completed job held is passed on before
the claim.
Without job_ids (''{}'', the first time) it only claims.
A claim that fails does not take the completions back: it brings no jobs and a warning, and the next claim raises.
Raises 22004, 22023, 2202E or PB011 for a bad argument, before anything is completed; without job_ids also PB001 and
PB009, as claim_job_batch does; 40001 under an older snapshot.';
