"""How a run of a handler ends, and what the server is told about it."""

from __future__ import annotations

import logging
import os
import pickle
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeAlias

from pgbaton._arguments import (
    Interval,
    argument,
    check_function,
    interval,
    not_what_is_wanted,
    result_value,
)
from pgbaton._json_text import JsonText

log = logging.getLogger("pgbaton.worker")

LONGEST_MESSAGE = 8000
OURS = f"{Path(__file__).parent.parent}{os.sep}"
"""Where the code of this package is, which is of no interest to who reads an error."""


class Retry(Exception):
    """Raised by a handler: this attempt failed, run the job again.

    It costs an attempt. When none is left, the job is failed.

    Args:
        message (str): what went wrong, for the operator.
        after (timedelta): wait before the next attempt; default the job's or the queue's delay.
    """

    def __init__(
        self, message: str = "the handler asked for a retry", *, after: Interval | None = None
    ) -> None:
        super().__init__(message)
        interval(after)  # raises what is wrong with it
        self.after = after


class Fail(Exception):
    """Raised by a handler: the job failed.

    Args:
        message (str): what went wrong, for the operator.
        permanent (bool): whether another attempt makes no sense; default true. False is the
            same as any other exception.
    """

    def __init__(self, message: str = "the handler gave up", *, permanent: bool = True) -> None:
        super().__init__(message)
        self.permanent = permanent


class Snooze(Exception):
    """Raised by a handler: not now. The job goes back to its place, the attempt is not counted.

    A FIFO job keeps its key meanwhile.

    Args:
        delay (timedelta): when it is claimable again.
    """

    def __init__(self, delay: Interval) -> None:
        super().__init__(f"again in {delay}")
        interval(delay)
        self.delay = delay


class Cancelled(Exception):
    """Raised by `RunningJob.raise_if_cancelled`: the handler stops because it was asked to."""


Ruling: TypeAlias = Fail | Retry | Snooze
Rules: TypeAlias = Mapping[type[Exception], Ruling | Callable[[Any], Ruling | None]]
"""What exceptions of a handler mean, by type; the type that is nearest to the exception's wins."""


@dataclass(frozen=True, slots=True)
class Completed:
    """The handler returned.

    The result is text at once: what becomes of the object later does not count, and what cannot be
    written fails in the attempt, not where outcomes of many jobs are sent.
    """

    result: JsonText | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The handler raised; `report` is the traceback, where `error` cannot come along."""

    message: str
    is_permanent: bool = False
    retry_in: Interval | None = None
    report: str = ""
    error: BaseException | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Released:
    """The job goes back without costing an attempt."""

    run_in: Interval = timedelta(0)


@dataclass(frozen=True, slots=True)
class Stopped:
    """The handler was interrupted, or stopped because it was asked to."""

    message: str = ""
    """What it raised when it was asked to stop, if it did."""


Outcome = Completed | Failed | Released | Stopped


def of_result(result: Any) -> Outcome:
    """A returned value is kept as the job's result if JSON can say it."""
    try:
        text = result_value(result)
    except (ValueError, TypeError, RecursionError) as error:
        return Failed(cleaned(f"the handler returned what is no JSON value: {error}"))
    return Completed(None if text is None else JsonText(text))


def of_error(error: BaseException, rules: Rules | None = None) -> Outcome:
    if isinstance(error, Cancelled):
        return Stopped()
    ruling = error if isinstance(error, Ruling) else ruling_of(error, rules or {})
    if isinstance(ruling, Snooze):
        return Released(ruling.delay)
    retry_in = ruling.after if isinstance(ruling, Retry) else None
    permanent = isinstance(ruling, Fail) and ruling.permanent
    report = ""
    if not isinstance(error, Retry):
        report = cleaned("".join(traceback.format_exception(error)[-30:]))
    return Failed(message_of(error), permanent, retry_in, report, error)


def check_rules(rules: Rules | None) -> None:
    """Raises what is wrong with them: a rule that fits nothing would go unnoticed."""
    if rules is None:
        return
    with argument("rules"):
        if not isinstance(rules, Mapping):
            raise not_what_is_wanted(rules, "an object", "a dict of rulings by exception type")
        for kind, rule in rules.items():
            if not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise not_what_is_wanted(kind, "a type of exceptions", "a class, each of its own")
            if rule is not None and not isinstance(rule, Ruling):
                check_function(rule, "a Fail, Retry or Snooze, or a function that makes one")


def ruling_of(error: BaseException, rules: Rules) -> Ruling | None:
    """What the rules of a handler say about an exception; None: nothing."""
    rule = next((rules[kind] for kind in type(error).__mro__ if kind in rules), None)
    if rule is None or isinstance(rule, Ruling):
        return rule
    try:
        return rule(error)
    except Exception:
        log.exception("the rule for %s failed", type(error).__name__)
        return None


def packed(outcome: Outcome) -> tuple[Outcome, bytes | None]:
    """For another process: the exception by itself, as that may not be able to read it."""
    if not isinstance(outcome, Failed) or outcome.error is None:
        return outcome, None
    try:
        error = pickle.dumps(outcome.error)
    except Exception:
        error = None
    return replace(outcome, error=None), error


def unpacked(outcome: Outcome, error: bytes | None) -> Outcome:
    """What another process packed; without the exception if its class is not to be had here."""
    if not isinstance(outcome, Failed) or error is None:
        return outcome
    try:
        found = pickle.loads(error)  # noqa: S301
    except Exception:
        return outcome
    return replace(outcome, error=found) if isinstance(found, BaseException) else outcome


def can_be_logged(error: BaseException) -> bool:
    """Whether a file takes its traceback: half of a surrogate pair is no UTF-8."""
    try:
        "".join(traceback.format_exception(error)).encode()
    except UnicodeEncodeError:
        return False
    return True


def message_of(error: BaseException) -> str:
    """For example `ValueError: no funds (shop.py:12 in charge)`."""
    try:
        said = str(error)
    except Exception as broken:  # its __str__ is the handler's code too
        said = f"its message cannot be read: {broken!r}"
    if isinstance(error, Retry | Fail):
        return cleaned(said)
    name = name_of(type(error))
    frames = traceback.extract_tb(error.__traceback__)
    where = ""
    if frames and not frames[-1].filename.startswith(OURS):
        where = f" ({frames[-1].filename}:{frames[-1].lineno} in {frames[-1].name})"
    return cleaned(f"{name}: {said}" if said else name, where)


def name_of(kind: type[BaseException]) -> str:
    """As tracebacks have it: with the module, unless it is one of Python's own."""
    if kind.__module__ in ("builtins", "__main__", "__mp_main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def cleaned(message: str, end: str = "") -> str:
    """A message that PostgreSQL can store: no NUL, no half surrogates, not endless, not empty."""
    if len(message) > LONGEST_MESSAGE:
        left_out = len(message) - LONGEST_MESSAGE
        message = f"{message[:LONGEST_MESSAGE]}... ({left_out} characters more)"
    message = (message + end).replace("\0", "\\0")
    return message.encode("utf-8", "backslashreplace").decode("utf-8") or "no message"
