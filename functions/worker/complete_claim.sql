create or replace function pgbaton.complete_claim(lease_token bigint)
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_spans pgbaton.span[];
    v_allowed constant integer[] := case
        when pgbaton._has_grants() then pgbaton._allowed_queues('work')
    end;
begin
    perform pgbaton._check_token(lease_token);
    loop
        begin
            v_spans := pgbaton._take_claim(lease_token, v_allowed);
            -- A span that was split or extended while we waited for its lock lives on in other rows: all anew, as in
            -- _carve.
            exit when not exists (
                select from pgbaton.span as s
                where s.lease_token = complete_claim.lease_token
                    and (v_allowed is null or s.queue_id = any (v_allowed))
                offset 0
            );
            raise exception using errcode = 'PB000', message = 'a job moved meanwhile';
        exception when sqlstate 'PB000' then
            continue;
        end;
    end loop;
    if cardinality(v_spans) > 0 then
        perform pgbaton._finish(v_spans, 'completed');
    end if;
    return (select coalesce(sum(s.hi - s.lo + 1), 0) from unnest(v_spans) as s);
end;
$$;
comment on function pgbaton.complete_claim(bigint) is
'Ends all jobs that a claim still holds as completed and returns how many, 0 when none is left. Jobs whose lease has
ended count too, as long as nobody else has them. Jobs that were finished one by one before are not touched. Raises
22004 for a null token.';
