"""The options of `format("pgbaton")`: one table, from which the guide's is checked too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Literal, TypeAlias

Use: TypeAlias = Literal["read", "readStream", "write", "writeStream"]

BOTH_READS: tuple[Use, ...] = ("read", "readStream")
BOTH_WRITES: tuple[Use, ...] = ("write", "writeStream")
ALL_USES: tuple[Use, ...] = (*BOTH_READS, *BOTH_WRITES)
# What Spark itself puts among the options of a stream that is written.
SPARKS_OWN = {"checkpointlocation", "triggerinterval", "queryname"}


@dataclass(frozen=True)
class Option:
    """One option, where it may be given, and what it says."""

    name: str
    default: str
    uses: tuple[Use, ...]
    meaning: str
    is_internal: bool = False


OPTIONS = (
    Option("dsn", "required", ALL_USES, "connection string or URL"),
    Option("password", "that of the dsn", ALL_USES, "its password, kept out of Spark's plans"),
    Option("dsn_read", "the dsn", BOTH_READS, "where to read instead, for example a standby"),
    Option("queue", "all; required to write", ALL_USES, "the queue"),
    Option("jobs", "finished", ("read",), "finished, live or all"),
    Option("columns", "all", BOTH_READS, "names with commas between: only these are read"),
    Option("state", "every", ("read",), "only jobs in this state; several with commas between"),
    Option("job_type", "every", ("read",), "only jobs of this type"),
    Option("since", "", ("read",), "only jobs that ended (live, all: were created) then or later"),
    Option("until", "", ("read",), "only jobs that ended (live, all: were created) before that"),
    Option("ids", "every", ("read",), "only these jobs: numbers with commas between"),
    Option("partitions", "8", BOTH_READS, "how many tasks read side by side, at most"),
    Option("snapshot", "", ("read",), "id of a `snapshot(dsn)`: the moment to read at"),
    Option("startingOffsets", "earliest", ("readStream",), "earliest or latest"),
    Option("maxJobsPerTrigger", "no limit", ("readStream",), "about how many jobs a batch has"),
    Option("run_id", "a new one", ("write",), "name of the run: sent again, it adds nothing"),
    Option("stream_id", "required", ("writeStream",), "name of the stream"),
    Option("on_bad_rows", "fail", BOTH_WRITES, "fail, or aside: enqueue the others"),
    Option("bad_rows_queue", "", BOTH_WRITES, "where rows go that are put aside: a standard queue"),
    Option("bad_rows_table", "", BOTH_WRITES, "or a table of the same database"),
    Option("micro_batch", "false", ("write",), "", is_internal=True),
)


def checked(options: Mapping[str, str], use: Use) -> dict[str, str]:
    """The options by their lower-case names.

    Raises:
        ValueError: one that does not exist here, with the nearest that does; or a path.
    """
    given = {name.lower(): value for name, value in options.items()}
    known = {option.name.lower(): option.name for option in OPTIONS if use in option.uses}
    refuse_path(given)
    for name in sorted(set(given) - set(known) - SPARKS_OWN):
        raise ValueError(f'there is no option "{name}" for {use}: {_advice(name, known, use)}')
    return given


def refuse_path(given: Mapping[str, str]) -> None:
    """Raises ValueError for what was given to load, save or start."""
    for name in ("path", "paths"):
        if name in given:
            raise ValueError(
                f'jobs are at no path, so "{given[name]}" cannot be meant: leave it out, and say '
                "where they are with the options dsn and queue"
            )


def _advice(name: str, known: Mapping[str, str], use: Use) -> str:
    names = {option.name.lower(): option for option in OPTIONS if option.name.lower() not in known}
    if name in names and not names[name].is_internal:
        return f"it is one of {' and '.join(names[name].uses)}"
    if near := get_close_matches(name, known, 1):
        return f'did you mean "{known[near[0]]}"?'
    public = [o.name for o in OPTIONS if use in o.uses and not o.is_internal]
    return f"there are {', '.join(public)}"


def required(options: Mapping[str, str], name: str) -> str:
    value = options.get(name)
    if not value:
        raise ValueError(f'option "{name}" is missing')
    return value


def number(options: Mapping[str, str], name: str, default: int) -> int:
    """A whole number of at least 1."""
    given = options.get(name.lower())
    if given is None:
        return default
    try:
        found = int(given)
    except ValueError:
        found = 0
    if found < 1:
        raise ValueError(f"option {name} is {given}: pass a whole number of at least 1")
    return found


def one_of(options: Mapping[str, str], name: str, values: tuple[str, ...]) -> str:
    """One of these; the first is the default."""
    given = options.get(name.lower(), values[0])
    if given not in values:
        raise ValueError(f"option {name} is {given}: pass {', '.join(values)}")
    return given


def read_dsn(options: Mapping[str, str]) -> str:
    """Where is read: the dsn, unless another one is said."""
    return options.get("dsn_read") or required(options, "dsn")


def names(options: Mapping[str, str], name: str) -> list[str] | None:
    """Those of a list with commas, or of a JSON array; None without the option."""
    given = options.get(name)
    if given is None:
        return None
    try:
        found = json.loads(given) if given.startswith("[") else given.split(",")
    except ValueError:
        raise ValueError(f'option {name} is "{given}", which is no JSON array') from None
    found = [str(entry).strip() for entry in found]
    if not all(found):
        raise ValueError(f'option {name} is "{given}": pass names with commas between')
    return found


def numbers(options: Mapping[str, str], name: str) -> list[int] | None:
    found = names(options, name)
    try:
        return None if found is None else [int(entry) for entry in found]
    except ValueError:
        raise ValueError(
            f'option {name} is "{options[name]}": pass whole numbers with commas between'
        ) from None


def instant(options: Mapping[str, str], name: str) -> datetime | None:
    """An instant in ISO 8601, in UTC unless it says otherwise."""
    given = options.get(name)
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        raise ValueError(
            f'option {name} is "{given}": pass an instant such as 2026-11-29T10:00:00+00:00'
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def table() -> str:
    """All public options, as docs/spark.md shows them."""
    head = ("option", "default", *ALL_USES, "says")
    lines = [" | ".join(head), "|".join(["---", "---", *[":-:"] * len(ALL_USES), "---"])]
    for option in OPTIONS:
        if not option.is_internal:
            marks = ["x" if use in option.uses else "" for use in ALL_USES]
            cells = [f"`{option.name}`", option.default, *marks, option.meaning]
            lines.append(" | ".join(cells))
    return "\n".join(f"| {line} |" for line in lines)
