"""Values of a wrong type: refused before anything is sent, by a sentence that says what to pass.

Made from the signatures: a new parameter is covered unasked, one of a new type needs a row here.
"""

from __future__ import annotations

import asyncio
import inspect
import reprlib
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from functools import partial
from typing import Any, get_type_hints
from uuid import UUID

import psycopg
import pytest
from psycopg_pool import AsyncConnectionPool, ConnectionPool

from pgbaton import (
    AsyncClient,
    Client,
    Codec,
    Fail,
    JobOptions,
    Retry,
    RunningJob,
    Snooze,
    Worker,
    task,
)
from pgbaton._arguments import _OPTIONS, NewJob

NOW = datetime(2030, 1, 1, tzinfo=UTC)
NOWHERE = "host=/nowhere"


class Word(Enum):
    A = "a"


TEXTS = [5, 1.5, True, b"a", ["a"], {"a": 1}, NOW, timedelta(1), Word.A, object]
INTEGERS = ["5", 5.0, b"5", [5], timedelta(1), object]
DURATIONS = [5, 1.5, True, time(1), NOW, ["1 hour"], b"1 hour", object]
LISTS = ["ab", b"ab", {"a": 1}, 5, object]
WRONG_FIELDS: dict[str, Any] = {
    "priority": "5",
    "singleton_key": 5,
    "job_type": True,
    "tags": [5],
    "run_at": "2030-01-01",
    "delay": 5,
    "max_attempts": 5.0,
    "retry_delay": 1.5,
    "retry_backoff": "yes",
    "backoff_schedule": [5],
    "dedup_id": b"a",
    "on_duplicate": object,
    "after": ["5"],
    "on_failed": 5,
    "debounce": 5,
    "max_wait": 5,
    "after_ordinals": ["1"],
    "headers": ["a"],
    "keys_if_undelivered": ["a"],
}
KINDS: dict[str, tuple[Any, list[Any]]] = {
    # What is right, and what is not; without " | None".
    "str": ("a", TEXTS),
    "int": (1, INTEGERS),
    "bool": (True, ["yes", "", 2, [], object]),
    "Interval": ("1 hour", DURATIONS),
    "timedelta": (timedelta(0), [*DURATIONS, "1 hour"]),
    "datetime": (NOW, ["2030-01-01T00:00Z", 5, date(2030, 1, 1), time(1), object]),
    "Json": ({}, [object, b"a", {1}, NOW, 1j]),
    "Iterable[str]": (["a"], [*LISTS, *([wrong] for wrong in TEXTS)]),
    # A dict by id is the list of its ids.
    "Iterable[int]": (
        {1: None},
        [*(w for w in LISTS if not isinstance(w, dict)), *([wrong] for wrong in INTEGERS)],
    ),
    "Iterable[Interval]": (["1 hour"], [*LISTS, *([wrong] for wrong in DURATIONS)]),
    "Iterable[Json]": ([1], [*LISTS, [object]]),
    "Iterable[Iterable[str]]": ([["a"]], [*LISTS, ["ab"], [5]]),
    "Iterable[NewJob]": (
        [{}],
        [*LISTS, ["a"], [5], *([{name: wrong}] for name, wrong in WRONG_FIELDS.items())],
    ),
    "Mapping[str, str]": ({"a": "b"}, ["ab", 5, ["a"], [("a", "b")], object]),
    "JobSearch": (
        {"queue": "a"},
        ["ab", 5, ["a"], {"ids": 5}, {"states": "failed"}, {"ended_after": date(2030, 1, 1)}],
    ),
    "JobFilter": ({"job_type": "a"}, ["ab", 5, ["a"], {"failed_after": date(2030, 1, 1)}]),
}
OTHER_NAMES = {
    "OnExhausted | str": "str",
    "QueuePolicy | str": "str",
    "int | Default": "int",
    "Json | Default": "Json",
    "Iterable[str | None]": "Iterable[str]",
}


def kind_of(parameter: inspect.Parameter) -> str:
    name = str(parameter.annotation).removesuffix(" | None")
    return OTHER_NAMES.get(name, name)


def methods() -> Iterator[tuple[str, list[inspect.Parameter]]]:
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if not name.startswith("_"):
            yield name, list(inspect.signature(method).parameters.values())[1:]


CASES = [
    pytest.param(name, parameter.name, id=f"{name}-{parameter.name}")
    for name, parameters in methods()
    for parameter in parameters
]


@pytest.mark.parametrize(("name", "wrong_one"), CASES)
def test_a_wrong_type_is_named_and_nothing_is_sent(name: str, wrong_one: str) -> None:
    client = Client(NOWHERE)
    signature = inspect.signature(getattr(client, name))
    right = {
        p.name: KINDS[kind_of(p)][0]
        for p in signature.parameters.values()
        if p.default is inspect.Parameter.empty
    }
    for wrong in KINDS[kind_of(signature.parameters[wrong_one])][1]:
        with pytest.raises((TypeError, ValueError)) as raised:
            getattr(client, name)(**{**right, wrong_one: wrong})
        assert says_what_to_do(str(raised.value), wrong), f"{wrong!r}: {raised.value}"


def says_what_to_do(message: str, wrong: object) -> bool:
    """It shows the value, or the part of it that is wrong, and what is wanted."""
    if "JSON" in message:
        return True
    *_, part = parts_of(wrong)
    return any(reprlib.repr(p) in message for p in (wrong, part)) and ": pass " in message


def parts_of(value: object) -> Iterator[object]:
    """It, and what is in it, the innermost last."""
    yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list) and value:
        yield from parts_of(value[0])


def test_a_right_value_gets_as_far_as_the_connection() -> None:
    """Else the test above would find everything wrong."""
    for name, parameters in methods():
        given = {p.name: KINDS[kind_of(p)][0] for p in parameters}
        if name != "close":
            with pytest.raises(psycopg.OperationalError):
                getattr(Client(NOWHERE), name)(**given)


@pytest.mark.parametrize("name", WRONG_FIELDS)
def test_it_is_said_which_job_has_a_wrong_type(name: str) -> None:
    client = Client(NOWHERE)
    with pytest.raises(TypeError, match=f"^job 3: {name}: .*: pass "):
        client.enqueue_jobs("mail", [{}, {"priority": 5}, {name: WRONG_FIELDS[name]}, {"tags": 5}])  # type: ignore[misc]


def test_every_field_of_a_job_but_its_payload_is_tried() -> None:
    assert WRONG_FIELDS.keys() == set(get_type_hints(NewJob)) - {"payload"}


def test_a_naive_instant() -> None:
    with pytest.raises(ValueError, match="no time zone: pass an aware datetime"):
        Client(NOWHERE).enqueue_job("a", run_at=datetime(2030, 1, 1))


@pytest.mark.parametrize("value", [0, 1, True, False])
def test_what_is_true_or_false(value: Any) -> None:
    with pytest.raises(psycopg.OperationalError):
        Client(NOWHERE).blocked_keys(include_busy=value)


def test_a_number_is_told_how_to_be_a_duration() -> None:
    with pytest.raises(TypeError) as raised:
        Client(NOWHERE).enqueue_job("a", delay=5)  # type: ignore[arg-type]
    assert str(raised.value) == (
        "5 is not a duration: pass timedelta(seconds=5) or text as '90 seconds'"
    )


def a_handler(job: RunningJob) -> None:
    pass


@task("mail")
def a_task() -> None:
    pass


WORKERS: dict[str, Callable[[], Any]] = {
    "capacity": lambda: Worker(capacity="5"),  # type: ignore[arg-type]
    "batch_size": lambda: Worker(batch_size=5.0),  # type: ignore[arg-type]
    "worker_id": lambda: Worker(worker_id=5),  # type: ignore[arg-type]
    "dsn": lambda: Worker(Client(NOWHERE)),  # type: ignore[arg-type]
    "tags": lambda: Worker(tags="ab"),
    "lease": lambda: Worker(lease=60),  # type: ignore[arg-type]
    "poll_every": lambda: Worker(poll_every=1),  # type: ignore[arg-type]
    "shutdown_timeout": lambda: Worker(shutdown_timeout=1.5),  # type: ignore[arg-type]
    "call_timeout": lambda: Worker(call_timeout="1 s"),  # type: ignore[arg-type]
    "queue": lambda: Worker().handler(5),  # type: ignore[arg-type]
    "forgotten parentheses": lambda: Worker().handler(a_handler),  # type: ignore[arg-type]
    "job_type": lambda: Worker().handler("a", 5),  # type: ignore[arg-type]
    "timeout": lambda: Worker().handler("a", timeout=5),  # type: ignore[arg-type]
    "memory_limit": lambda: Worker().handler("a", process=True, memory_limit="1 GB"),  # type: ignore[arg-type]
    "queue of a task": lambda: task(5),  # type: ignore[arg-type]
    "task without parentheses": lambda: task(a_handler),  # type: ignore[arg-type]
    "name of a task": lambda: task("mail", 5),  # type: ignore[arg-type]
    "aliases of a task": lambda: task("mail", aliases="old"),
    "timeout of a task": lambda: task("mail", timeout=5),  # type: ignore[arg-type]
    "delay of a task": lambda: task("mail", delay=5),  # type: ignore[arg-type]
    "delay of a call": lambda: a_task.using(delay=5),  # type: ignore[arg-type]
    "tags of a task": lambda: task("mail", tags="ab"),
    "attempts of a task": lambda: task("mail", max_attempts="5"),  # type: ignore[arg-type]
    "no queue": lambda: Worker().handler(None),  # type: ignore[arg-type]
    "no queue of a task": lambda: task(None),  # type: ignore[arg-type]
    "alias of a task": lambda: task("mail", aliases=[None]),  # type: ignore[list-item]
    "handler": lambda: Worker().handler("mail")(5),  # type: ignore[type-var]
    "a task as handler": lambda: Worker().handler("mail")(a_task),
    "process": lambda: Worker().handler("mail", process="yes"),  # type: ignore[arg-type]
    "process of a task": lambda: task("mail", process="yes"),  # type: ignore[arg-type]
    "function of a task": lambda: task("mail")(5),  # type: ignore[arg-type]
    "function without a name": lambda: task("mail")(partial(a_handler)),
    "key of a task": lambda: task("mail", key="order 17"),  # type: ignore[arg-type]
    "codec of a task": lambda: task("mail", codec=str),  # type: ignore[arg-type]
    "rules": lambda: task("mail", rules=[Fail()]),  # type: ignore[arg-type]
    "rules of a handler": lambda: Worker().handler("mail", rules=Fail()),  # type: ignore[arg-type]
    "several types in a rule": lambda: task("mail", rules={(KeyError, OSError): Fail()}),  # type: ignore[dict-item]
    "a rule by name": lambda: task("mail", rules={"KeyError": Fail()}),  # type: ignore[dict-item]
    "what a rule says": lambda: task("mail", rules={KeyError: "fail"}),  # type: ignore[dict-item]
    "around": lambda: Worker().around(5),  # type: ignore[type-var]
    "on_error": lambda: Worker().on_error("log"),  # type: ignore[type-var]
    "on_failed_for_good": lambda: Worker().on_failed_for_good(None),  # type: ignore[type-var]
    "lifespan": lambda: Worker().lifespan(object()),  # type: ignore[type-var]
    "add": lambda: Worker().add(a_handler),  # type: ignore[arg-type]
    "add by name": lambda: Worker().add("shop.tasks"),  # type: ignore[arg-type]
    "snooze": lambda: Snooze(5),  # type: ignore[arg-type]
    "retry": lambda: Retry("busy", after=5),  # type: ignore[arg-type]
}


def test_a_type_that_json_has_not_is_told_how_to_be_encoded() -> None:
    client = Client(NOWHERE)
    with pytest.raises(TypeError, match=r"UUID is not JSON .*: convert it, or pass encode=Codec"):
        client.enqueue_job("mail", UUID(int=1))
    encoding = Client(NOWHERE, encode=Codec().encode)
    with pytest.raises(psycopg.OperationalError):  # as far as the connection
        encoding.enqueue_job("mail", UUID(int=1))


def test_an_unknown_option_of_a_task() -> None:
    with pytest.raises(TypeError, match="there is no option 'delays': pass some of priority, "):
        task("mail", delays=5)  # type: ignore[call-arg]


def test_options_of_tasks_are_those_of_a_job() -> None:
    given = {"priority": 1, "delay": timedelta(1), "tags": ["a"], "run_at": NOW, "headers": {}}
    assert a_task.using(**given).options == given  # type: ignore[arg-type]
    assert _OPTIONS.keys() == JobOptions.__annotations__.keys()


@pytest.mark.parametrize("name", ["tags", "queues", "job_types"])
def test_a_text_is_no_list_for_a_stream(name: str) -> None:
    """Whose call is made later, with letters as its texts."""

    async def consume() -> None:
        async with AsyncClient(NOWHERE) as client:
            async for _ in client.stream_jobs("w", **{name: "ab"}):  # type: ignore[arg-type]
                pass

    with pytest.raises(TypeError, match="'ab' is one value: pass a list"):
        asyncio.run(consume())


@pytest.mark.parametrize("case", WORKERS)
def test_workers_and_what_handlers_raise(case: str) -> None:
    with pytest.raises(TypeError, match=r" is not an? .*: pass | is one value: pass a list"):
        WORKERS[case]()


# What is right, and what is not, of each argument of a constructor.
MAPPINGS = ["ab", 5, ["a"], {"a": "5"}, {5: 5}, {"a": None}, object]
CODERS = ["json", 5, {}]
WORKERS_OWN: dict[str, list[Any]] = {
    "dsn": TEXTS,
    "worker_id": TEXTS,
    "capacity": [*INTEGERS, None],
    "queue_capacity": MAPPINGS,
    "batch_size": [*INTEGERS, None],
    "tags": [*(w for w in LISTS), [5], [None]],
    "lease": DURATIONS,
    "listen": ["yes", "", 2, [], None],
    "listen_dsn": TEXTS,
    "poll_every": [*DURATIONS, "1 hour"],
    "shutdown_timeout": [*DURATIONS, "1 hour", None],
    "maintenance": ["yes", None],
    "call_timeout": [*DURATIONS, "1 hour", None],
    "keep_stacks": ["yes", None],
    "create_queues": ["yes", None],
    "encode": CODERS,
    "decode": CODERS,
}
CLIENTS_OWN: dict[str, list[Any]] = {
    "dsn": TEXTS,
    "connection": [5, "host=a", [], object],
    "pool": [5, "host=a", [], object],
    "encode": CODERS,
}
CONSTRUCTORS = [
    pytest.param(kind, name, wrongs, id=f"{kind.__name__}-{name}")
    for kind, own in ((Worker, WORKERS_OWN), (Client, CLIENTS_OWN), (AsyncClient, CLIENTS_OWN))
    for name, wrongs in own.items()
]


@pytest.mark.parametrize(("kind", "name", "wrongs"), CONSTRUCTORS)
def test_a_constructor_names_the_argument(kind: Any, name: str, wrongs: list[Any]) -> None:
    for wrong in wrongs:
        given = {"dsn": NOWHERE, "encode": wrong} if name == "encode" else {name: wrong}
        with pytest.raises((TypeError, ValueError)) as raised:
            kind(**given)
        said = str(raised.value)
        assert said.startswith((f"{name}: ", f"{name} is ", f"{kind.__name__} cannot join")), said
        assert ": pass " in said, said


@pytest.mark.parametrize("kind", [Worker, Client, AsyncClient])
def test_every_argument_of_a_constructor_is_tried(kind: type[Any]) -> None:
    own = WORKERS_OWN if kind is Worker else CLIENTS_OWN
    assert set(inspect.signature(kind).parameters) == set(own)


@pytest.mark.parametrize("name", ["dsn", "health", "burst"])
def test_run_names_the_argument(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name}: 5 is not a .*: pass "):
        Worker().run(**{name: 5})


def test_a_pool_of_the_other_kind() -> None:
    pools = {Client: ConnectionPool(open=False), AsyncClient: AsyncConnectionPool(open=False)}
    for kind, other in ((Client, AsyncClient), (AsyncClient, Client)):
        kind(pool=pools[kind])
        with pytest.raises(TypeError, match=f"^pool: .*: pass it to {other.__name__}$"):
            kind(pool=pools[other])


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_connection_is_no_dsn(kind: type[Client | AsyncClient]) -> None:
    with pytest.raises(TypeError, match=r"<object objec.*> is not a text: pass a str"):
        kind(object())  # type: ignore[arg-type]
