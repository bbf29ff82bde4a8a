create or replace function pgbaton._overlaps(lo bigint, hi bigint, first bigint, last bigint)
returns boolean
language sql immutable parallel safe
as $$ select lo > first - 64 and lo <= last and hi >= first and hi <= least(last, 9223372036854775744) + 63 $$;
comment on function pgbaton._overlaps(bigint, bigint, bigint, bigint) is
'Whether a span of lo to hi has jobs from first to last. A span has at most 64 jobs: said in each direction, so that it
is found by either end, whichever is indexed. No search_path, so that it inlines.';
