create or replace function pgbaton._is_tended(at timestamptz)
returns boolean
language sql volatile
as $$
    -- As text, which no session can set to something that does not compare.
    select coalesce(
        current_setting('pgbaton.tended_at', true) collate "C"
        between (pgbaton._micros(at) - 100000)::text and pgbaton._micros(at)::text,
        false
    )
$$;
comment on function pgbaton._is_tended(timestamptz) is
'Whether this session did the upkeep of _tend in the tenth of a second before. No search_path, so that it inlines.';
