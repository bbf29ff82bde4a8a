create or replace function pgbaton._step_aside(los bigint[])
returns void
language plpgsql volatile
as $$
declare
    v_slots constant smallint[] := (
        pgbaton._places_aside(los, array(select l.queue_id from pgbaton.queue_limit as l where l.kind = 'key'))
    ).slots;
begin
    update only pgbaton.span as s
    set held_key = null, slot = v_slots[array_position(los, s.lo)]
    where s.lo = any (los);
end;
$$;
comment on function pgbaton._step_aside(bigint[]) is
'Has these locked spans, which run and hold their keys, of a queue with a key_limit, run on without the batons.';
