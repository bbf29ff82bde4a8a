"""Writes docs/states.md and its picture from the table that pgtap/scenarios/transitions.pg tests.

With --check it writes nothing and fails when they are not current.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from drawing import Box, arrow, picture

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "pgtap" / "scenarios" / "transitions.pg"
PAGE = ROOT / "docs" / "states.md"
PICTURE = ROOT / "docs" / "images" / "states.svg"

# The columns of the table: the state that get_job shows, and what it means.
MEANINGS = {
    "waiting": ("waiting", "It stands in the line of its key: another job holds the key."),
    "scheduled": ("pending, with `run_at` ahead", "It was enqueued for later."),
    "pending": ("pending", "It may be claimed; nobody has had it yet."),
    "active": ("active", "A worker has it, until its lease ends."),
    "retry": (
        "retry, with `run_at` ahead",
        "An attempt failed; it may be claimed again when its time has come.",
    ),
    "due": ("retry", "Its time has come, or a worker gave it back: it may be claimed."),
    "unknown_retry": (
        "unknown_retry",
        "Its lease ended before the worker answered. It may be claimed again, and the worker that "
        "had it may still complete or fail it until somebody does.",
    ),
    "cancelling": (
        "cancelling",
        "Somebody cancelled it while a worker had it. The worker is told, and acknowledges.",
    ),
    "failed": (
        "failed",
        "It failed for good and is a dead letter. It stays until an operator acts or, if it holds "
        "no key, until the retention of dead letters is over.",
    ),
    "completed": ("completed", "It is done."),
    "skipped": ("failed, resolved as `skipped`", "An operator gave it up: its key goes on."),
    "unscheduled": ("unscheduled", "It was cancelled or deleted before anybody had it."),
    "stopped": ("stopped", "It was ended after it had been claimed at least once."),
    "unknown_stopped": (
        "unknown_stopped",
        "Nobody knows whether it stopped: it was cancelled and its worker never said so, or "
        "somebody gave it up. A late completion of that worker still counts.",
    ),
}
FINAL = ("completed", "skipped", "unscheduled", "stopped", "unknown_stopped")
# Rows of the table that are no call.
TIME = "a day goes by"
IN_FRONT = "the one in front completes"
KEEPS = "keeps its key"
WORDS_OF_ARGUMENTS = {
    "true, T": " (it ran)",
    "false, T": " (it did not run)",
}
FULL_NAMES = {"acknowledge": "acknowledge_cancellation"}

# The picture: where each state stands, and the moves that are drawn.
PLACES = {
    "unscheduled": (30, 40),
    "waiting": (30, 170),
    "pending": (260, 40),
    "retry": (260, 170),
    "unknown_retry": (260, 300),
    "active": (490, 170),
    "cancelling": (490, 330),
    "completed": (730, 40),
    "failed": (730, 170),
    "stopped": (730, 270),
    "unknown_stopped": (730, 360),
}
DRAWN = {
    ("waiting", "pending"): ([(170, 178), (260, 66)], "the key is passed on", (272, 132)),
    ("waiting", "unscheduled"): ([(60, 170), (60, 72)], "cancel, delete", (104, 100)),
    ("pending", "unscheduled"): ([(260, 50), (170, 50)], "cancel, delete", (215, 44)),
    ("pending", "active"): ([(400, 60), (520, 170)], "claim", (492, 122)),
    ("retry", "active"): ([(400, 180), (490, 180)], "claim", (445, 175)),
    ("unknown_retry", "active"): ([(400, 310), (515, 202)], "claim", (440, 246)),
    ("active", "retry"): ([(490, 194), (400, 194)], "fail, release", (445, 208)),
    ("active", "unknown_retry"): ([(540, 202), (400, 326)], "the lease ends", (520, 284)),
    ("active", "completed"): ([(600, 170), (730, 64)], "complete", (640, 112)),
    ("active", "failed"): ([(630, 180), (730, 180)], "last attempt fails", (680, 174)),
    ("active", "stopped"): ([(622, 202), (730, 276)], "stop", (695, 234)),
    ("active", "cancelling"): ([(570, 202), (570, 330)], "cancel", (592, 300)),
    ("cancelling", "stopped"): ([(630, 338), (730, 294)], "acknowledge", (672, 300)),
    ("cancelling", "unknown_stopped"): ([(630, 352), (730, 374)], "the lease ends", (668, 386)),
    ("failed", "retry"): (
        [(800, 170), (800, 146), (330, 146), (330, 170)], "retry_job", (440, 141)),
}  # fmt: skip
# What would cross everything, and rests on the table below the picture.
NOT_DRAWN = {
    ("retry", "stopped"),
    ("unknown_retry", "stopped"),
    ("unknown_retry", "retry"),
    ("unknown_retry", "failed"),
    ("unknown_retry", "completed"),
    ("unknown_retry", "unknown_stopped"),
    ("active", "unknown_stopped"),
    ("cancelling", "completed"),
    ("unknown_stopped", "completed"),
}

INTRO = """\
# States of a job

<!-- Written by python/docs/states.py from pgtap/scenarios/transitions.pg: change those. -->

A job has one state at a time. `get_job` shows it, and `why_not_running` says what it waits for.
Every line of this page is a cell of a table that is tested, call by call, on each supported
PostgreSQL.

![How the states follow each other](images/states.svg)

The picture leaves two things out: a worker whose lease ended may still complete or fail its job
while nobody else has it, and a job between two attempts can be cancelled. The lists below have
both.

## What each state means

In a FIFO queue a job keeps its key in the states that the last column marks; meanwhile the next
job of the key waits. In a queue with `on_exhausted = 'continue'` a failed job lets its key go.

"""
MOVES = """
## How a job moves

A worker passes the token of its claim. In a standard queue calls with a star may leave it out.
"Maintenance" happens by itself after a lease has ended; any worker does it.

"""
REFUSALS = """\
## What is refused

Every other call changes nothing, and says so. A call for one job raises [PB003](errors.md) when
the state does not allow it, and [PB004](errors.md) when the token is not that of the claim that
has the job. Calls for several jobs return `invalid_state` or `lease_lost` for each. While a job
is cancelling, `start_jobs`, `report_progress` and `extend_leases` answer its worker with
`cancel_requested`. The whole table, state by state and call by call, is in
`pgtap/scenarios/transitions.pg`.
"""


@dataclass(frozen=True)
class Cell:
    queue: str
    call: str
    column: str
    becomes: str


def cells() -> Iterator[Cell]:
    text = TABLE.read_text("utf-8")
    [body] = re.findall(r"as select \$\$\n(.*?)^\$\$ as body", text, re.MULTILINE | re.DOTALL)
    for part in body.strip().split("\n\n"):
        head, *lines = [[cell.strip() for cell in line.split("|")] for line in part.splitlines()]
        for name, *values in lines:
            for column, value in zip(head[1:], values, strict=False):
                if value:
                    yield Cell(head[0], name, column, value)


def state_of(column: str) -> str:
    """The state of the jobs of a column, as the table writes it."""
    return {
        "scheduled": "pending",
        "due": "retry",
        "skipped": "failed skipped",
        "unscheduled": "unscheduled deleted",
        "stopped": "stopped deleted",
    }.get(column, column)


def is_move(cell: Cell) -> bool:
    target = cell.becomes.split()[0]
    return target in {name.split()[0] for name in map(state_of, MEANINGS)} and (
        cell.becomes != state_of(cell.column)
    )


def moves() -> set[tuple[str, str]]:
    """From state to state, whatever call does it; what is resolved as skipped or deleted stays."""
    found = {
        (state_of(cell.column).split()[0], cell.becomes.split()[0])
        for cell in cells()
        if is_move(cell)
    }
    return {(before, after) for before, after in found if before != after}


def who_calls(name: str) -> str:
    """By the folder of the function."""
    [file] = ROOT.glob(f"functions/*/{name}.sql")
    return file.parent.name


def ways(column: str) -> dict[tuple[str, str], list[str]]:
    """By whom jobs of a column become what, and with which calls."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    without_token = set()
    for cell in cells():
        if cell.column != column or not is_move(cell):
            continue
        if cell.call in (TIME, IN_FRONT):
            words, who = ("maintenance" if cell.call == TIME else cell.call), ""
        else:
            match = re.fullmatch(r"(\w+)(?:\((.*)\))?(.*)", cell.call)
            assert match is not None
            name = FULL_NAMES.get(match[1], match[1])
            arguments = (match[2] or "T").replace("null", "T")
            words = f"`{name}`{WORDS_OF_ARGUMENTS.get(arguments, '')}{match[3]}"
            who = who_calls(name)
            if (match[2] or "").endswith("null"):
                without_token.add(words)
                continue
        if words not in found[who, cell.becomes]:
            found[who, cell.becomes].append(words)
    return {
        key: [words + "\\*" * (words in without_token) for words in calls]
        for key, calls in found.items()
    }


def meanings() -> Iterator[str]:
    keeps = {cell.column: cell.becomes for cell in cells() if cell.call == KEEPS}
    fifo = {c.column: c.becomes for c in cells() if (c.call, c.queue) == (KEEPS, "fifo")}
    assert keeps.keys() == MEANINGS.keys()
    yield "| state | meaning | keeps its key |"
    yield "|---|---|---|"
    for column, (shown, meaning) in MEANINGS.items():
        end = " Final." if column in FINAL else ""
        yield f"| {shown} | {meaning}{end} | {fifo[column]} |"


def tables_of_moves() -> Iterator[str]:
    for column, (shown, _) in MEANINGS.items():
        if found := ways(column):
            yield from [f"### From {shown}", "", "| who | how | it becomes |", "|---|---|---|"]
            for (who, becomes), calls in found.items():
                yield f"| {who} | {', '.join(calls)} | {becomes.replace(' ', ', ')} |"
            yield ""


def page() -> str:
    parts = [INTRO + "\n".join(meanings()), MOVES + "\n".join(tables_of_moves()), REFUSALS]
    return "\n".join(parts).rstrip() + "\n"


def drawing() -> str:
    assert moves() == DRAWN.keys() | NOT_DRAWN, moves() ^ (DRAWN.keys() | NOT_DRAWN)
    lines = [arrow(points, words, at=at) for points, words, at in DRAWN.values()]
    boxes = [
        Box(x, y, name, fill="#eceff1" if name in FINAL else "#e0f2f1").drawn()
        for name, (x, y) in PLACES.items()
    ]
    return picture("States of a job and the moves between them", 900, 410, lines + boxes)


def main() -> int:
    wanted = {PAGE: page(), PICTURE: drawing()}
    if sys.argv[1:] == ["--check"]:
        old = [p for p, text in wanted.items() if not p.exists() or p.read_text("utf-8") != text]
        for path in old:
            print(f"{path.relative_to(ROOT)} is not current: run python/docs/states.py")
        return int(bool(old))
    for path, text in wanted.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
