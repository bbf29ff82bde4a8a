create or replace function pgbaton._put(spans pgbaton.span[], may_be_refused boolean default false)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_plain_ids integer[];
    v_homes text[];
    v_los bigint[];
begin
    if not pgbaton._is_read_committed() then
        -- Raises when set_fifo_mode moved the spans of one of them since the snapshot.
        perform from pgbaton.queue as q
        where q.id in (select s.queue_id from unnest(spans) as s) order by q.id for share;
    end if;
    -- Of a standard queue what is claimable or leased has homes of its own.
    v_plain_ids := array(
        select q.id from pgbaton.queue as q
        where q.id in (select s.queue_id from unnest(spans) as s) and q.policy = 'standard'
    );
    v_homes := array(
        select distinct case
            when s.queue_id <> all (v_plain_ids) then 'span'
            when s.ready then 'ready_span'
            when s.lease_until is not null then 'leased_span'
            else 'span'
        end
        from unnest(spans) as s
    );
    if 'ready_span' = any (v_homes) then
        insert into pgbaton.ready_span
        select s.* from unnest(spans) as s where s.queue_id = any (v_plain_ids) and s.ready;
    end if;
    if 'leased_span' = any (v_homes) then
        insert into pgbaton.leased_span
        select s.* from unnest(spans) as s where s.queue_id = any (v_plain_ids) and s.lease_until is not null;
    end if;
    if 'span' = any (v_homes) and may_be_refused then
        with put as (
            insert into pgbaton.span
            select s.* from unnest(spans) as s
            where s.queue_id <> all (v_plain_ids) or (not s.ready and s.lease_until is null)
            on conflict do nothing
            returning lo
        )
        select array_agg(p.lo) into v_los from put as p;
        return array(
            select s::pgbaton.span from unnest(spans) as s
            where (s.queue_id <> all (v_plain_ids) or (not s.ready and s.lease_until is null))
                and s.lo <> all (coalesce(v_los, '{}'))
        );
    elsif 'span' = any (v_homes) then
        insert into pgbaton.span
        select s.* from unnest(spans) as s
        where s.queue_id <> all (v_plain_ids) or (not s.ready and s.lease_until is null);
    end if;
    return '{}';
end;
$$;
comment on function pgbaton._put(pgbaton.span[], boolean) is
'Puts spans, which are nowhere, where they belong: claimable and leased ones of standard queues into ready_span and
leased_span, all others into span. may_be_refused: those for which the policy of their queue leaves no place are left out
and returned; else there is a place, or the index that guards it raises.';
