create or replace function pgbaton._blocks_to_note(at timestamptz)
returns text[]
language plpgsql stable
as $$
begin
    return array(
        select s.lo::text
        from only pgbaton.span as s
        where s.held_key is not null and s.slot <= 0 and s.state in ('failed', 'retry') and not s.ready
            and s.changed_at < at - interval '5 minutes'
        order by s.queue_id, s.held_key, s.lo
        limit 10000
    );
end;
$$;
comment on function pgbaton._blocks_to_note(timestamptz) is
'The jobs that have blocked their keys for more than five minutes, for the log of such keys.';
