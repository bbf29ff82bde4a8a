create or replace function pgbaton._fitting(ranges pgbaton.job_range[], filter jsonb, oldest_first boolean)
returns bigint[]
language plpgsql stable
set timezone = 'UTC'
as $$
declare
    v_key constant text := filter ->> 'singleton_key';
    v_payload constant jsonb := filter -> 'payload';
    v_after constant timestamptz := (filter ->> 'created_after')::timestamptz;
    v_before constant timestamptz := (filter ->> 'created_before')::timestamptz;
    v_ranges constant pgbaton.job_range[] := case
        when filter ? 'error' then pgbaton._with_error(ranges, filter ->> 'error', oldest_first) else ranges
    end;
begin
    if num_nonnulls(v_key, v_payload, v_after, v_before) = 0 then
        return array(
            select g.id
            from unnest(v_ranges) with ordinality as r
            cross join lateral generate_series(r.lo, r.hi) as g (id)
            order by r.ordinality, case when oldest_first then g.id else - g.id end
        );
    end if;
    return array(
        select j.id
        from unnest(v_ranges) with ordinality as r
        -- Each by its key, whatever the statistics say.
        cross join lateral (
            select k.id from pgbaton.job as k
            where k.day = r.day and k.id between r.lo and r.hi
                and (v_key is null or k.singleton_key = v_key)
                and (v_after is null or k.created_at > v_after)
                and (v_before is null or k.created_at < v_before)
                and (v_payload is null or k.payload @> v_payload)
            offset 0
        ) as j
        order by r.ordinality, case when oldest_first then j.id else - j.id end
    );
end;
$$;
comment on function pgbaton._fitting(pgbaton.job_range[], jsonb, boolean) is
'Ids of the jobs of these ranges that fit what a filter says of single jobs: key, error, payload, time of enqueue.';
