-- Words for stories: jobs are known by a name, which is their payload. \ir this after lib/fixtures.sql. In PL/pgSQL where
-- days may be dropped in between, since an SQL function keeps its plan for a whole statement.
create schema story;
grant usage on schema story to public;

create function story.enqueue(name text, queue text, key text default null, run_at timestamptz default null, priority integer default 100)
returns bigint
language sql as $$
    select pgbaton.enqueue_job(queue, to_jsonb(name), singleton_key => key, run_at => run_at, priority => priority)
$$;
create function story.id(name text) returns bigint
language plpgsql security definer as $$ begin return (select j.id from pgbaton.job as j where j.payload = to_jsonb(name)); end $$;
-- The token under which the job is out now.
create function story.token(name text) returns bigint
language sql security definer as $$ select s.lease_token from pgbaton.span as s where story.id(name) between s.lo and s.hi $$;

-- What a worker gets, in the order in which it gets it.
create function story.claim(queue text default null, worker text default 'w', jobs integer default 10) returns text
language sql as $$
    select coalesce(string_agg(c.payload #>> '{}', ' ' order by c.ordinality), '')
    from pgbaton.claim_job_batch(worker, case when queue is not null then array[queue] end, batch_size => jobs) with ordinality as c
$$;
create function story.complete(name text) returns void
language sql as $$ select pgbaton.complete_job(story.id(name), lease_token => story.token(name)) $$;
create function story.fail(name text, retryable boolean default true, retry_in interval default null) returns text
language sql as $$ select pgbaton.fail_job(story.id(name), name || ' broke', story.token(name), retryable, retry_in) $$;

create function story.state(name text) returns text
language sql as $$ select concat_ws(' ', g.state, g.resolution) from pgbaton.get_job(story.id(name)) as g $$;
-- All jobs of a queue in the order of their enqueue.
create function story.states(queue text) returns text
language sql as $$
    select string_agg(format('%s %s', j.payload #>> '{}', story.state(j.payload #>> '{}')), ', ' order by j.id)
    from pgbaton.job as j
    inner join pgbaton.lane as l on l.id = j.lane_id
    inner join pgbaton.queue as q on q.id = l.queue_id
    where q.name = states.queue
$$;

-- A digest of all that a call could change.
create function story.everything() returns jsonb
language plpgsql as $$
declare
    v_table text;
    v_digest text;
    v_all jsonb := '{}';
begin
    for v_table in
        select c.relname from pg_class as c
        where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        order by c.relname
    loop
        execute format('select md5(string_agg(t::text, '';'' order by t::text)) from pgbaton.%I as t', v_table) into v_digest;
        v_all := v_all || jsonb_build_object(v_table, v_digest);
    end loop;
    return v_all;
end;
$$;

-- How a statement ends: 00000, or the SQLSTATE it raises.
create function story.sqlstate_of(statement text) returns text
language plpgsql as $$
declare
    v_state text;
begin
    execute statement;
    return '00000';
exception
    when others then
        get stacked diagnostics v_state = returned_sqlstate;
        return v_state;
end;
$$;
