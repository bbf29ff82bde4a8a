create or replace function pgbaton._release_places(spans pgbaton.span[])
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._release_keys(array_agg(s.queue_id), array_agg(s.singleton_key))
    from unnest(spans) as s
    where s.slot < -100;
end;
$$;
comment on function pgbaton._release_places(pgbaton.span[]) is
'For jobs that ran without the batons of their keys (key_limit) and do not any more: the next claim passes the
batons on.';
