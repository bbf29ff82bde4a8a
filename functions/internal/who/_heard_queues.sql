create or replace function pgbaton._heard_queues(queues text[])
returns integer[]
language plpgsql stable
as $$
declare
    v_allowed integer[];
begin
    if queues is not null then
        return array(select q.id from pgbaton.queue as q where q.name = any (queues) order by q.id);
    end if;
    v_allowed := pgbaton._allowed_queues('work');
    if v_allowed is not null then
        return array(select a.id from unnest(v_allowed) as a (id) order by a.id);
    end if;
    return null;
end;
$$;
comment on function pgbaton._heard_queues(text[]) is
'Ids of the queues of which a sleeper hears: those named, paused ones too, or (null) all that it may work on; null when
no grant narrows that.';
