create or replace function pgbaton._try_rows(step text, at timestamptz, failed_late text[])
returns jsonb
language plpgsql volatile
as $$
declare
    v_done jsonb := pgbaton._try_step(step, at);
    v_rows text[];
    v_first integer := 1;
    v_size integer;
    v_one jsonb;
    v_failure jsonb;
    v_failed jsonb := jsonb '{}';
    v_waited integer := 0;
    v_is_step boolean := false;
    v_has_done boolean := false;
begin
    if not v_done ? 'rows' then
        return v_done;
    end if;
    v_rows := array(
        select r.name from jsonb_array_elements_text(v_done -> 'rows') with ordinality as r (name, place)
        where pgbaton._name_of_row(step, r.name) <> all (failed_late)
        order by r.place
    );
    v_done := jsonb '{}';
    v_size := cardinality(v_rows);
    -- All at once, then fewer: one bad row among ten thousand is found in a few tries.
    while v_first <= cardinality(v_rows) and not v_is_step loop
        v_one := pgbaton._try_step(
            step, at, to_jsonb(v_rows[v_first:v_first + v_size - 1])::text,
            max_wait => case when v_waited >= 3 then '1ms' end
        );
        if not v_one ? 'failed' then
            v_has_done := true;
            v_done := pgbaton._sums(v_done, v_one);
            v_first := v_first + v_size;
            v_size := v_size * 2;
            continue;
        end if;
        select f.failure into strict v_failure from jsonb_each(v_one -> 'failed') as f (name, failure);
        v_waited := v_waited + (v_failure ->> 'code' = '55P03')::integer;
        if v_size > 1 and v_failure ->> 'code' !~ '^(53|57|58)' then
            v_size := (least(v_size, cardinality(v_rows) - v_first + 1) + 1) / 2;
            continue;
        end if;
        v_failed := v_failed || jsonb_build_object(pgbaton._name_of_row(step, v_rows[v_first]), v_failure);
        -- A full disk, a table that is locked or refuses everything: that is no matter of one row.
        v_is_step := v_size > 1 or (v_first = 3 and not v_has_done);
        -- The others come when these have failed lately.
        exit when (select count(*) from jsonb_object_keys(v_failed)) = 20;
        v_first := v_first + 1;
    end loop;
    if v_is_step then
        v_failed := jsonb_build_object(step, v_failure);
    end if;
    return v_done || case when v_failed = '{}' then v_failed else jsonb_build_object('failed', v_failed) end;
end;
$$;
comment on function pgbaton._try_rows(text, timestamptz, text[]) is
'One step of the upkeep, each of its rows on its own when one of them fails: returns what was done, and under failed the
rows that were not. Those that failed_late names are left for later.';
