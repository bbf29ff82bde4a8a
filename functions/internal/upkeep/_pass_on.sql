create or replace function pgbaton._pass_on()
returns void
language plpgsql volatile
as $$
declare
    v_from constant bigint := pgbaton._unsettled_from();
    v_failed jsonb;
begin
    if v_from is not null and exists (select from pgbaton.baton_release as r where r.id >= v_from) then
        v_failed := pgbaton._try_released(pgbaton._now(), v_from) -> 'failed';
        if v_failed is not null then
            perform pgbaton._try_step('note of failures', pgbaton._now(), v_failed::text);
        end if;
    end if;
end;
$$;
comment on function pgbaton._pass_on() is
'Passes released batons on, if there are any. Where the snapshot lasts for the transaction, at the beginning of a claim:
the first lock takes a transaction id, and with one nobody can tell any more whether the snapshot sees all that was
committed (_sees_all).';
