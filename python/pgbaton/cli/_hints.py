"""What to do about an error, in the words of the command line."""

from __future__ import annotations

import re

import psycopg

COMMANDS = {
    "cancel_jobs": "job cancel",
    "create_fifo_queue": "queue create --policy fifo",
    "create_queue": "queue create",
    "create_schedule": "schedule create",
    "enqueue_job": "enqueue",
    "enqueue_jobs": "enqueue --jobs",
    "list_queues": "queue list",
    "list_schedules": "schedule list",
    "pause_queue": "queue pause",
    "set_queue_limits": "queue limit",
    "why_not_running": "job why",
}
"""The command for each function that the server's hints name; some have none."""
ADVICE = {
    "blocked_keys": "blocked",
    "list_dead_jobs": "dlq list",
    "purge_dead_jobs": "dlq purge",
    "retry_job": "job retry",
    "run_maintenance": "maintain",
    "skip_job": "job skip",
}
"""The same for the functions that the advice of health() names."""
OPTIONS = {
    "on_duplicate => 'skip'": "--skip-duplicates",
    "on_duplicate => 'replace'": "--replace-duplicates",
    "force => true": "--force",
}
CALL = re.compile(r"(?:pgbaton\.)?(\w+)\((\w*)\)")
NO_DATABASE = "Neither --dsn nor PGBATON_DSN is given: name the database with one of them."


NO_RIGHTS = (
    "Grant its role what it lacks: pgbaton_producer, pgbaton_worker, pgbaton_monitor or"
    " pgbaton_operator."
)


READ_ONLY = (
    "This server takes no writes: it is a standby, or default_transaction_read_only is on. Name the"
    " primary."
)


def hint_of(error: psycopg.Error) -> str | None:
    """That of the server, with commands instead of functions."""
    hint = error.diag.message_hint
    if hint is None and error.sqlstate in WITHOUT_HINTS:
        return WITHOUT_HINTS[error.sqlstate]
    return None if hint is None else in_commands(hint)


WITHOUT_HINTS = {"42501": NO_RIGHTS, "25006": READ_ONLY}
"""Errors of PostgreSQL itself, by their SQLSTATE."""


def in_commands(hint: str) -> str:
    for argument, option in OPTIONS.items():
        hint = hint.replace(argument, option)
    return CALL.sub(_command, hint)


def _command(call: re.Match[str]) -> str:
    function, argument = call.groups()
    command = COMMANDS.get(function) or ADVICE.get(function)
    if command is None:
        return call[0]
    return f"`{' '.join(['pgbaton', command, argument]).rstrip()}`"
