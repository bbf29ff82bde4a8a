"""What is enqueued, compared with what should be."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from difflib import ndiff
from typing import Any

from pgbaton.models import JobInfo
from pgbaton.tasks import Task
from pgbaton.testing._target import Target

What = Task[..., Any] | str | None
MOST_SHOWN = 20


async def jobs(target: Target, what: What) -> list[JobInfo]:
    found = await target.rows("select id from pgbaton.jobs order by created_at, id")
    all_of_them = [await target.call("get_job", row[0]) for row in found]
    return [job for job in all_of_them if is_of(job, what)]


def is_of(job: JobInfo, what: What) -> bool:
    if isinstance(what, Task):
        return job.queue == what.queue and job.job_type in (what.name, *what.aliases)
    return what is None or job.queue == what


async def fitting(
    target: Target, what: Task[..., Any] | str, payload: Any, count: int | None, fields: Any
) -> list[JobInfo]:
    expected = expectation(what, payload, fields)
    candidates = await jobs(target, what)
    fit = [job for job in candidates if not differing(job, expected)]
    if fit if count is None else len(fit) == count:
        return fit
    raise AssertionError(report(what, expected, candidates, len(fit), count))


def expectation(what: What, payload: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """By field of JobInfo."""
    known = JobInfo.__dataclass_fields__
    if unknown := [name for name in fields if name not in known]:
        raise TypeError(f"JobInfo has no field {', '.join(unknown)}: it has {', '.join(known)}")
    if payload is ...:
        return dict(fields)
    if isinstance(what, Task):
        payload = what.job(**payload)["payload"]
    return {"payload": json.loads(json.dumps(payload)), **fields}


def differing(job: JobInfo, expected: Mapping[str, Any]) -> list[str]:
    return [name for name, value in expected.items() if not equal(getattr(job, name), value)]


def equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, list) and not isinstance(wanted, list | str):
        wanted = list(wanted)  # tags
    return bool(value == wanted)


def report(
    what: What,
    expected: Mapping[str, Any],
    candidates: Sequence[JobInfo],
    fitting: int,
    count: int | None,
) -> str:
    subject = f"{what!r}" if isinstance(what, Task) else f"queue {what!r}"
    wanted = "none" if count is None else f"{fitting} instead of {count}"
    lines = [f"{wanted} of the {len(candidates)} jobs of {subject} fits:", *shown(expected)]
    others = [job for job in candidates if differing(job, expected)]
    if not candidates:
        lines[0] = f"{subject} has no jobs; wanted:"
    elif others and (count is None or fitting < count):
        nearest = min(others, key=lambda job: distance(job, expected))
        lines += [f"the nearest, job {nearest.id}, differs (- wanted, + found):"]
        found = {name: getattr(nearest, name) for name in expected}
        lines += [line.rstrip() for line in ndiff(shown(expected), shown(found)) if line[0] != "?"]
    return "\n".join(lines)


def distance(job: JobInfo, expected: Mapping[str, Any]) -> tuple[int, int]:
    """How many fields differ, and how many lines."""
    found = {name: getattr(job, name) for name in expected}
    lines = sum(line[0] in "+-" for line in ndiff(shown(expected), shown(found)))
    return len(differing(job, expected)), lines


def shown(fields: Mapping[str, Any]) -> list[str]:
    """A line for each part, so that a diff shows what is different."""
    lines: list[str] = []
    for name, value in fields.items():
        text = json.dumps(value, indent=2, default=str, sort_keys=True, ensure_ascii=False)
        lines += f"  {name}: {text}".replace("\n", "\n  ").splitlines()
    return lines
