create or replace function pgbaton._stripe(queue_id integer, singleton_key text)
returns integer
language sql stable parallel safe
as $$ select queue_id * 256 + get_byte(sha256(convert_to(singleton_key, 'UTF8')), 0) $$;
comment on function pgbaton._stripe(integer, text) is
'Advisory lock number of a key: its queue and the first byte of the sha256 of its UTF-8 bytes. Stripes only
make producers wait for each other; exclusivity is by the key itself. No search_path, so that it inlines.';
