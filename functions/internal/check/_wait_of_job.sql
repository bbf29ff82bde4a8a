create or replace function pgbaton._wait_of_job(
    after bigint[], after_ordinals integer[], on_failed text, run_at timestamptz, ordinal bigint
)
returns jsonb
language plpgsql stable
as $$
declare
    v_parent_ids constant bigint[] := pgbaton._check_after(after, coalesce(on_failed, 'wait'), after_ordinals);
    v_wrong integer;
begin
    select n.n into v_wrong from unnest(after_ordinals) as n (n) where n.n < 1 or n.n >= ordinal limit 1;
    if v_wrong is not null then
        raise exception using
            errcode = 'invalid_parameter_value',
            message = format('after_ordinals names %s', v_wrong),
            hint = 'A job waits for jobs that stand before it in the call, counted from 1: so nothing can wait in a '
                'circle.';
    end if;
    if cardinality(v_parent_ids) + coalesce(cardinality(after_ordinals), 0) = 0 then
        return null;
    end if;
    return jsonb_build_object(
        'after', to_jsonb(v_parent_ids), 'after_ordinals', coalesce(to_jsonb(after_ordinals), '[]'),
        'on_failed', coalesce(on_failed, 'wait'), 'run_at', run_at
    );
end;
$$;
comment on function pgbaton._wait_of_job(bigint[], integer[], text, timestamptz, bigint) is
'What the ordinal-th job of enqueue_jobs waits for, null for nothing. Raises 22023.';
