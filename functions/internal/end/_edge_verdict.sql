create or replace function pgbaton._edge_verdict(parent_id bigint, on_failed text)
returns text
language plpgsql volatile
as $$
declare
    v_span constant pgbaton.span := pgbaton._live_span(parent_id);
begin
    if v_span.lo is not null and v_span.state <> 'failed' then
        return 'open';
    elsif v_span.lo is null and exists (
        select from pgbaton.job_history as h
        where pgbaton._covers(h.lo, h.hi, _edge_verdict.parent_id)
            and (h.state = 'completed' or h.resolution = 'skipped')
    ) then
        return 'settled';
    end if;
    -- It failed, or it ended without having completed, or it is gone with its queue.
    return case on_failed when 'run' then 'settled' when 'cancel' then 'cancel' else 'blocked' end;
end;
$$;
comment on function pgbaton._edge_verdict(bigint, text) is
'What a parent means to a child: open (it lives), settled (it completed, an operator skipped it, or the child runs
whatever comes), cancel, or blocked (it failed or ended otherwise, and the child waits for an operator).';
