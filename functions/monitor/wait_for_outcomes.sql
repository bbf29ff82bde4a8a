create or replace function pgbaton.wait_for_outcomes(job_ids bigint[], max_wait interval default '30 seconds')
returns setof pgbaton.job_outcome
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids constant bigint[] := array(select distinct i.id from unnest(job_ids) as i (id));
    v_left double precision := extract(epoch from max_wait);
    v_pause double precision := 0.01;
    v_ended bigint;
begin
    perform pgbaton._check_duration('max_wait', max_wait);
    if (max_wait <= '1 day') is not true then
        raise exception using
            errcode = case when max_wait is null then 'null_value_not_allowed' else 'invalid_parameter_value' end,
            message = format('max_wait is %s', coalesce(max_wait::text, 'null')),
            hint = 'Wait for a day at most, and call again.';
    end if;
    loop
        exit when v_left <= 0;
        v_ended := (select count(*) from pgbaton.job_outcomes(job_ids));
        exit when v_ended = cardinality(v_ids);
        if not pgbaton._is_read_committed() then
            raise exception using
                errcode = 'object_not_in_prerequisite_state',
                message = 'jobs that end from now on are not seen in this transaction',
                hint = 'Wait in a transaction of isolation level read committed.';
        end if;
        v_pause := least(v_pause, v_left);
        perform pg_sleep(v_pause);
        v_left := v_left - v_pause;
        v_pause := least(v_pause * 1.5, 0.5);
    end loop;
    return query select * from pgbaton.job_outcomes(job_ids);
end;
$$;
comment on function pgbaton.wait_for_outcomes(bigint[], interval) is
'Waits until all of these jobs have ended, max_wait (0 to 1 day) at most, and returns what job_outcomes returns then.
There are fewer rows than jobs when some have not ended; call again to go on waiting. It looks after 10 ms, then less
and less often, in the end twice a second; nobody else has to do anything for it.

It is for psql and short waits: the statement that waits holds back vacuum as any long one does. Clients instead call
it again and again with a max_wait of 0. Enqueue and commit first: nobody else can run what this transaction has
enqueued.
Raises 22004, 22023 or 2202E, or 55000 above read committed when a job has not ended.';
