"""What a caller may do, so that the page offers that and no more. Who refuses is the database."""

from __future__ import annotations

from typing import Any

import psycopg

from pgbaton.http._state import State

CALLS = (
    "act_on_jobs",
    "blocked_jobs",
    "cancel_jobs",
    "change_priority",
    "delete_job",
    "delete_jobs",
    "find_blocked_keys",
    "find_jobs",
    "list_audit",
    "list_dead_jobs",
    "list_paused_keys",
    "list_schedules",
    "list_workers",
    "live_stats",
    "pause_key",
    "pause_queue",
    "pause_schedule",
    "requeue_dead_job",
    "reschedule_job",
    "resume_key",
    "resume_queue",
    "retry_job",
    "run_schedule",
    "set_queue_limits",
    "skip_job",
    "stop_waiting",
)
ALLOWED = """
select distinct p.proname::text
from pg_proc as p
where p.pronamespace = 'pgbaton'::regnamespace and p.proname = any (%s::text[])
    and has_function_privilege(p.oid, 'execute')
order by 1
"""


async def rights_of(state: State) -> dict[str, Any]:
    """The calls that the caller may make, the queues to which grants narrow it (None: all), now."""
    async with state.connection() as connection:
        cursor = await connection.execute(ALLOWED, [list(CALLS)])
        calls = [name for (name,) in await cursor.fetchall()]
    at = (await state.clock()).isoformat()
    return {"calls": calls, "queues": await narrowed_to(state), "at": at}


async def narrowed_to(state: State) -> list[str] | None:
    """The queues on which it may operate; None: all, or it may not look."""
    try:
        if await state.client.wake_ups() is not None:
            return None  # a number is for callers whom nothing narrows
        return await state.client.granted_queues("operate")
    except psycopg.errors.InsufficientPrivilege:
        return None
