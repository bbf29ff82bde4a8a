create or replace function pgbaton._failed_holders(queue_id integer)
returns setof bigint
language sql stable
as $$
    select s.lo from only pgbaton.span as s
    where s.queue_id = _failed_holders.queue_id and s.state = 'failed' and not s.ready and s.run_at is null
        and s.held_key is not null
$$;
comment on function pgbaton._failed_holders(integer) is
'The failed jobs that hold a key of a queue. No search_path, so that it inlines.';
