-- What the specs call besides pgbaton itself.

-- Claims and completes one job after the other until nothing is handed out: the order in which they run.
create or replace function run_all() returns setof jsonb
language plpgsql as $$
declare
    v_job record;
begin
    loop
        select c.payload, c.lease_token into v_job
        from pgbaton.claim_job_batch('run_all', array['q'], batch_size => 1) as c;
        exit when not found;
        return next v_job.payload;
        perform pgbaton.complete_claim(v_job.lease_token);
    end loop;
end
$$;

-- The lease token of the job with this payload.
create or replace function token(payload text) returns bigint
language sql as $$
    select s.lease_token from pgbaton.span as s inner join pgbaton.job as j on j.id = s.lo
    where j.payload = to_jsonb($1)
$$;

-- The id of the job with this payload.
create or replace function id(payload text) returns bigint
language sql as $$ select j.id from pgbaton.jobs as j where j.payload = to_jsonb($1) $$;

-- What a call says: ok, or its SQLSTATE. The messages hold ids.
create or replace function outcome(call text) returns text
language plpgsql as $$
begin
    execute call;
    return 'ok';
exception when others then
    return sqlstate;
end
$$;

-- A FIFO queue with jobs a1, a2, b1, … of keys a, b, …
create or replace procedure fill(variadic names text[])
language plpgsql as $$
begin
    perform pgbaton.create_fifo_queue('q', max_attempts => 1);
    perform pgbaton.enqueue_batch(
        'q', array(select to_jsonb(u.n) from unnest(names) as u (n)),
        array(select left(u.n, 1) from unnest(names) as u (n))
    );
end
$$;
create or replace procedure clear()
language plpgsql as $$ begin perform pgbaton.drop_queue('q', force => true); end $$;
