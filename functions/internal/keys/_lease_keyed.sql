create or replace function pgbaton._lease_keyed(
    los bigint[], limited_ids integer[], worker_id text, lease_token bigint, at timestamptz, lease interval,
    out spans pgbaton.span[], out full_los bigint[]
)
language plpgsql volatile
as $$
declare
    v_aside record;  -- where those would run whose key may have several
begin
    if limited_ids is null then
        spans := pgbaton._lease_in_order(los, worker_id, lease_token, at, lease, null);
        return;
    end if;
    v_aside := pgbaton._places_aside(los, limited_ids);
    full_los := v_aside.full_los;
    for v_first in 1 .. cardinality(los) by 1000 loop  -- each looks for its place among these
        spans := spans || pgbaton._lease_in_order(
            los[v_first : v_first + 999], worker_id, lease_token, at, lease, v_aside.slots[v_first : v_first + 999]
        );
    end loop;
    perform pgbaton._note_starts(spans, at, limited_ids);
end;
$$;
comment on function pgbaton._lease_keyed(bigint[], integer[], text, bigint, timestamptz, interval) is
'Leases the spans that begin with los, of queues with a policy or keys, and returns them, see _lease_in_order.
limited_ids: the queues that have limits, null is none; only for those, full_los are the spans that are the last that
may run of their keys.';
