create or replace function pgbaton._next_xid()
returns bigint
language sql stable
as $$
    -- age() counts up to the next one, or to the own one once there is one.
    select
        o.xid::text::bigint + age(o.xid::xid)
        + case when pg_current_xact_id_if_assigned() is null then 0 else 1 end
    from (select pg_snapshot_xmin(pg_current_snapshot()) as xid offset 0) as o
$$;
comment on function pgbaton._next_xid() is
'The transaction id that comes next, as of the first time that this transaction asked: whoever has it or a later
one began after this transaction. Not the upper end of the snapshot, above which transactions may be running. Takes
no id itself.';
