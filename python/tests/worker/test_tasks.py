"""Tasks: what they enqueue, how their arguments travel, what a worker makes of them."""

from __future__ import annotations

import asyncio
import enum
import importlib
import pickle
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict
from uuid import UUID, uuid4
from zoneinfo import ZoneInfo

import app_tasks
import attrs
import psycopg
import pydantic
import pytest
from app_tasks import Customer, Line, Order, Size, anything, divide, place_order, send_letter
from process_handlers import work
from workers import running, wait_for_state

from pgbaton import (
    AsyncClient,
    BadArguments,
    Client,
    Codec,
    JobInfo,
    Task,
    Worker,
    current_job,
    task,
)

if TYPE_CHECKING:
    from elsewhere import Unimported  # type: ignore[import-not-found]

ORDER = Order(
    [Line(uuid4(), Decimal("1.10")), Line(uuid4(), Decimal(3), Size.LARGE, "quick")],
    Customer(name="Zoë", born=date(1990, 2, 28)),
    datetime(2026, 11, 29, 12, 30, 0, 7, tzinfo=UTC),
    timedelta(days=1, microseconds=1),
)


@pytest.fixture
def worker(dsn: str, client: Client) -> Worker:
    return Worker(dsn, shutdown_timeout=timedelta(0))


def run(client: Client, worker: Worker, job_id: int, state: str = "completed") -> JobInfo:
    with running(worker):
        wait_for_state(client, job_id, state)
    return client.get_job(job_id)


def test_arguments_arrive_as_they_were_given(client: Client, worker: Worker) -> None:
    worker.add(app_tasks)
    job_id = place_order.enqueue(client, 17, ORDER, mode="b")
    done = run(client, worker, job_id)
    assert (done.queue, done.job_type, done.singleton_key) == ("orders", "place_order", "order 17")
    assert set(done.payload) == {"order_id", "order", "mode"}
    assert place_order.arguments(done.payload) == {"order_id": 17, "order": ORDER, "mode": "b"}
    assert done.result == done.payload["order"]


def test_an_async_task_knows_its_job(client: Client, worker: Worker) -> None:
    worker.add(send_letter)
    to = uuid4()
    done = run(client, worker, send_letter.enqueue(client, to))
    assert done.result == {"to": str(to), "copies": 1, "attempt": 1}
    assert done.payload == {"to": str(to)}  # a default is the function's when it runs


def test_a_task_in_a_process(client: Client, worker: Worker) -> None:
    worker.add(divide)
    good = divide.enqueue(client, 7, 2)
    bad = divide.enqueue(client, 7, divisor=0)
    wrong = client.enqueue_job("mail", {"dividend": "7"}, job_type="divide", max_attempts=1)
    with running(worker):
        wait_for_state(client, good, "completed")
        wait_for_state(client, bad, "failed")
        wait_for_state(client, wrong, "failed")
    result = client.get_job(good).result
    assert (result["result"], result["job"]) == (3, good)
    assert client.get_job(bad).attempt == 1  # by its rules
    assert "lacks the argument 'divisor'" in (client.get_job(wrong).error_message or "")


def test_the_caller_s_transaction(dsn: str, client: Client) -> None:
    with psycopg.connect(dsn) as conn:
        kept = send_letter.enqueue(conn, uuid4())
        assert client.queue_stats("mail")[0].total == 0
    with psycopg.connect(dsn) as conn:
        send_letter.enqueue(conn, uuid4())
        conn.rollback()
    assert client.queue_stats("mail")[0].total == 1
    assert client.get_job(kept).job_type == "letter"


def test_the_caller_s_transaction_without_blocking(dsn: str, client: Client) -> None:
    async def enqueue() -> list[int]:
        async with await psycopg.AsyncConnection.connect(dsn) as conn:
            first = await send_letter.enqueue(conn, uuid4())
            assert client.queue_stats("mail")[0].total == 0
        async with AsyncClient(dsn) as other:
            return [first, await send_letter.enqueue(other, uuid4())]

    ids = asyncio.run(enqueue())
    assert [client.get_job(job_id).job_type for job_id in ids] == ["letter", "letter"]


def test_what_is_no_connection_is_refused_with_advice() -> None:
    with pytest.raises(TypeError, match=r"pass it first, as in send\.enqueue\(connection"):
        send_letter.enqueue(uuid4(), uuid4())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="to a client, connection or session, not to 17: pass it"):
        send_letter.enqueue(17)  # type: ignore[call-overload]


def test_options(client: Client) -> None:
    @task("mail", "x", priority=7, tags=["a"], max_attempts=2)
    def sent(n: int) -> None: ...

    later = sent.using(delay=timedelta(hours=1), tags=["b"], dedup_id="1")
    jobs = [client.get_job(t.enqueue(client, 1)) for t in (sent, later)]
    assert [(j.priority, j.tags, j.max_attempts) for j in jobs] == [(7, ["a"], 2), (7, ["b"], 2)]
    assert (jobs[0].run_at, jobs[1].dedup_id) == (None, "1")
    assert jobs[1].run_at is not None
    assert "delay" not in sent.options


def test_many_at_once(client: Client, worker: Worker) -> None:
    outcomes = client.enqueue_jobs("mail", [send_letter.job(uuid4(), n) for n in range(3)])
    ids = [outcome.job_id for outcome in outcomes]
    worker.add(send_letter)
    assert ids[-1] is not None
    run(client, worker, ids[-1])
    assert [client.get_job(i).payload["copies"] for i in ids if i is not None] == [0, 1, 2]


def test_keys(client: Client) -> None:
    @task("orders", key=lambda n, **rest: f"{n} {rest['m']}")
    def all_of_them(n: int, m: int = 5) -> None: ...

    @task("orders", key=lambda uuid: uuid)
    def by_id(uuid: UUID) -> None: ...

    @task("mail", key=lambda n: None)
    def none(n: int) -> None: ...

    @task("mail", key=lambda n: 1.5)  # type: ignore[arg-type,return-value]
    def odd(n: int) -> None: ...

    uuid = uuid4()
    assert all_of_them.job(1)["singleton_key"] == "1 5"
    assert all_of_them.using(singleton_key="mine").job(1)["singleton_key"] == "mine"
    assert by_id.job(uuid)["singleton_key"] == str(uuid)
    assert "singleton_key" not in none.job(1)
    with pytest.raises(BadArguments, match=r"the key of odd is 1\.5: make it a text"):
        odd.job(1)
    with pytest.raises(TypeError, match=r"made of \['m'\]"):
        task("mail", key=lambda m: m)(lambda n: None)


def test_an_earlier_name_is_taken_too(client: Client, worker: Worker) -> None:
    worker.add(place_order)
    payload = place_order.job(1, ORDER).get("payload")
    old = client.enqueue_job("orders", payload, job_type="place", singleton_key="a")
    assert run(client, worker, old).job_type == "place"


BAD = {
    "no object": ([1], "takes an object of arguments, not [1]"),
    "nothing": ({}, "lacks the argument 'to'"),
    "unknown": ({"to": str(UUID(int=1)), "cc": 1}, "takes no argument 'cc': it knows to, copies"),
    "type": ({"to": str(UUID(int=1)), "copies": "2"}, "'copies' of letter: Expected `int`, got"),
    "value": ({"to": "me"}, "argument 'to' of letter: Invalid UUID"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_payload_that_does_not_fit_fails_that_job_alone(
    client: Client, worker: Worker, what: str
) -> None:
    payload, why = BAD[what]
    worker.add(send_letter)
    bad = client.enqueue_job("mail", payload, job_type="letter", max_attempts=2)
    good = send_letter.enqueue(client, uuid4())
    with running(worker):
        wait_for_state(client, bad, "failed")
        wait_for_state(client, good, "completed")
    info = client.get_job(bad)
    assert why in (info.error_message or "")
    assert ".py" not in (info.error_message or "")  # where it is found is of no interest
    assert info.attempt == info.max_attempts == 2  # another worker may know more


@pytest.mark.parametrize("value", [None, True, 0, -(10**30), 1.5, "", "é\\u0000", [1, {"a": []}]])
def test_json_values_are_taken_without_an_annotation(client: Client, value: Any) -> None:
    stored = client.get_job(anything.enqueue(client, value)).payload
    assert anything.arguments(stored) == {"value": value}


@pytest.mark.parametrize(
    "value",
    [(1, 2), {1: 2}, uuid4(), {"a": (1,)}, object(), float("nan"), "\0", "\ud800", lambda: 0, b""],
)
def test_what_would_not_come_back_is_refused_by_the_caller(client: Client, value: Any) -> None:
    for call in (lambda: anything.job(value), lambda: anything.job(1, {"in": value})):
        with pytest.raises(BadArguments, match=r"argument 'values?' of anything"):
            call()


@dataclass
class Box:
    content: Any


@dataclass(eq=False)
class Nameless:
    number: int


class Crate(pydantic.BaseModel):
    content: Any = None
    lock: pydantic.SecretStr = pydantic.SecretStr("")
    note: str = pydantic.Field("", exclude=True)
    _opened: int = pydantic.PrivateAttr(0)


@attrs.define
class Sack:
    content: Any


class Vector:
    """Compares as arrays do: each comparison makes another one, which is neither true nor false."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = numbers

    def __eq__(self, other: object) -> Any:
        return Vector()

    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


def opened() -> Crate:
    crate = Crate()
    crate._opened = 1
    return crate


CODEC = Codec()
CODEC.add(Vector, lambda vector: list(vector.numbers), lambda numbers: Vector(*numbers))
TWICE = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))  # the clock says it twice


def taking(kind: Any) -> Task[[Any], None]:
    def take(value): ...

    take.__annotations__["value"] = kind
    return task("mail", codec=CODEC)(take)


@pytest.mark.parametrize("kind", [Box, Crate, Sack])
@pytest.mark.parametrize("content", [(1, 2), {1: 2}, date(2030, 1, 1), [{"a": (1,)}]], ids=repr)
def test_what_would_not_come_back_within_an_object_is_refused_too(kind: Any, content: Any) -> None:
    value = kind(content=content)
    good = kind(content=[1, {"a": None}])
    for hint, bad, fine in [
        (kind, value, good),
        (list[kind], [good, value], [good]),
        (dict[str, kind], {"a": value}, {"a": good}),
    ]:
        with pytest.raises(BadArguments, match="would come back as"):
            taking(hint).job(bad)
        taking(hint).job(fine)


@pytest.mark.parametrize("value", [Crate(lock=pydantic.SecretStr("x")), Crate(note="x")], ids=repr)
def test_what_a_model_keeps_for_itself_is_refused(value: Crate) -> None:
    with pytest.raises(BadArguments, match="would come back as"):
        taking(Crate).job(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (datetime, TWICE),
        (Nameless, Nameless(1)),
        (Crate, opened()),
        (Decimal, Decimal("NaN")),
        (Vector, Vector(1, 2)),
    ],
    ids=["datetime", "no name", "model", "not a number", "no truth"],
)
def test_what_equals_no_other_one_is_taken_wherever_it_is(kind: Any, value: Any) -> None:
    for hint, held in [
        (kind, value),
        (list[kind], [value]),
        (tuple[kind, int], (value, 1)),
        (dict[str, kind], {"a": value}),
    ]:
        one = taking(hint)
        stored = one.arguments(one.job(held).get("payload"))["value"]
        assert type(stored) is type(held)


def test_what_mypy_refuses_is_refused_at_run_time_too(client: Client) -> None:
    with pytest.raises(BadArguments, match="argument 'copies' of letter: Expected `int`"):
        send_letter.enqueue(client, uuid4(), "2")  # type: ignore[call-overload]
    with pytest.raises(BadArguments, match="argument 'to' of letter"):
        send_letter.enqueue(client, "me")  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="unexpected keyword argument 'cc'"):
        send_letter.enqueue(client, uuid4(), cc=1)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="missing a required argument: 'to'"):
        send_letter.enqueue(client)  # type: ignore[call-overload]
    assert client.queue_stats("mail")[0].total == 0


class Names(TypedDict):
    name: str
    day: date


class Point(NamedTuple):
    x: int
    y: float


class Weekday(enum.IntEnum):
    MONDAY = 1


class Renamed(pydantic.BaseModel):
    kind: str = pydantic.Field(alias="class")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Names, {"name": "a", "day": date(2026, 1, 1)}),
        (Point, Point(1, 2.5)),
        (Weekday, Weekday.MONDAY),
        (Renamed, Renamed(**{"class": "a"})),
        (Renamed | None, None),
        (dict[UUID, Decimal], {UUID(int=1): Decimal("1.0")}),
        (dict[int, str], {1: "a"}),
        (set[int], {1, 2}),
        (tuple[int, str], (1, "a")),
        (bytes, b"\0\xff"),
        (datetime, datetime(2026, 1, 1)),
        (float, 3),
        (object, {"a": [1, None]}),
        (object | None, [1]),
        (dict[str, object], {"a": 1}),
        (int | str | None, "a"),
        (list[Renamed], []),
        (Decimal, Decimal("1E+3")),
    ],
)
def test_types(client: Client, hint: Any, value: Any) -> None:
    def function(value: Any) -> None: ...

    function.__annotations__["value"] = hint
    taken = task("mail")(function)
    taken.check()
    stored = client.get_job(taken.enqueue(client, value)).payload
    assert taken.arguments(stored) == {"value": value}


@dataclass(frozen=True)
class Money:
    cents: int


class Currency:
    def __init__(self, code: str) -> None:
        self.code = code

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Currency) and other.code == self.code

    @classmethod
    def parse(cls, code: str) -> Currency:
        if len(code) != 3:
            raise ValueError(f"{code!r} is no currency")
        return cls(code)


def test_a_type_of_ones_own(client: Client, worker: Worker) -> None:
    codec = Codec()
    codec.add(Currency, lambda currency: currency.code, Currency.parse)
    with pytest.raises(ValueError, match="Currency is known already"):
        codec.add(Currency, str, Currency)
    with pytest.raises(ValueError, match="Money is known already"):
        codec.add(Money, str, lambda text: Money(1))

    @task("mail", codec=codec)
    def pay(currency: Currency, others: list[Currency] | None = None) -> Currency:
        return currency

    @task("mail")
    def without(currency: Currency) -> None: ...

    worker.add(pay)
    good = pay.enqueue(client, Currency("EUR"), [Currency("USD")])
    bad = client.enqueue_job("mail", {"currency": "Euro"}, job_type="pay", max_attempts=1)
    with running(worker):
        wait_for_state(client, good, "completed")
        wait_for_state(client, bad, "failed")
    assert client.get_job(good).result == "EUR"
    assert "'Euro' is no currency" in (client.get_job(bad).error_message or "")
    with pytest.raises(BadArguments, match="Currency cannot be encoded: add it to the codec"):
        without.job(Currency("EUR"))


def test_a_task_is_its_function() -> None:
    assert anything.__name__ == "anything"
    assert asyncio.iscoroutinefunction(send_letter.function)
    assert task("q")(lambda n: n + 1)(1) == 2
    assert pickle.loads(pickle.dumps(divide)) is divide  # noqa: S301
    assert repr(send_letter) == "<task letter of queue mail>"


def test_no_job_outside_of_a_worker() -> None:
    with pytest.raises(LookupError, match="only handlers of a worker have one"):
        current_job()


def test_a_worker_refuses_what_it_cannot_run(worker: Worker) -> None:
    @task("mail")
    def unresolved(value: Unimported) -> None: ...

    @task("mail")
    def ambiguous(value: date | datetime) -> None: ...

    @task("mail", process=True)
    def local(value: int) -> None: ...

    @task("mail", "letter")
    def same_name(value: int) -> None: ...

    def yielding() -> Iterator[int]:
        yield 1

    for wrong, why in (
        (unresolved, "'Unimported' is not defined. Import it at run time"),
        (ambiguous, "argument 'value' of ambiguous: Type unions"),
        (local, "is local: another process cannot import it"),
        (task("mail")(yielding), "yields, so a call of it would do nothing"),
        (task("mail", process=True)(work), "is not what its module has as work: another"),
    ):
        with pytest.raises(TypeError, match=why):
            worker.add(wrong)
    worker.add(send_letter, send_letter, app_tasks, send_letter.using(priority=1))
    with pytest.raises(ValueError, match="queue mail has a handler for job type 'letter' already"):
        worker.add(same_name)
    with pytest.raises(ValueError, match="module empty has no task"):
        worker.add(types.ModuleType("empty"))


def test_arguments_may_have_any_name(client: Client, worker: Worker) -> None:
    @task("mail", key=lambda self, **others: f"{self} {len(others)}")
    def named(self: int, to: int, args: int, kwargs: int, delay: int, payload: int) -> list[int]:
        return [self, to, args, kwargs, delay, payload]

    given = {"self": 1, "to": 2, "args": 3, "kwargs": 4, "delay": 5, "payload": 6}
    worker.add(named)
    done = run(client, worker, named.enqueue(client, **given))
    assert (done.result, done.singleton_key) == ([1, 2, 3, 4, 5, 6], "1 5")
    assert named(**given) == [1, 2, 3, 4, 5, 6]


def test_a_module_that_a_process_cannot_import_says_why(
    client: Client, worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "of_a_framework.py").write_text("""
import multiprocessing

from pgbaton import task

if multiprocessing.parent_process() is not None:
    raise SystemExit("call setup() first")


@task("mail", process=True, max_attempts=1)
def work() -> None: ...
""")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("of_a_framework")
    worker.add(module)
    job_id = module.work.enqueue(client)
    with running(worker):
        wait_for_state(client, job_id, "failed")
    said = client.get_job(job_id).error_message or ""
    assert said.startswith("SystemExit: call setup() first (")


@pytest.mark.parametrize("function", [lambda *a: 0, lambda **a: 0, lambda a, /: 0])
def test_an_argument_without_a_name_is_refused(function: Any) -> None:
    with pytest.raises(TypeError, match="has no name that an argument could go by"):
        task("mail")(function)


@dataclass
class Sender:
    """Something that can be called, with a field of the name of an argument."""

    due: str = "tomorrow"

    def __call__(self, due: date) -> str:
        return f"{self.due} {due.year}"

    def plainly(self, due: date) -> str:
        return self(due)


class AsyncSender(Sender):
    async def __call__(self, due: date) -> str:  # type: ignore[override]
        return f"{self.due} {due.year}"


def send_with(sender: Sender, due: date) -> str:
    return sender(due)


@pytest.mark.parametrize(
    "function",
    [
        Sender(),
        Sender().plainly,
        AsyncSender(),
        partial(send_with, Sender()),
        partial(AsyncSender()),
        partial(partial(send_with), Sender()),
    ],
)
def test_whatever_can_be_called_can_be_a_task(
    client: Client, worker: Worker, function: Any
) -> None:
    send = task("mail", "send")(function)
    with pytest.raises(BadArguments, match="date"):
        send.enqueue(client, due="2030-01-01x")
    job_id = send.enqueue(client, due=date(2030, 1, 1))
    worker.add(send, send)
    assert run(client, worker, job_id).result == "tomorrow 2030"


def test_a_task_is_no_function_for_another_task() -> None:
    with pytest.raises(TypeError, match="<task letter of queue mail> is a task already"):
        task("orders")(send_letter)


def test_attributes_of_a_function_are_not_those_of_its_task() -> None:
    def sent() -> None: ...

    sent.queue = "mine"  # type: ignore[attr-defined]
    assert task("mail")(sent).queue == "mail"


def test_rules_of_a_process_must_travel(worker: Worker) -> None:
    rules: Any = {ValueError: lambda error: None}
    with pytest.raises(TypeError, match="rules of a process must be functions of a module"):
        worker.handler("mail", process=True, rules=rules)


def test_importing_tasks_starts_nothing() -> None:
    """No thread, no connection, and none of the libraries that only running needs."""
    program = (
        "import sys, threading, app_tasks, pgbaton;"
        "assert threading.active_count() == 1;"
        "assert 'multiprocessing' not in sys.modules;"
        "print(type(app_tasks.send_letter).__name__)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=app_tasks.__file__.rpartition("/")[0],
    )
    assert said.stdout == f"{Task.__name__}\n"
