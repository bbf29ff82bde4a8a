create or replace function pgbaton._kinds_of_limits(queue_id integer)
returns pgbaton.limit_kind[]
language plpgsql stable
as $$
begin
    return array(select l.kind from pgbaton.queue_limit as l where l.queue_id = _kinds_of_limits.queue_id);
end;
$$;
comment on function pgbaton._kinds_of_limits(integer) is
'Which limits a queue has. Nobody changes them while _admit was called for it in this transaction.';
