create or replace function pgbaton._waits_of_rows(
    afters text[], on_faileds text[], run_ats timestamptz[], row_nos bigint[] default null
)
returns jsonb[]
language plpgsql immutable parallel safe
as $$
declare
    v_waits jsonb[];
begin
    if num_nonnulls(afters, on_faileds) = 0 then
        return null;
    end if;
    v_waits := array(
        select case when cardinality(p.ids) > 0 then
            jsonb_build_object('after', to_jsonb(p.ids), 'on_failed', coalesce(u.on_failed, 'wait'), 'run_at', u.run_at)
        end
        from unnest(afters, on_faileds, run_ats) with ordinality as u (after, on_failed, run_at, ordinal)
        cross join lateral (
            select pgbaton._check_after(
                u.after::bigint[], coalesce(u.on_failed, 'wait'),
                row_no => coalesce(row_nos[u.ordinal], u.ordinal)
            ) as ids
        ) as p
        order by u.ordinal
    );
    return case when array_remove(v_waits, null) <> '{}' then v_waits end;
end;
$$;
comment on function pgbaton._waits_of_rows(text[], text[], timestamptz[], bigint[]) is
'What each row waits for, null if none does; after: the ids of a row as the text of an array. row_nos: what messages
call the rows; default their places, from 1. Raises 22023, or 22P02 for what is no array of ids.';
