create or replace function pgbaton._is_same_run(run pgbaton.enqueue_run, parts integer, fingerprint text)
returns boolean
language sql immutable parallel safe
as $$
    select run.parts = parts and coalesce(run.fingerprint = fingerprint, true)
$$;
comment on function pgbaton._is_same_run(pgbaton.enqueue_run, integer, text) is
'Whether a run looks as noted; a fingerprint that one side does not know is not compared.';
