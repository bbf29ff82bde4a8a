"""The client: its three ways to a connection, and values on their way there and back."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any, LiteralString
from zoneinfo import ZoneInfo

import psycopg
import pytest
from invariants import empty
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Loader
from psycopg.conninfo import make_conninfo
from psycopg.pq import Format, TransactionStatus
from psycopg.rows import dict_row
from psycopg.types.string import StrDumper
from psycopg_pool import ConnectionPool

from pgbaton import Client, EnqueueOutcome, IncompatibleServer, NotPermitted, UnknownQueue
from pgbaton import install as installer

Connection = psycopg.Connection[Any]


@pytest.fixture(scope="module")
def shared_dsn(server_dsn: str, template: str) -> Iterator[str]:
    """One database for all tests that do not change its functions."""
    name = f"{template}_client"
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        yield make_conninfo(server_dsn, dbname=name)
        admin.execute(f"drop database {name} with (force)".encode())


@pytest.fixture
def dsn(shared_dsn: str) -> str:
    with psycopg.connect(shared_dsn) as conn:
        empty(conn)
    # Sessions of an earlier test may still be on their way out.
    return make_conninfo(shared_dsn, application_name=uuid.uuid4().hex)


@pytest.fixture
def own_dsn(make_database: Callable[[str], str], template: str) -> str:
    return make_database(template)


@pytest.fixture
def client(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_queue("mail")
        client.create_fifo_queue("orders")
        yield client


def jobs_seen_by(other: Connection) -> int:
    return Client(connection=other).get_job_stats().total_jobs


# Ways to a connection


def test_a_client_takes_exactly_one_way(dsn: str, conn: Connection) -> None:
    with pytest.raises(TypeError, match="exactly one of dsn, connection and pool"):
        Client()
    with pytest.raises(TypeError, match="exactly one of dsn, connection and pool"):
        Client(dsn, connection=conn)


def test_with_a_dsn_each_call_is_a_transaction_on_one_connection(
    client: Client, conn: Connection
) -> None:
    client.enqueue_job("mail")
    assert jobs_seen_by(conn) == 1
    client.enqueue_job("mail")
    assert len(others(conn)) == 1


def others(conn: Connection) -> list[int]:
    """Process ids of the other sessions with the same DSN as `conn`."""
    query = (
        "select pid from pg_stat_activity where pid <> pg_backend_pid()"
        " and application_name = current_setting('application_name')"
    )
    return [pid for (pid,) in conn.execute(query)]


def test_a_lost_connection_is_an_error_once_and_nothing_is_sent_twice(
    client: Client, conn: Connection
) -> None:
    client.enqueue_job("mail")
    [pid] = others(conn)
    assert conn.execute("select pg_terminate_backend(%s, 10000)", [pid]).fetchone() == (True,)
    with pytest.raises(psycopg.OperationalError):
        client.enqueue_job("mail")
    client.enqueue_job("mail")
    assert jobs_seen_by(conn) == 2


def test_an_error_leaves_the_client_usable(client: Client) -> None:
    with pytest.raises(UnknownQueue):
        client.enqueue_job("nope")
    assert client.enqueue_job("mail") > 0


def test_the_first_call_connects_and_the_end_closes(dsn: str, conn: Connection) -> None:
    with Client(dsn) as client:
        assert len(others(conn)) == 0
        client.version()
        assert len(others(conn)) == 1
    with pytest.raises(psycopg.InterfaceError, match="the client is closed"):
        client.version()
    Client(dsn).close()


def test_its_sessions_are_named_pgbaton_unless_the_dsn_names_them(own_dsn: str) -> None:
    with Client(own_dsn) as client, psycopg.connect(own_dsn) as conn:
        client.version()
        query = "select application_name from pg_stat_activity where pid <> pg_backend_pid()"
        assert ("pgbaton",) in conn.execute(query + " and datname = current_database()").fetchall()


def test_a_borrowed_connection_stays_in_the_callers_transaction(
    client: Client, dsn: str, conn: Connection
) -> None:
    with psycopg.connect(dsn) as own:
        with Client(connection=own) as borrower:
            borrower.enqueue_job("mail")
        assert own.info.transaction_status == TransactionStatus.INTRANS
        assert jobs_seen_by(conn) == 0
        own.rollback()
        assert jobs_seen_by(conn) == 0

        borrower = Client(connection=own)
        own.execute("create table orders (id bigint)")
        borrower.enqueue_job("mail")
        own.commit()
        assert jobs_seen_by(conn) == 1


def test_an_error_is_the_callers_to_roll_back(client: Client, dsn: str) -> None:
    with psycopg.connect(dsn) as own:
        borrower = Client(connection=own)
        borrower.enqueue_job("mail")
        with pytest.raises(UnknownQueue), own.transaction():
            borrower.enqueue_job("nope")
        borrower.enqueue_job("mail")
    assert client.get_job_stats().total_jobs == 2


def test_what_is_refused_before_it_is_sent_leaves_the_callers_transaction_alone(dsn: str) -> None:
    with psycopg.connect(dsn) as own:
        with pytest.raises(ValueError, match="not a JSON value"):
            Client(connection=own).enqueue_job("mail", float("nan"))
        assert own.info.transaction_status == TransactionStatus.IDLE


def test_the_settings_of_a_borrowed_connection_do_not_matter(client: Client, dsn: str) -> None:
    with psycopg.connect(
        dsn,
        autocommit=True,
        row_factory=dict_row,
        cursor_factory=psycopg.RawCursor,
        options="-c datestyle=German -c intervalstyle=sql_standard -c timezone=America/New_York",
    ) as own:
        borrower = Client(connection=own)
        borrower.create_queue(
            "exotic",
            lease=timedelta(days=3, microseconds=1),
            backoff_schedule=[timedelta(hours=36)],
        )
        [info] = [info for info in borrower.list_queues() if info.queue == "exotic"]
        assert info.lease == timedelta(days=3, microseconds=1)
        assert info.backoff_schedule == [timedelta(hours=36)]
        at = datetime(2026, 11, 1, 1, 30, fold=1, tzinfo=ZoneInfo("America/New_York"))
        assert borrower.get_job(borrower.enqueue_job("exotic", run_at=at)).run_at == at


class Shouted(Loader):
    """Reads anything as a text."""

    format = Format.BINARY

    def load(self, data: Buffer) -> str:
        return "anything"


def test_what_a_program_registers_with_psycopg_is_for_its_own_statements(
    client: Client, dsn: str
) -> None:
    """For a connection, or for all of them: then workers have it, too."""
    registered = AdaptersMap(psycopg.adapters)
    registered.register_dumper(str, StrDumper)
    for kind in ("int8", "interval", "jsonb", "timestamptz"):
        registered.register_loader(kind, Shouted)
    own = psycopg.connect(dsn, autocommit=True, context=registered)
    borrower = Client(connection=own)
    borrower.update_queue("mail", lease=timedelta(seconds=90))
    assert borrower.list_queues()[0].lease == timedelta(seconds=90)
    job_id = borrower.enqueue_job("mail", {"to": "ada"}, priority=3, tags=["a"])
    [job] = borrower.claim_job_batch("w", ["mail"])
    assert (job.id, job.payload, job.tags) == (job_id, {"to": "ada"}, ["a"])
    assert job.claimed_at.tzinfo is not None
    assert borrower.complete_jobs([job.id], job.lease_token, [[1]])[0].verdict == "ok"
    assert own.execute("select 1::int8", binary=True).fetchone() == ("anything",)
    own.close()


def test_a_borrowed_connection_may_be_in_pipeline_mode(client: Client, conn: Connection) -> None:
    borrower = Client(connection=conn)
    with conn.pipeline():
        ids = [borrower.enqueue_job("mail", n) for n in range(3)]
        assert [borrower.get_job(job_id).payload for job_id in ids] == [0, 1, 2]
        assert "mail" in {info.queue for info in borrower.list_queues()}
        claimed = borrower.claim_job_batch("w", ["mail"])
        assert borrower.complete_jobs(ids, claimed[0].lease_token)[0].verdict == "ok"
    assert [client.get_job(job_id).state for job_id in ids] == ["completed"] * 3


def test_a_pool_lends_a_connection_to_each_call(client: Client, dsn: str) -> None:
    with ConnectionPool(dsn, min_size=2, max_size=2) as pool, Client(pool=pool) as pooled:
        with ThreadPoolExecutor(4) as threads:
            ids = list(threads.map(lambda n: pooled.enqueue_job("mail", n), range(40)))
        with pytest.raises(UnknownQueue):
            pooled.enqueue_job("nope")
        pooled.close()
        with pool.connection() as still_open:
            assert jobs_seen_by(still_open) == 40
    assert sorted(client.get_job(job_id).payload for job_id in ids) == list(range(40))


def test_anything_that_lends_connections_is_a_pool(client: Client, dsn: str) -> None:
    class OneEach:
        @contextmanager
        def connection(self) -> Iterator[Connection]:
            with psycopg.connect(dsn) as conn:
                yield conn

    assert Client(pool=OneEach()).enqueue_job("mail") > 0
    assert client.get_job_stats().total_jobs == 1


def test_threads_may_share_a_client(client: Client, conn: Connection) -> None:
    with ThreadPoolExecutor(4) as threads:
        ids = list(threads.map(lambda n: client.enqueue_job("mail", n), range(40)))
    assert [client.get_job(job_id).payload for job_id in ids] == list(range(40))
    assert len(others(conn)) == 1


def test_a_role_reaches_its_own_calls_and_no_others(client: Client, dsn: str) -> None:
    as_producer = make_conninfo(dsn, options="-c role=pgbaton_producer")
    with Client(as_producer) as producer:
        assert producer.enqueue_job("mail") > 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            producer.claim_job_batch("worker")


def test_a_grant_narrows_a_role_to_its_queues(client: Client, dsn: str) -> None:
    client.grant_queue("pgbaton_producer", "orders", "enqueue")
    as_producer = make_conninfo(dsn, options="-c role=pgbaton_producer")
    with Client(as_producer) as producer:
        assert producer.enqueue_job("orders", singleton_key="k") > 0
        with pytest.raises(NotPermitted) as caught:
            producer.enqueue_job("mail")
        assert "grant_queue('pgbaton_producer', 'mail', 'enqueue')" in (caught.value.hint or "")
    assert client.enqueue_job("mail") > 0


# Waking up


def test_a_sleeping_worker_is_notified_of_jobs_it_asked_for(
    client: Client, conn: Connection
) -> None:
    channel = client.wait_for_jobs("worker", job_types=["letter"]).channel
    conn.execute(f"listen {channel}".encode())
    assert client.wait_for_jobs("worker", job_types=["letter"]).wait == timedelta(seconds=30)
    client.enqueue_job("mail", job_type="bill")
    client.enqueue_batch("mail", range(3), job_type="letter")
    assert [n.channel for n in conn.notifies(timeout=60, stop_after=1)] == [channel]
    assert list(conn.notifies(timeout=0)) == []
    assert client.wait_for_jobs("worker", job_types=["letter"]).wait == timedelta(0)


@pytest.mark.parametrize("what", ["key", "queue"])
def test_a_sleeping_worker_is_notified_of_what_is_resumed(
    client: Client, conn: Connection, what: str
) -> None:
    client.enqueue_job("orders", singleton_key="a")
    paused = ["orders", "a"] if what == "key" else ["orders"]
    getattr(client, f"pause_{what}")(*paused)
    channel = client.wait_for_jobs("worker").channel
    conn.execute(f"listen {channel}".encode())
    getattr(client, f"resume_{what}")(*paused)
    assert client.wait_for_jobs("worker").wait == timedelta(0)
    assert [n.channel for n in conn.notifies(timeout=60, stop_after=1)] == [channel]


# Versions


def test_another_series_is_refused_in_one_sentence(own_dsn: str) -> None:
    execute(
        own_dsn,
        "create or replace function pgbaton.version() returns text language sql"
        " as $$ select '0.99.7' $$",
    )
    with Client(own_dsn) as client:
        for _ in range(2):
            with pytest.raises(IncompatibleServer, match=r"has pgbaton 0\.99\.7, which this .*"):
                client.list_queues()


def series(difference: int) -> str:
    """The minor version of this package, or one before or after it."""
    major, minor, *_ = installer.version().split(".")
    return f"{major}.{int(minor) + difference}"


@pytest.mark.parametrize("theirs", [f"{series(0)}.99", f"{series(1)}.0", f"{series(1)}.0.dev0"])
def test_a_later_patch_or_the_next_series_is_fine(own_dsn: str, theirs: str) -> None:
    execute(
        own_dsn,
        "create or replace function pgbaton.version() returns text language sql"
        f" as $$ select '{theirs}' $$",
    )
    with Client(own_dsn) as client:
        assert client.list_queues() == []


@pytest.mark.parametrize("difference", [-1, 2])
def test_the_series_before_and_the_one_after_the_next_are_refused(
    own_dsn: str, difference: int
) -> None:
    execute(
        own_dsn,
        "create or replace function pgbaton.version() returns text language sql"
        f" as $$ select '{series(difference)}.0' $$",
    )
    with Client(own_dsn) as client, pytest.raises(IncompatibleServer):
        client.list_queues()


def test_a_database_without_pgbaton_is_named_as_such(empty_dsn: str) -> None:
    with Client(empty_dsn) as client, pytest.raises(IncompatibleServer, match="pgbaton install"):
        client.list_queues()


def test_the_version_is_asked_once(own_dsn: str) -> None:
    with Client(own_dsn) as client:
        client.create_queue("mail")
        execute(own_dsn, "drop function pgbaton.version()")
        assert len(client.list_queues()) == 1


def execute(dsn: str, statement: LiteralString) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute(statement)


# Values

VALUES = [
    None,
    True,
    0,
    -1.5e-3,
    10**30,
    "",
    'a "quoted", {braced} \\ text \\u0000 of \\\\u0000 backslashes',
    "ünïcode 漢字 🎉 \u2028 \x7f",
    [],
    {},
    [[None], {"NULL": "NULL"}],
    {"": {"nested": [1, "2", False]}},
]


def test_payloads_come_back_as_they_went(client: Client) -> None:
    single = [client.enqueue_job("mail", value) for value in VALUES]
    batch = client.enqueue_batch("mail", VALUES)
    listed = client.enqueue_jobs("mail", [{"payload": value} for value in VALUES])
    for ids in (single, batch, [outcome.job_id for outcome in listed]):
        assert [client.get_job(job_id).payload for job_id in ids] == VALUES


def test_results_come_back_as_they_went(client: Client) -> None:
    ids = client.enqueue_batch("mail", VALUES)
    client.claim_job_batch("worker", batch_size=len(VALUES))
    client.complete_jobs(ids, results=VALUES)
    assert [client.get_job(job_id).result for job_id in ids] == VALUES


def test_texts_come_back_as_they_went(client: Client) -> None:
    keys = ['"', "\\", "{a,b}", "NULL", " x ", "é", "%s %(a)s %%", "$1", "'", "null"]
    ids = client.enqueue_batch("orders", range(len(keys)), singleton_keys=keys, tags=keys)
    assert [client.get_job(job_id).singleton_key for job_id in ids] == keys
    assert client.get_job(ids[0]).tags == sorted(keys)
    assert client.get_job_stats(keys).total_jobs == len(keys)


def test_strangely_quoted_queue_names_are_names(client: Client) -> None:
    names = ['a"b', "a'b; drop table x; --", "\\", "A b", "select", "漢" * 21]
    for name in names:
        client.create_queue(name)
        assert client.get_job(client.enqueue_job(name)).queue == name
    assert {info.queue for info in client.list_queues()} == {*names, "mail", "orders"}


def test_left_out_and_null_are_told_apart_where_it_matters(client: Client) -> None:
    client.create_queue("unlimited", max_attempts=None)
    attempts = {info.queue: info.max_attempts for info in client.list_queues()}
    assert attempts == {"mail": 20, "orders": 20, "unlimited": None}
    assert client.get_job(client.enqueue_job("mail")).payload == {}
    assert client.get_job(client.enqueue_job("mail", None)).payload is None
    assert client.get_job(client.enqueue_job("mail", priority=None)).priority == 100


@pytest.mark.parametrize(
    "duration",
    [
        timedelta(0),
        timedelta(microseconds=1),
        timedelta(days=1, hours=2, microseconds=999_999),
        timedelta(days=36_000),
    ],
)
def test_durations_come_back_as_they_went(client: Client, duration: timedelta) -> None:
    client.create_queue("durations", retention=duration, backoff_schedule=[duration])
    [info] = [info for info in client.list_queues() if info.queue == "durations"]
    assert (info.retention, info.backoff_schedule) == (duration, [duration])


def test_interval_text_may_stand_for_a_duration(client: Client) -> None:
    client.create_queue("text", lease="90 minutes", retention="1 month")
    [info] = [info for info in client.list_queues() if info.queue == "text"]
    assert (info.lease, info.retention) == (timedelta(minutes=90), timedelta(days=30))


def test_a_day_has_24_hours_when_the_clocks_change(own_dsn: str) -> None:
    """As an interval of a day it would come due 23 or 25 hours later twice a year."""
    with psycopg.connect(own_dsn, options="-c timezone=America/New_York") as own:
        own.execute(
            "create or replace function pgbaton._now() returns timestamptz language sql"
            " as $$ select timestamptz '2026-10-31 12:00-04' $$"
        )
        borrower = Client(connection=own)
        borrower.create_queue("mail")
        ids = [borrower.enqueue_job("mail", delay=timedelta(days=1))]
        ids += [o.job_id for o in borrower.enqueue_jobs("mail", [{"delay": timedelta(days=1)}])]
        due = datetime(2026, 11, 1, 16, tzinfo=UTC)
        assert [borrower.get_job(job_id).run_at for job_id in ids] == [due, due]


def test_jobs_of_a_list_take_python_values(client: Client) -> None:
    at = datetime(2126, 1, 1, tzinfo=timezone(timedelta(hours=-3)))
    [outcome] = client.enqueue_jobs(
        "orders",
        [
            {
                "payload": None,
                "priority": 150,
                "singleton_key": "k",
                "job_type": "t",
                "tags": {"a"},
                "run_at": at,
                "delay": None,
                "max_attempts": 5,
                "retry_delay": timedelta(seconds=1),
                "retry_backoff": False,
                "backoff_schedule": (timedelta(seconds=1), "2 hours"),
                "keys_if_undelivered": [("failed", "k")],
                "dedup_id": "d",
                "on_duplicate": "skip",
                "headers": MappingProxyType({"h": "ü"}),
            }
        ],
    )
    assert outcome == EnqueueOutcome(1, outcome.job_id, "enqueued")
    info = client.get_job(outcome.job_id)
    assert (info.payload, info.priority, info.tags, info.run_at) == (None, 150, ["a"], at)
    assert (info.singleton_key, info.max_attempts, info.dedup_id) == ("k", 5, "d")
    assert info.headers == {"h": "ü"}


def test_a_filter_takes_python_values(client: Client) -> None:
    client.create_queue("once", max_attempts=1)
    ids = client.enqueue_batch("once", [{"n": 1}, {"n": 2}], job_type="t", tags=["a", "b"])
    [job, _] = client.claim_job_batch("worker", ["once"])
    client.fail_jobs(ids, ["no", "not now"], job.lease_token)
    failed_at = client.get_dead_job(ids[1]).failed_at.astimezone(timezone(timedelta(hours=9)))
    second = timedelta(seconds=1)
    assert client.retry_jobs("once", {"failed_before": failed_at}) == 0
    assert client.retry_jobs("once", {"failed_after": failed_at}) == 0
    fits = client.retry_jobs(
        "once",
        {
            "job_type": "t",
            "tags": {"b"},
            "error": "now",
            "failed_after": failed_at - second,
            "failed_before": failed_at + second,
            "payload": {"n": 2},
            "extra_attempts": 2,
        },
    )
    assert fits == 1
    assert [client.get_job(job_id).state for job_id in ids] == ["failed", "retry"]


def test_what_a_policy_rejects_is_told_job_by_job(client: Client) -> None:
    client.create_queue("one each", "exclusive")
    outcomes = client.enqueue_jobs("one each", [{"singleton_key": k} for k in ("a", "a", "b")])
    assert [o.outcome.split(":")[0] for o in outcomes] == ["enqueued", "rejected", "enqueued"]
    assert outcomes[1].job_id is None


def test_a_batch_of_100_000_is_one_call(client: Client) -> None:
    ids = client.enqueue_batch("mail", ({"n": n} for n in range(100_000)))
    assert len(set(ids)) == 100_000
    claimed = 0
    while jobs := client.claim_job_batch("worker", batch_size=50_000):
        assert [job.id for job in jobs] == ids[claimed : claimed + len(jobs)]
        assert [job.payload["n"] for job in jobs[:3]] == [claimed, claimed + 1, claimed + 2]
        claimed += len(jobs)
        verdicts = client.complete_jobs([job.id for job in jobs], jobs[0].lease_token)
        assert {verdict.verdict for verdict in verdicts} == {"ok"}
    assert claimed == 100_000


def test_an_empty_batch_is_nothing(client: Client) -> None:
    assert client.enqueue_batch("mail", []) == []
    assert client.enqueue_jobs("mail", []) == []
    assert client.complete_jobs([]) == []
    assert client.get_job_stats().total_jobs == 0


# Imports


def test_importing_pgbaton_brings_in_nothing_but_psycopg() -> None:
    """Its command and the rest need more, but whoever enqueues a job does not."""
    program = (
        "import sys, psycopg; before = set(sys.modules); import pgbaton;"
        "print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert [m for m in loaded if m not in sys.stdlib_module_names] == ["pgbaton"]
