create or replace function pgbaton.find_blocked_keys(
    queue text default null, key_part text default null, max_rows integer default 50, after text default null,
    out job_ids bigint[], out next_after text
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_queue_ids constant integer[] := pgbaton._queue_filter(queue, 'operate');
    v_looked_at pgbaton.blocked_place[];
    v_found pgbaton.blocked_place[];
begin
    perform pgbaton._check_rows('max_rows', max_rows, 1000);
    v_looked_at := pgbaton._next_holders(pgbaton._holder_place(after), v_queue_ids, 1000);
    v_found := array(
        select row(p.state, p.at, p.queue_id, p.changed_at, p.lo, p.held_key)::pgbaton.blocked_place
        from unnest(v_looked_at) with ordinality as p
        where position(coalesce(key_part, '') in p.held_key) > 0
        order by p.ordinality
        limit max_rows + 1
    );
    job_ids := array(select p.lo from unnest(v_found[:max_rows]) with ordinality as p order by p.ordinality);
    next_after := pgbaton._holder_place_text(case
        when cardinality(v_found) > max_rows then v_found[max_rows]
        when cardinality(v_looked_at) >= 1000 then v_looked_at[cardinality(v_looked_at)]
    end);
end;
$$;
comment on function pgbaton.find_blocked_keys(text, text, integer, text) is
'Ids of the jobs that block a key, at most max_rows of 1,000: first those that failed, the longest first, then those
that wait to be retried, the next first. list_blocked_keys returns for these ids what blocked_keys shows. queue: null
is all. Keys that somebody paused are in list_paused_keys.
key_part: only keys that contain this.

One call looks at 1,000 dead letters of each queue that has keys, and at 1,000 jobs that wait for their time. So it may
find fewer than max_rows, even none, although there are more. next_after: pass it as after to go on; null: there are no
more.
Raises PB001 or 22023.';
