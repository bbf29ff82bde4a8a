create or replace function pgbaton._pass_keys(queue_ids integer[], singleton_keys text[])
returns setof pgbaton.baton_release
language plpgsql volatile
as $$
declare
    v_queue_ids integer[];
    v_keys text[];
begin
    if queue_ids is null then
        return;
    end if;
    select array_agg(d.queue_id), array_agg(d.singleton_key) into v_queue_ids, v_keys
    from (
        select distinct k.queue_id, k.singleton_key
        from unnest(queue_ids, singleton_keys) as k (queue_id, singleton_key)
    ) as d;
    return query select r.* from pgbaton._resume_holders(v_queue_ids, v_keys) as r;
    return query select r.* from pgbaton._hand_on(v_queue_ids, v_keys) as r;
end;
$$;
comment on function pgbaton._pass_keys(integer[], text[]) is
'What release rows ask for these keys, each of which may stand there several times (null: none): see _resume_holders and
_hand_on. Returns the keys for the next claim to try again.';
