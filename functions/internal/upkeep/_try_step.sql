create or replace function pgbaton._try_step(
    step text, at timestamptz, subject text default null, since timestamptz default null,
    max_spans integer default null, max_wait text default null
)
returns jsonb
language plpgsql volatile
set lock_timeout = '200ms'
as $$
declare
    v_message text;
begin
    if max_wait is not null then
        perform set_config('lock_timeout', max_wait, true);  -- as the setting above, until this call ends
    end if;
    return pgbaton._do_step(step, at, subject, since, max_spans);
exception
    -- What data, objects, locks and limits may do to one step. What concerns the call as a whole is none of them: it
    -- was cancelled, the server stops or only reads, its snapshot is too old. That is raised, and all of the call is
    -- undone.
    when data_exception or integrity_constraint_violation or cardinality_violation
        or object_not_in_prerequisite_state or deadlock_detected
        or syntax_error_or_access_rule_violation or dependent_objects_still_exist or feature_not_supported
        or insufficient_resources or program_limit_exceeded or system_error or internal_error
        or plpgsql_error or sqlstate 'PB000'
    then
        v_message := sqlerrm;
        raise log 'pgbaton: % of the upkeep failed: %', step, sqlstate;
        return jsonb_build_object('failed', jsonb_build_object(
            step || coalesce(' "' || subject || '"', ''),
            jsonb_build_object('code', sqlstate, 'message', left(v_message, 1000))
        ));
end;
$$;
comment on function pgbaton._try_step(text, timestamptz, text, timestamptz, integer, text) is
'One step of the upkeep in a subtransaction of its own: what it returns, or under failed its name (with its subject),
the SQLSTATE and the message. It waits at most 200 ms, or max_wait, for each lock.';
