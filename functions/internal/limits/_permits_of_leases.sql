create or replace function pgbaton._permits_of_leases(queue_id integer)
returns integer
language plpgsql volatile
as $$
declare
    v_number integer;
begin
    insert into pgbaton.permit (queue_id, kind, no, version, units, used, ordinal, lease_token)
    select
        _permits_of_leases.queue_id, 'running', row_number() over (), nextval('pgbaton.permit_seq'), 1, 1, g.ordinal,
        h.lease_token
    from (
        select s.lease_token, sum(s.hi - s.lo + 1) as jobs from pgbaton.held_span as s
        where s.queue_id = _permits_of_leases.queue_id
        group by s.lease_token
    ) as h
    cross join lateral generate_series(1, h.jobs) as g (ordinal);
    get diagnostics v_number = row_count;
    return v_number;
end;
$$;
comment on function pgbaton._permits_of_leases(integer) is
'Makes a permit for each job of a queue that is with a worker, from number 1 on, and returns how many.';
