create or replace function pgbaton._look_at_parents(
    queue_ids integer[], parent_ids bigint[], sees_all boolean
)
returns setof pgbaton.baton_release
language plpgsql volatile
as $$
declare
    v_parent record;
    v_left integer := 200;
    v_wait pgbaton.job_wait;
    v_verdict text;
    v_free bigint[] := '{}';
    v_doomed bigint[] := '{}';
    v_locked bigint[];
    v_again boolean;
begin
    for v_parent in
        select u.parent_id, min(u.queue_id) as queue_id
        from unnest(queue_ids, parent_ids) as u (queue_id, parent_id)
        group by u.parent_id
        order by u.parent_id
    loop
        v_again := not sees_all or v_left <= 0;
        if not v_again then
            -- First, so that what ends meanwhile is seen below.
            v_again := not pgbaton._is_at_rest(v_parent.parent_id);
            for v_wait in select g.* from pgbaton._groups_to_settle(v_parent.parent_id, v_left) as g loop
                v_left := v_left - 1;
                v_verdict := case
                    when v_wait.parent_id = v_parent.parent_id then pgbaton._settle_group(v_wait.child_id, v_wait.no)
                    else pgbaton._block_group(v_wait)
                end;
                if v_verdict in ('free', 'cancel') then
                    v_locked := pgbaton._lock_children(array[v_wait.child_id]);
                    v_again := v_again or v_locked = '{}';
                    if v_verdict = 'free' then
                        v_free := v_free || v_locked;
                    else
                        v_doomed := v_doomed || v_locked;
                    end if;
                elsif v_verdict = 'blocked' and (pgbaton._live_span(v_wait.child_id)).lo is null then
                    perform pgbaton._lock_children(array[v_wait.child_id]);  -- which forgets it
                end if;
                v_again := v_again or v_verdict = 'busy';
            end loop;
            v_again := v_again or v_left <= 0;
        end if;
        if v_again then
            return query select 0::bigint, v_parent.queue_id, ''::text, v_parent.parent_id;
        end if;
    end loop;
    if v_free <> '{}' then
        perform pgbaton._let_go(v_free);
    end if;
    if v_doomed <> '{}' then
        perform pgbaton._drop_children(v_doomed);
    end if;
end;
$$;
comment on function pgbaton._look_at_parents(integer[], bigint[], boolean) is
'Lets those go on, or cancels them, that waited for these jobs, and returns the jobs that have to be looked at again:
somebody is at one of them, or at who waits for it, or there are more than 200 who wait. Waits for nobody. sees_all: as
_sees_all was before the first lock; when not, it leaves all of them.';
