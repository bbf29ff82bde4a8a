create or replace function pgbaton._action_filter(action text, filter jsonb)
returns jsonb
language plpgsql immutable parallel safe
as $$
declare
    v_possible constant jsonb := case
        when action in ('retry', 'skip', 'requeue') then jsonb '["failed"]'
        when action = 'cancel' then '["waiting", "pending", "active", "retry", "unknown_retry", "cancelling"]'
        when action in ('reschedule', 'prioritize') then '["waiting", "pending", "retry", "unknown_retry"]'
        when action = 'delete' then '["waiting", "pending", "retry", "unknown_retry", "failed"]'
        when action = 'erase' then
            '["failed", "given_up", "completed", "stopped", "unscheduled", "unknown_stopped"]'
    end;
    v_states jsonb;
begin
    if v_possible is null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('the action is %L', action),
            hint = 'The actions are retry, skip, requeue, reschedule, prioritize, cancel, delete and erase.';
    end if;
    -- An empty list, or object, fits all jobs as no filter does.
    if not exists (
        select from jsonb_each(filter - 'extra_attempts') as e
        where e.key not in ('tags', 'states', 'payload') or e.value not in ('[]', '{}')
    ) then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = 'the filter is empty',
            hint = 'Say at least in which queue, for example {"queue": "mail"}, or which states: {"states": '
                '["failed"]}.';
    end if;
    v_states := (
        select jsonb_agg(s.state) from jsonb_array_elements(v_possible) as s (state)
        where coalesce(filter -> 'states', '[]') in ('[]', s.state) or filter -> 'states' @> s.state
    );
    -- Of none of the states that it is about: nothing is found.
    return filter || case
        when v_states is null then jsonb '{"ids": []}' else jsonb_build_object('states', v_states)
    end;
end;
$$;
comment on function pgbaton._action_filter(text, jsonb) is
'A filter narrowed to the states in which an action is possible. Raises 22023.';
