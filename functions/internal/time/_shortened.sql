create or replace function pgbaton._shortened(said text, most integer)
returns text
language sql immutable parallel safe
as $$
    select case
        when pg_catalog.octet_length(said) > most and pg_catalog.length(said) > most
            then pg_catalog.left(said, most - 32)
                || ' … (cut, of '::text || pg_catalog.length(said)::text || ')'::text
        else said
    end
$$;
comment on function pgbaton._shortened(text, integer) is
'A text of at most so many characters: what is longer is cut, and says so. No search_path, so that it inlines.';
