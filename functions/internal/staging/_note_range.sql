create or replace function pgbaton._note_range(
    queue_id integer, run_id text, part integer, day date, jobs integer, los bigint[], his bigint[]
)
returns void
language plpgsql volatile
as $$
begin
    if jobs > 0 then
        insert into pgbaton.enqueue_range (run_id, lo, queue_id, part, day, jobs, los, his)
        values (run_id, los[1], queue_id, part, day, jobs, los, his);
    end if;
end;
$$;
comment on function pgbaton._note_range(integer, text, integer, date, integer, bigint[], bigint[]) is
'Notes which jobs a part of a run became, in addition to what is noted: how many, and their ids as of _id_ranges.';
