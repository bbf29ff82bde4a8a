"""What to do about an error, in the words of the command line."""

from __future__ import annotations

import re
import shlex

import psycopg

from pgbaton.errors import NO_RIGHTS

COMMANDS = {
    "blocked_keys": "blocked",
    "cancel_jobs": "job cancel",
    "create_fifo_queue": "queue create --policy fifo",
    "create_queue": "queue create",
    "create_schedule": "schedule create",
    "enqueue_job": "enqueue",
    "enqueue_jobs": "enqueue --jobs",
    "job_dependencies": "job show",
    "list_dead_jobs": "dlq list",
    "list_queues": "queue list",
    "list_schedules": "schedule list",
    "pause_queue": "queue pause",
    "purge_dead_jobs": "dlq purge",
    "resume_key": "queue resume",
    "resume_queue": "queue resume",
    "retry_job": "job retry",
    "run_maintenance": "maintain",
    "set_queue_limits": "queue limit",
    "skip_job": "job skip",
    "stop_waiting": "job stop-waiting",
    "why_not_running": "job why",
}
"""The command for each function that hints, health() and why_not_running() name; some have none."""
OF_A_KEY = {"resume_key"}
"""Their second argument is a key; of the others it is a job, which says its queue by itself."""
OPTIONS = {
    "on_duplicate => 'skip'": "--skip-duplicates",
    "on_duplicate => 'replace'": "--replace-duplicates",
    "force => true": "--force",
}
# As format() writes it. With bounds: the error of a job may be a megabyte of anything.
ARGUMENT = r" ?(?:E?'(?:[^']|''){0,2100}'|[\w…%$]{1,63})"
CALL = re.compile(rf"\b(?:pgbaton\.)?(\w{{1,63}})\(((?:{ARGUMENT}(?:,{ARGUMENT}){{0,4}})?)\)")
NO_DATABASE = "Neither --dsn nor PGBATON_DSN is given: name the database with one of them."


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
    function = call[1]
    command = COMMANDS.get(function)
    if command is None:
        return call[0]
    given = [_operand(part) for part in re.findall(ARGUMENT, call[2]) if part.strip() != "…"]
    if function in OF_A_KEY and len(given) == 2:
        given.insert(1, "--key")
    elif len(given) == 2:
        del given[0]
    return f"`{' '.join(['pgbaton', command, *given])}`"


def _operand(argument: str) -> str:
    """A literal of SQL as a word of a shell."""
    word = argument.strip()
    if not word.endswith("'"):
        return word
    text = word[word.index("'") + 1 : -1].replace("''", "'")
    return shlex.quote(text.replace("\\\\", "\\") if word[0] == "E" else text)
