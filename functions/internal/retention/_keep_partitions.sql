create or replace function pgbaton._keep_partitions(names text[])
returns integer
language plpgsql volatile
as $$
begin
    return pgbaton._add_partitions(names);
exception
    when lock_not_available then return 0;
end;
$$;
comment on function pgbaton._keep_partitions(text[]) is
'Makes partitions that _missing_partitions named, and returns how many. When a long transaction is in the way it leaves
them for the next minute: there are three days in hand, and the default partitions after that.';
