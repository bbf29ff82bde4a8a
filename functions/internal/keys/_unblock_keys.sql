create or replace function pgbaton._unblock_keys(queue_id integer)
returns void
language plpgsql volatile
as $$
begin
    perform pgbaton._let_failed_go(array(
        select h.lo from pgbaton._failed_holders(queue_id) as h (lo) order by h.lo
    ));
    if not pgbaton._is_read_committed() then
        -- What failed since the snapshot is not seen here, but by the next claim.
        perform pgbaton._release_keys(array[queue_id], array[null::text]);
    end if;
end;
$$;
comment on function pgbaton._unblock_keys(integer) is
'Has all failed jobs of a queue let go of their keys, those that an older snapshot does not see with the next claim. The
caller has locked the queue, in which they do not block any more: so nobody is failing one who does not know that, see
_fail.';
