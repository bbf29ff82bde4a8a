create or replace function pgbaton._put_back_rest(
    pieces pgbaton.span[], whole_los bigint[], whole_his bigint[]
)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_piece pgbaton.span;
    v_gap pgbaton.span;
    v_next bigint;  -- first id of the whole span that is not handled yet
begin
    for i in 1 .. cardinality(pieces) loop
        v_piece := pieces[i];
        if i = 1 or whole_los[i] <> whole_los[i - 1] then
            v_next := whole_los[i];
        end if;
        v_gap := v_piece;
        if v_next < v_piece.lo then
            v_gap.lo := v_next;
            v_gap.hi := v_piece.lo - 1;
            v_gap.position := v_piece.position - (v_piece.lo - v_next);
            insert into pgbaton.span values (v_gap.*);
        end if;
        v_next := v_piece.hi + 1;
        if (i = cardinality(pieces) or whole_los[i + 1] <> whole_los[i]) and v_next <= whole_his[i] then
            v_gap.lo := v_next;
            v_gap.hi := whole_his[i];
            v_gap.position := v_piece.position + (v_next - v_piece.lo);
            insert into pgbaton.span values (v_gap.*);
        end if;
    end loop;
end;
$$;
comment on function pgbaton._put_back_rest(pgbaton.span[], bigint[], bigint[]) is
'Puts back what is left of whole spans when pieces were taken out of them: each gap becomes a span of the same
state, at the positions its jobs had. Pieces are in order of lo; whole_los and whole_his are the spans they
came from.';
