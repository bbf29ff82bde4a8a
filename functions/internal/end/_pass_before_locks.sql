create or replace function pgbaton._pass_before_locks()
returns void
language plpgsql volatile
as $$
begin
    if exists (select from pgbaton.baton_release as r where r.id >= (select pgbaton._released_from())) then
        perform pgbaton._pass_released(pgbaton._released_from());
    end if;
end;
$$;
comment on function pgbaton._pass_before_locks() is
'Passes released batons on at the beginning of a claim whose snapshot lasts for its transaction. The first lock takes a
transaction id, and with one nobody can tell any more whether the snapshot sees all that was committed (_sees_all).';
