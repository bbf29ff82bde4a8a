create or replace function pgbaton._check_replace(
    queue pgbaton.queue, dedup_id text, on_duplicate text, has_time boolean, waits_for_jobs boolean, debounce interval,
    max_wait interval
)
returns boolean
language plpgsql immutable parallel safe
as $$
declare
    v_wrong text;
    v_hint text;
begin
    if on_duplicate is distinct from 'replace' then
        v_wrong := 'debounce and max_wait are given without on_duplicate => ''replace''';
        v_hint := 'A job is put off by the next one that replaces it: pass on_duplicate => ''replace''.';
    elsif dedup_id is null and queue.policy not in ('short', 'stately', 'exclusive') then
        v_wrong := format(
            'there is nothing to replace: no dedup_id is given, and queue "%s" (%s) takes any number of jobs',
            queue.name, queue.policy
        );
        v_hint := 'Pass a dedup_id, or use a queue of policy short, stately or exclusive.';
    elsif waits_for_jobs then
        v_wrong := 'a job that replaces another one cannot wait for jobs';
        v_hint := 'Leave out after, or on_duplicate => ''replace''.';
    elsif debounce is not null and has_time then
        v_wrong := 'both debounce and a time (run_at or delay) are given';
        v_hint := 'Pass one of them.';
    elsif max_wait is not null and debounce is null then
        v_wrong := 'max_wait is given without debounce';
        v_hint := 'Pass debounce, how long nothing may come before the job runs.';
    elsif max_wait <= debounce then
        v_wrong := format('max_wait of %s is not above debounce of %s', max_wait, debounce);
        v_hint := 'A bound that low would put no job off: pass a longer max_wait, or null for none.';
    end if;
    if v_wrong is not null then
        raise exception using errcode = 'invalid_parameter_value', message = v_wrong, hint = v_hint;
    end if;
    perform pgbaton._check_duration('debounce', debounce, may_be_zero => false);
    perform pgbaton._check_duration('max_wait', max_wait);
    return true;
end;
$$;
comment on function pgbaton._check_replace(pgbaton.queue, text, text, boolean, boolean, interval, interval) is
'Raises 22023 unless a job may be enqueued so that it replaces an earlier one; else true.';
