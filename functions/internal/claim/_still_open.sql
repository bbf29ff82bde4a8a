create or replace function pgbaton._still_open(queue_ids integer[], limited_ids integer[], spans pgbaton.span[])
returns integer[]
language plpgsql immutable
as $$
begin
    return case
        when spans is null then queue_ids
        else array(
            select i.id from unnest(queue_ids) as i (id)
            where i.id <> all (limited_ids) or i.id <> all (array(select s.queue_id from unnest(spans) as s))
        )
    end;
end;
$$;
comment on function pgbaton._still_open(integer[], integer[], pgbaton.span[]) is
'The queues in which a claim may look again that has these spans of limited queues (null: none). Of the latter it takes
no more: another job of a key of which it has one may have become claimable meanwhile.';
