create or replace function pgbaton._empty_inbox()
returns boolean
language plpgsql volatile
as $$
begin
    if pg_relation_size('pgbaton.inbox_row') = 0 then
        return false;
    end if;
    begin
        lock table pgbaton.inbox_row in access exclusive mode nowait;
    exception
        when lock_not_available then return false;  -- somebody is writing: another time
    end;
    -- Nobody writes, so every row in it was committed and is a job, or was rolled back.
    truncate table pgbaton.inbox_row;
    return true;
end;
$$;
comment on function pgbaton._empty_inbox() is
'Empties the inbox of Spark unless somebody writes into it; true when it did. Never waits; producers wait for
the end of the caller''s transaction.';
