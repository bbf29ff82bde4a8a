-- Helpers for tests of functions: \ir this file after lib/fixtures.sql. They live in schema tap and go with the
-- rollback.

-- The helpers look at everything without statistics: compiling their plans would take most of the time.
set local jit = off;

-- One row for each job: where it stands and all that is known of it, so that two moments can be compared.
create view tap.job_now as
with failure as (
    select e.job_id, count(*) as errors
    from pgbaton.job_error as e
    group by e.job_id
)

select
    g.id, 'live' as place, s.position + g.id - s.hi as position, s.state, s.attempt, s.lease_token, s.held_key,
    to_jsonb(s) - '{lo,hi,position}'::text[]
    || jsonb_build_object(
        'key_position', s.key_position + g.id - s.lo, 'report', to_jsonb(r), 'errors', f.errors
    ) as facts
from pgbaton.span as s
cross join lateral generate_series(s.lo, s.hi) as g (id)
left join pgbaton.job_report as r on g.id = r.job_id
left join failure as f on g.id = f.job_id
union all
select
    g.id, 'history' as place, null as position, h.state, h.attempt, null as lease_token, null as held_key,
    to_jsonb(h) - '{lo,hi,first_xid}'::text[] || jsonb_build_object('report', to_jsonb(r), 'errors', f.errors) as facts
from pgbaton.job_history as h
cross join lateral generate_series(h.lo, h.hi) as g (id)
left join pgbaton.job_report as r on g.id = r.job_id
left join failure as f on g.id = f.job_id;

create table tap.job_before (
    id bigint, place text, position bigint, state pgbaton.job_state, attempt integer, lease_token bigint,
    held_key text, facts jsonb
);

create function tap.remember()
returns void
language sql volatile
as $$
    delete from tap.job_before;
    insert into tap.job_before select n.* from tap.job_now as n;
$$;

-- What is wrong with the storage as a whole; no row when every job stands in exactly one place.
create view tap.broken as
select 'job ' || j.id || ' stands in ' || count(n.id) || ' places' as what
from pgbaton.job as j
left join tap.job_now as n on j.id = n.id
group by j.id
having count(n.id) <> 1
union all
select 'a place without a job: ' || n.id
from tap.job_now as n
where
    not exists (
        select from pgbaton.job as j
        where j.id = n.id and j.day = (n.facts ->> 'day')::date
    )
union all
select 'job ' || n.id || ' is ready = ' || (n.facts ->> 'ready')
from tap.job_now as n
where
    n.place = 'live'
    and case
        -- What became due meanwhile is made ready by the next claim.
        when (n.facts ->> 'ready')::boolean
            then
                n.state not in ('pending', 'retry', 'unknown_retry')
                or (n.facts ->> 'run_at')::timestamptz > pgbaton._now()
        else n.state in ('pending', 'retry', 'unknown_retry') and n.facts ->> 'run_at' is null
    end;

create function tap.changed_ids()
returns bigint[]
language plpgsql volatile
as $$
begin
    return (
        select coalesce(array_agg(coalesce(n.id, b.id) order by coalesce(n.id, b.id)), '{}')
        from tap.job_now as n
        full join tap.job_before as b on n.id = b.id
        where (n.place, n.position, n.facts) is distinct from (b.place, b.position, b.facts)
    );
end;
$$;

create function tap.sorted(ids bigint[])
returns bigint[]
language sql immutable
as $$ select array(select distinct i.id from unnest(ids) as i (id) order by i.id) $$;

-- Since remember() only these jobs changed, none is lost or doubled, and those still live kept their positions.
create function tap.only_changed(ids bigint[], description text)
returns text
language plpgsql volatile
as $$
declare
    v_changed constant bigint[] := tap.changed_ids();
    v_moved constant bigint[] := array(
        select b.id from tap.job_before as b
        inner join tap.job_now as n on n.id = b.id
        where n.place = 'live' and n.position <> b.position order by b.id
    );
    v_broken constant text[] := array(select w.what from tap.broken as w);
    v_is_ok constant boolean := v_changed = tap.sorted(ids) and v_moved = '{}' and v_broken = '{}';
begin
    return tap.ok(v_is_ok, description) || case
        when v_is_ok then ''
        else E'\n' || tap.diag(format('wanted %s, changed %s, moved %s, broken %s', ids, v_changed, v_moved, v_broken))
    end;
end;
$$;

-- All that a refused call must leave alone, as one value. In PL/pgSQL: an SQL function keeps its plan, which may name a
-- partition that was dropped meanwhile.
create function tap.world()
returns jsonb
language plpgsql volatile
as $$
begin
    return jsonb_build_object(
        'jobs', (select count(*) from pgbaton.job),
        'states', (select md5(string_agg(n::text, ' ' order by n.id, n.place)) from tap.job_now as n),
        'spans', (select count(*) from pgbaton.span),
        'lanes', (select count(*) from pgbaton.lane),
        'dedup', (select md5(string_agg(d::text, ' ' order by d.queue_id, d.dedup_id)) from pgbaton.dedup as d),
        'kv', (select md5(string_agg(k::text, ' ' order by k.key)) from pgbaton.kv as k),
        'queues', (select md5(string_agg(q::text, ' ' order by q.id)) from pgbaton.queue as q),
        'workers', (select md5(string_agg(w::text, ' ' order by w.worker_id)) from pgbaton.worker as w),
        'releases', (select count(*) from pgbaton.baton_release),
        'rewinds', (select count(*) from pgbaton.rewind),
        'paused_keys', (select md5(string_agg(p::text, ' ' order by p.queue_id, p.singleton_key)) from pgbaton.paused_key as p),
        'grants', (select md5(string_agg(g::text, ' ' order by g.queue_id, g.role_name, g.action)) from pgbaton.queue_grant as g),
        'subscriptions', (select md5(string_agg(b::text, ' ' order by b.queue_id, b.topic_pattern)) from pgbaton.subscription as b),
        'schedules', (select md5(string_agg(c::text, ' ' order by c.name)) from pgbaton.schedule as c),
        'sleepers', (select md5(string_agg(a::text, ' ' order by a.id)) from pgbaton.sleeper as a),
        'errors', (select count(*) from pgbaton.job_error),
        'audit', (select count(*) from pgbaton.audit)
    );
end;
$$;

-- The call fails with this SQLSTATE and a hint, and leaves everything as it was.
create function tap.refuses(call text, code text, description text, has_hint boolean default true)
returns text
language plpgsql volatile
as $$
declare
    v_before constant jsonb := tap.world();
    v_code text := 'no error';
    v_message text;
    v_hint text := '';
    v_is_ok boolean;
begin
    begin
        execute call;
    exception when others then
        get stacked diagnostics
            v_code = returned_sqlstate, v_message = message_text, v_hint = pg_exception_hint;
    end;
    v_is_ok := v_code = code and (v_hint <> '') = has_hint and tap.world() = v_before;
    return tap.ok(v_is_ok, description) || case
        when v_is_ok then ''
        else E'\n' || tap.diag(format('%s gave %s "%s", hint "%s"', call, v_code, v_message, v_hint))
    end;
end;
$$;

-- The call succeeds and leaves everything as it was.
create function tap.changes_nothing(call text, description text)
returns text
language plpgsql volatile
as $$
declare
    v_before constant jsonb := tap.world();
begin
    execute call;
    return tap.is(tap.world(), v_before, description);
end;
$$;

-- Enqueues 64 jobs as exactly one span and returns their ids.
create function tap.full_span(queue text)
returns bigint[]
language plpgsql volatile
as $$
declare
    v_ids bigint[];
begin
    while nextval('pgbaton.job_id_seq') % 64 <> 0 loop end loop;
    v_ids := array(
        select pgbaton.enqueue_batch(full_span.queue, array(
            select jsonb_build_object('n', n) from generate_series(1, 64) as n
        ))
    );
    if not exists (select from pgbaton.span as s where s.lo = v_ids[1] and s.hi = v_ids[64]) then
        raise exception 'jobs % to % are not one span', v_ids[1], v_ids[64];
    end if;
    return v_ids;
end;
$$;

-- Claims and returns the lease token, null when there was nothing.
create function tap.claim(queue text, batch_size integer default 100, worker_id text default 'w1')
returns bigint
language sql volatile
as $$
    select min(c.lease_token)
    from pgbaton.claim_job_batch(claim.worker_id, array[claim.queue], batch_size => claim.batch_size) as c
$$;

create function tap.verdicts(call text)
returns text[]
language plpgsql volatile
as $$
declare
    v_verdicts text[];
begin
    execute format('select array_agg(v.verdict order by v.ordinal) from %s as v', call) into v_verdicts;
    return v_verdicts;
end;
$$;

-- Asks for the cancellation of a job.
create function tap.cancel(job_id bigint)
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton.cancel_jobs(job_ids => array[job_id]);
end;
$$;

-- Calls a worker function on jobs at every place of a span and returns assertions: it changes exactly these jobs.
-- In call, $1 is a bigint[] (in a batch call) or a job id, $2 the lease token.
create function tap.touches_only_its_jobs(call text, is_batch boolean)
returns setof text
language plpgsql volatile
as $$
declare
    v_alone bigint;
    v_ids bigint[];
    v_more bigint[];
    v_merged bigint[];
    v_token bigint;
    v_case record;
    v_id bigint;
begin
    perform pgbaton.create_queue('places', retry_delay => '1 hour', retry_backoff => false);
    v_alone := pgbaton.enqueue_job('places', job_type => 'alone');
    v_ids := tap.full_span('places');
    v_more := array(select pgbaton.enqueue_batch('places', array_fill('{}'::jsonb, array[200])));
    v_merged := array(select pgbaton.enqueue_job('places', job_type => 'merged') from generate_series(1, 20));
    v_token := tap.claim('places', 1000);
    if (select count(*) from pgbaton.span where lo between v_merged[1] and v_merged[20]) > 2 then
        raise exception 'the claim did not merge neighbours';
    end if;

    for v_case in
        select * from (values
            ('a span of one', array[v_alone]),
            ('the first job of a span of 64', array[v_ids[1]]),
            ('a middle job of a span', array[v_ids[20]]),
            ('the last job of a span of 64', array[v_ids[64]]),
            ('the middle job of spans that a claim merged', array[v_merged[10]]),
            ('two neighbours', v_ids[30:31]),
            ('jobs of several spans, against their order', array[v_more[150], v_more[1], v_ids[50], v_more[77]])
        ) as c (name, ids)
    loop
        perform tap.advance('1 second');
        perform tap.remember();
        if is_batch then
            execute 'select * from ' || call using v_case.ids, v_token;
        else
            foreach v_id in array v_case.ids loop
                execute 'select * from ' || call using v_id, v_token;
            end loop;
        end if;
        return next tap.only_changed(v_case.ids, 'it changes only its jobs: ' || v_case.name);
    end loop;
    if is_batch then
        v_ids := array(select i from unnest(v_more) with ordinality as m (i, n) where m.n % 3 = 0 and m.n < 140);
        perform tap.advance('1 second');
        perform tap.remember();
        execute 'select * from ' || call using v_ids || v_ids[5:9] || array[0, -7, 9223372036854775807], v_token;
        return next tap.only_changed(v_ids, 'it changes only its jobs: every third, some twice, and unknown ids');
        perform tap.remember();
        execute 'select * from ' || call using '{}'::bigint[], v_token;
        return next tap.only_changed('{}', 'it changes nothing: an empty array');
    end if;
end;
$$;
