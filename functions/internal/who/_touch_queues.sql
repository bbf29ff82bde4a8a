create or replace function pgbaton._touch_queues()
returns void
language plpgsql volatile
as $$
begin
    perform from pgbaton.queue as q order by q.id for no key update;
    update pgbaton.queue as q set is_paused = q.is_paused;
end;
$$;
comment on function pgbaton._touch_queues() is
'Marks all queues as changed, so that calls on them under an older snapshot raise 40001: who may do what has changed.';
