create or replace function pgbaton._refuse_unlimited(queue text)
returns boolean
language plpgsql stable
as $$
begin
    raise exception using
        errcode = 'serialization_failure',
        message = format('queue "%s" got limits while this claim was under way', queue),
        hint = 'Claim again.';
end;
$$;
comment on function pgbaton._refuse_unlimited(text) is
'Raises 40001: a claim took jobs of a queue of whose limits it did not know.';
