create or replace function pgbaton._lock_class()
returns integer
language sql immutable parallel safe
as $$ select 1885823585 $$;
comment on function pgbaton._lock_class() is
'First of the two integers of the advisory locks of pgbaton (the bytes "pgba"): producers of a stripe one after
the other; plus 1, producers of a queue against a change of its policy; plus 2, who decides whether a key of a
stripe is idle, where nobody ever waits; plus 3, transactions of many statements with dedup ids of
a queue one after the other, and not beside spark_commit; plus 4, those of enqueue_inbox with keys in no known order
alone; plus 5, claims of a queue against a change of its limits; plus 6, who ends a job beside the holder of its key
against who finds a key of the stripe full (key_limit), where nobody ever waits; plus 7, calls that change a queue or
drop it one after the other, by its name. No search_path, so that it inlines.';
