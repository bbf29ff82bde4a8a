"""What read_history reads."""

from __future__ import annotations

from psycopg import sql

# Types that both ways of reading know: text for jsonb and for the state.
SCHEMA = (
    "id bigint, queue string, job_type string, tags array<string>, priority int, "
    "singleton_key string, state string, resolution string, attempt int, payload string, "
    "created_at timestamp, run_at timestamp, claimed_at timestamp, started_at timestamp, "
    "finished_at timestamp, worker_id string, retry_count int, last_error string, result string"
)


def history_query(queue: str) -> sql.Composed:
    return sql.SQL(
        "select id, queue, job_type, tags, priority, singleton_key, state::text as state, "
        "resolution, attempt, payload::text as payload, created_at, run_at, claimed_at, "
        "started_at, finished_at, worker_id, retry_count, last_error, result::text as result "
        "from pgbaton.finished_jobs where queue = {}"
    ).format(sql.Literal(queue))
