create or replace function pgbaton._covers(lo bigint, hi bigint, job_id bigint)
returns boolean
language sql immutable parallel safe
as $$
    select
        lo > greatest(job_id, -9223372036854775744) - 64 and lo <= job_id
        and hi >= job_id and hi <= least(job_id, 9223372036854775744) + 63
$$;
comment on function pgbaton._covers(bigint, bigint, bigint) is
'Whether a job is in a span of lo to hi: see _overlaps. No search_path, so that it inlines.';
