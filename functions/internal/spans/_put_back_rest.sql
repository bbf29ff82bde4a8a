create or replace function pgbaton._put_back_rest(
    pieces pgbaton.span[], whole_los bigint[], whole_his bigint[], is_busy boolean
)
returns void
language plpgsql volatile
as $$
declare
    v_next bigint;  -- first id of the whole span that is not handled yet
begin
    for i in 1 .. cardinality(pieces) loop
        if i = 1 or whole_los[i] <> whole_los[i - 1] then
            v_next := whole_los[i];
        end if;
        if v_next < pieces[i].lo then
            perform pgbaton._put_back(pieces[i], v_next, pieces[i].lo - 1, is_busy);
        end if;
        v_next := pieces[i].hi + 1;
        if (i = cardinality(pieces) or whole_los[i + 1] <> whole_los[i]) and v_next <= whole_his[i] then
            perform pgbaton._put_back(pieces[i], v_next, whole_his[i], is_busy);
        end if;
    end loop;
end;
$$;
comment on function pgbaton._put_back_rest(pgbaton.span[], bigint[], bigint[], boolean) is
'Puts back what is left of whole spans when pieces were taken out of them: each gap becomes a span of the same
state, or one for each job when it is_busy, at the positions its jobs had. Pieces are in order of lo; whole_los and
whole_his are the spans they came from.';
