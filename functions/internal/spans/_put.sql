create or replace function pgbaton._put(spans pgbaton.span[], may_be_refused boolean default false)
returns pgbaton.span[]
language plpgsql volatile
as $$
declare
    v_plain_ids integer[];
    v_ready pgbaton.span[];
    v_leased pgbaton.span[];
    v_others pgbaton.span[];
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
    select
        array_agg(s::pgbaton.span) filter (where h.name = 'ready_span'),
        array_agg(s::pgbaton.span) filter (where h.name = 'leased_span'),
        array_agg(s::pgbaton.span) filter (where h.name = 'span')
    into v_ready, v_leased, v_others
    from unnest(spans) as s
    cross join lateral (
        select case
            when s.queue_id <> all (v_plain_ids) then 'span'
            when s.ready then 'ready_span'
            when s.lease_until is not null then 'leased_span'
            else 'span'
        end as name
        offset 0
    ) as h;
    if v_ready is not null then
        insert into pgbaton.ready_span select s.* from unnest(v_ready) as s;
    end if;
    if v_leased is not null then
        insert into pgbaton.leased_span select s.* from unnest(v_leased) as s;
    end if;
    if v_others is not null and may_be_refused then
        with put as (
            insert into pgbaton.span select s.* from unnest(v_others) as s
            on conflict do nothing
            returning lo
        )
        select array_agg(p.lo) into v_los from put as p;
        return array(
            select s::pgbaton.span from unnest(v_others) as s where s.lo not in (select unnest(v_los))
        );
    elsif v_others is not null then
        insert into pgbaton.span select s.* from unnest(v_others) as s;
    end if;
    return '{}';
end;
$$;
comment on function pgbaton._put(pgbaton.span[], boolean) is
'Puts spans, which are nowhere, where they belong: claimable and leased ones of standard queues into ready_span and
leased_span, all others into span. may_be_refused: those for which the policy of their queue leaves no place are left
out and returned; else there is a place, or the index that guards it raises.';
