"""Clients that join connections of SQLAlchemy and asyncpg."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
from invariants import empty
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from pgbaton import (
    AsyncClient,
    Client,
    DuplicateJob,
    IncompatibleServer,
    KeyRequired,
    UnknownQueue,
    UnreadableJson,
    _foreign,
    task,
)

LATER = datetime(2031, 2, 3, 4, 5, 6, 789000, tzinfo=UTC)
AWKWARD = {"text": "a:b %s $1 {\"}' \\ ü €", "list": [1, None, 2.5, True, {"x": []}], "big": 10**30}


def url(dsn: str, driver: str = "") -> str:
    part = conninfo_to_dict(dsn)
    return (
        f"postgresql{driver}://{part['user']}:{part['password']}@{part['host']}:{part['port']}"
        f"/{part['dbname']}"
    )


@pytest.fixture
def dsn(reused_dsn: str) -> str:
    """A database without jobs and queues."""
    with psycopg.connect(reused_dsn, autocommit=True) as connection:
        empty(connection)
    return reused_dsn


@pytest.fixture
def admin(dsn: str) -> Iterator[Client]:
    with Client(dsn) as client:
        client.create_queue("q")
        client.create_fifo_queue("fifo")
        yield client


Work = Callable[[AsyncClient], Awaitable[None]]


async def over_asyncpg(dsn: str, work: Work, ending: str) -> None:
    connection = await asyncpg.connect(url(dsn))
    try:
        transaction = connection.transaction()
        await transaction.start()
        await work(AsyncClient(connection=connection))
        await (transaction.commit() if ending == "commit" else transaction.rollback())
    finally:
        await connection.close()


async def over_asyncpg_pool(dsn: str, work: Work, ending: str) -> None:
    """With codecs that make other things of JSON, as applications like to set."""

    async def prepare(connection: Any) -> None:
        for kind in ("json", "jsonb"):
            await connection.set_type_codec(
                kind, encoder=repr, decoder=lambda _: "decoded", schema="pg_catalog"
            )

    async with (
        asyncpg.create_pool(url(dsn), min_size=1, init=prepare) as pool,
        pool.acquire() as connection,
    ):
        transaction = connection.transaction()
        await transaction.start()
        await work(AsyncClient(connection=connection))
        await (transaction.commit() if ending == "commit" else transaction.rollback())


def over_async_session(driver: str) -> Callable[[str, Work, str], Awaitable[None]]:
    async def over(dsn: str, work: Work, ending: str) -> None:
        engine = create_async_engine(url(dsn, driver), poolclass=NullPool)
        async with AsyncSession(engine) as session:
            await work(AsyncClient(connection=session))
            await (session.commit() if ending == "commit" else session.rollback())

    return over


async def over_async_connection(dsn: str, work: Work, ending: str) -> None:
    engine = create_async_engine(url(dsn, "+asyncpg"), poolclass=NullPool)
    async with engine.connect() as connection:
        await work(AsyncClient(connection=connection))
        await (connection.commit() if ending == "commit" else connection.rollback())


def over_sync(
    lend: Callable[[Any], Any], driver: str = "+psycopg"
) -> Callable[[str, Work, str], Awaitable[None]]:
    async def over(dsn: str, work: Work, ending: str) -> None:
        engine = create_engine(url(dsn, driver), poolclass=NullPool)
        lent = lend(engine)
        await work(Awaited(Client(connection=lent)))
        (lent.commit if ending == "commit" else lent.rollback)()
        lent.close()

    return over


class Awaited:
    """A client whose calls can be awaited, so that one test fits both kinds."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        async def call(*args: Any, **named: Any) -> Any:
            return getattr(self._client, name)(*args, **named)

        return call


WAYS = {
    "asyncpg": over_asyncpg,
    "asyncpg pool with codecs": over_asyncpg_pool,
    "AsyncSession of asyncpg": over_async_session("+asyncpg"),
    "AsyncSession of psycopg": over_async_session("+psycopg_async"),
    "AsyncConnection of asyncpg": over_async_connection,
    "Session": over_sync(Session),
    "Session of psycopg2": over_sync(Session, "+psycopg2"),
    "scoped_session": over_sync(lambda engine: scoped_session(sessionmaker(engine))),
    "Connection": over_sync(lambda engine: engine.connect()),
}
every_way = pytest.mark.parametrize("over", WAYS.values(), ids=WAYS)


@every_way
@pytest.mark.parametrize("ending", ["commit", "rollback"])
def test_a_job_is_there_exactly_if_the_transaction_commits(
    over: Any, ending: str, dsn: str, admin: Client
) -> None:
    async def work(client: AsyncClient) -> None:
        await client.enqueue_job("q", AWKWARD, tags=['a"b\\', "c,d"], headers={"h": "ü"})

    asyncio.run(over(dsn, work, ending))
    jobs = admin.claim_job_batch("w", ["q"])
    assert [job.payload for job in jobs] == ([AWKWARD] if ending == "commit" else [])
    if jobs:
        assert jobs[0].tags == ['a"b\\', "c,d"]
        assert jobs[0].headers == {"h": "ü"}


@every_way
def test_results_are_those_of_psycopg(over: Any, dsn: str, admin: Client) -> None:
    async def work(client: AsyncClient) -> None:
        one = await client.enqueue_job(
            "fifo",
            AWKWARD,
            priority=7,
            singleton_key="k",
            run_at=LATER,
            max_attempts=2,
            backoff_schedule=[timedelta(seconds=1.5), "1 month"],
            dedup_id="d",
            keys_if_undelivered=[["a", "b"]],
        )
        batch = await client.enqueue_batch("q", [None, 1, "x", [], AWKWARD])
        several = await client.enqueue_jobs("q", [{"payload": 5, "delay": timedelta(hours=1)}])
        assert [outcome.job_id for outcome in several] > batch
        claimed = await client.claim_job_batch("w", ["q"], batch_size=10)
        assert {job.id: job.payload for job in claimed} == dict(
            zip(batch, [None, 1, "x", [], AWKWARD], strict=True)
        )
        token = claimed[0].lease_token
        verdicts = await client.complete_jobs(batch[:3], token, [None, {"r": "é"}, 3])
        assert [verdict.verdict for verdict in verdicts] == ["ok"] * 3
        await client.fail_jobs([batch[3]], ["it's broken"], token)
        await client.report_progress(batch[4], token, 50, "half")
        seen.update(
            {id: await client.get_job(id) for id in [one, *batch]},
            queues=await client.list_queues(),
            stats=await client.queue_stats(),
            fifo=await client.fifo_stats(),
            waits=await client.two_phase_backoff(),
            nothing=await client.kv_get(["nothing"]),
            known=await client.job_id_of("fifo", "d"),
            unknown=await client.job_id_of("fifo", "other"),
            schedule=await client.create_schedule("s", "q", "0 0 * * *"),
            schedules=await client.list_schedules(),
            paused=await client.pause_schedule("s"),
            none=await client.pause_key("fifo", "k"),
            dropped=await client.drop_schedule("s"),
            version=await client.version(),
        )

    seen: dict[Any, Any] = {}
    asyncio.run(over(dsn, work, "commit"))
    for id in [key for key in seen if isinstance(key, int)]:
        assert seen[id] == admin.get_job(id)
    assert seen["queues"] == admin.list_queues()
    assert seen["waits"] == admin.two_phase_backoff()
    assert seen["version"] == admin.version()
    again = admin.create_schedule("s", "q", "0 0 * * *")
    assert seen["schedule"] == again
    assert seen["schedules"][0].next_run_at == again
    assert (seen["paused"], seen["none"], seen["nothing"], seen["unknown"]) == (None,) * 4
    assert seen["known"] in seen
    assert seen["dropped"] is True
    by_name = {stat.queue: stat for stat in admin.queue_stats()}
    assert [stat.total for stat in seen["stats"]] == [by_name[s.queue].total for s in seen["stats"]]


@every_way
def test_errors_are_those_of_psycopg(over: Any, dsn: str, admin: Client) -> None:
    refused: dict[str, BaseException] = {}

    async def fail(call: Callable[[AsyncClient], Awaitable[Any]]) -> BaseException:
        async def work(client: AsyncClient) -> None:
            with pytest.raises(Exception) as caught:  # noqa: PT011
                await call(client)
            refused["it"] = caught.value

        await over(dsn, work, "rollback")
        return refused["it"]

    async def all_of_them() -> None:
        error = await fail(lambda client: client.enqueue_job("none"))
        assert isinstance(error, UnknownQueue)
        assert "list_queues()" in (error.hint or "")
        assert 'queue "none" does not exist' in str(error)
        error = await fail(lambda client: client.enqueue_job("fifo"))
        assert isinstance(error, KeyRequired)
        error = await fail(lambda client: client.enqueue_job("q", max_attempts=-1))
        assert isinstance(error, psycopg.errors.InvalidParameterValue)
        assert error.diag.message_hint
        error = await fail(lambda client: client.enqueue_job("q", float("nan")))
        assert isinstance(error, ValueError)

        async def twice(client: AsyncClient) -> None:
            await client.enqueue_job("q", dedup_id="d")
            await client.enqueue_job("q", dedup_id="d")

        assert isinstance(await fail(twice), DuplicateJob)

    asyncio.run(all_of_them())


@every_way
def test_after_an_error_in_a_savepoint_the_transaction_goes_on(
    over: Any, dsn: str, admin: Client
) -> None:
    async def work(client: AsyncClient) -> None:
        lender = client._client._pool._lender if isinstance(client, Awaited) else None
        lender = lender or client._pool._lender  # type: ignore[union-attr]
        await client.enqueue_job("q", "before")
        if hasattr(lender, "begin_nested"):
            nested = lender.begin_nested()
            if isinstance(client, Awaited):
                with pytest.raises(UnknownQueue), nested:
                    await client.enqueue_job("none")
            else:
                with pytest.raises(UnknownQueue):
                    async with nested:
                        await client.enqueue_job("none")
        else:
            with pytest.raises(UnknownQueue):
                async with lender.transaction():
                    await client.enqueue_job("none")
        await client.enqueue_job("q", "after")

    asyncio.run(over(dsn, work, "commit"))
    assert {job.payload for job in admin.claim_job_batch("w", ["q"])} == {"before", "after"}


@every_way
def test_a_database_without_pgbaton_says_what_to_run(over: Any, empty_dsn: str) -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises(IncompatibleServer, match="run pgbaton install"):
            await client.enqueue_job("q")

    asyncio.run(over(empty_dsn, work, "rollback"))


def test_a_session_goes_on_in_its_next_transaction(dsn: str, admin: Client) -> None:
    with Session(create_engine(url(dsn, "+psycopg"), poolclass=NullPool)) as session:
        client = Client(connection=session)
        for payload in range(3):
            client.enqueue_job("q", payload)
            session.commit()
        client.enqueue_job("q", 3)
    assert {job.payload for job in admin.claim_job_batch("w", ["q"])} == {0, 1, 2}


def test_with_autocommit_a_call_is_a_transaction(dsn: str, admin: Client) -> None:
    engine = create_engine(url(dsn, "+psycopg"), poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with Session(engine) as session:
        Client(connection=session).enqueue_job("q", 1)
        session.rollback()
    assert [job.payload for job in admin.claim_job_batch("w", ["q"])] == [1]


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_whatever_the_isolation_level(isolation: str, dsn: str, admin: Client) -> None:
    engine = create_engine(url(dsn, "+psycopg"), poolclass=NullPool, isolation_level=isolation)
    with Session(engine) as session:
        Client(connection=session).enqueue_job("q", 1)
        session.commit()
    assert [job.payload for job in admin.claim_job_batch("w", ["q"])] == [1]


def test_tasks_that_share_a_client_of_asyncpg_take_turns(dsn: str, admin: Client) -> None:
    async def enqueue() -> None:
        connection = await asyncpg.connect(url(dsn))
        client = AsyncClient(connection=connection)
        await asyncio.gather(*(client.enqueue_job("q", number) for number in range(10)))
        await connection.close()

    asyncio.run(enqueue())
    assert admin.queue_stats("q")[0].total == 10


def test_versions_are_compared_once_a_connection(dsn: str, admin: Client, tmp_path: Path) -> None:
    def queries() -> int:
        return len(re.findall(r"^(?:F\t\d+\t|.*\tF\t\d+\t)(?:Query|Parse)", log.read_text(), re.M))

    log = tmp_path / "trace"
    with psycopg.connect(dsn, autocommit=True) as connection, log.open("w") as file:
        Client(connection=connection).enqueue_job("q")
        connection.pgconn.trace(file.fileno())
        for _ in range(3):  # as many requests
            Client(connection=connection).enqueue_job("q")
        connection.pgconn.untrace()
        assert queries() == 3


def test_versions_are_compared_once_a_connection_of_sqlalchemy(dsn: str, admin: Client) -> None:
    from sqlalchemy import event

    sent: list[str] = []
    engine = create_engine(url(dsn, "+psycopg"))
    event.listen(engine, "before_cursor_execute", lambda *given: sent.append(given[2]))
    for _ in range(3):
        with Session(engine) as session:
            Client(connection=session).enqueue_job("q")
            session.commit()
    engine.dispose()
    assert [re.findall(r"pgbaton\.(\w+)", statement)[0] for statement in sent] == [
        "version",
        *["enqueue_job"] * 3,
    ]


def test_what_cannot_be_joined_says_what_to_do(dsn: str) -> None:
    engine = create_engine(url(dsn, "+psycopg"))
    with psycopg.connect(dsn) as connection, Session(engine) as session:
        for client, thing, advice in [
            (AsyncClient, connection, "pass it to Client"),
            (AsyncClient, session, "pass it to Client"),
            (Client, AsyncSession(), "pass it to AsyncClient"),
            (Client, engine, "pass a connection or session that was made with it"),
            (Client, dsn, r"pass Client\(dsn\)"),
            (AsyncClient, 5, "pass a connection of psycopg, asyncpg or SQLAlchemy"),
        ]:
            with pytest.raises(TypeError, match=advice):
                client(connection=thing)  # type: ignore[arg-type]
    engine.dispose()


def test_another_database_says_what_to_do() -> None:
    """As in tests of an application that run on SQLite."""
    engine = create_engine("sqlite://")
    with Session(engine) as session, engine.connect() as connection:
        for thing in (session, connection):
            with pytest.raises(TypeError, match=r"to sqlite: .*PostgreSQL, pass"):
                Client(connection=thing).enqueue_job("mail")
    engine.dispose()


def test_every_argument_has_the_type_of_the_server(conn: psycopg.Connection[Any]) -> None:
    rows = conn.execute("""
        select a.name, format_type(a.type, null), p.proname
        from pg_proc as p
        cross join unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[]) as a (name, type)
        where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^(_|spark_)'
            and p.prorettype <> 'trigger'::regtype and p.prokind = 'f'
    """).fetchall()
    long = {
        "timestamptz": "timestamp with time zone",
        "timestamptz[]": "timestamp with time zone[]",
    }
    for name, kind, function in rows:
        ours = _foreign.type_of(function, name)
        if hasattr(Client, function):
            assert long.get(ours, ours) == kind, f"{function}({name}): see _NAMES_OF_TYPES"


def test_every_single_value_that_json_has_no_type_for_is_known(
    conn: psycopg.Connection[Any],
) -> None:
    rows = conn.execute("""
        select p.proname from pg_proc as p
        inner join pg_type as t on t.oid = p.prorettype
        left join pg_type as e on e.oid = t.typelem
        where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^(_|spark_)'
            and coalesce(e.typname, t.typname) in ('timestamptz', 'interval', 'bytea', 'date')
    """).fetchall()
    assert {name for (name,) in rows} == set(_foreign.RESULTS)


@pytest.mark.parametrize(
    "interval",
    ["1 year 2 mons -3 days 04:05:06.789", "-1 mon", "-00:00:00.000001", "0", "500:00:00"],
)
def test_durations_are_those_of_psycopg(interval: str, conn: psycopg.Connection[Any]) -> None:
    [(value, written)] = conn.execute(
        "select %s::interval, %s::interval::text", [interval, interval]
    ).fetchall()
    assert _foreign.duration(written) == value


def test_another_interval_style_is_refused() -> None:
    with pytest.raises(psycopg.DataError, match="IntervalStyle"):
        _foreign.duration("P1D")


def test_a_number_that_python_cannot_read_costs_nothing_else() -> None:
    number = "9" * 5000
    [(columns, rows)] = [_foreign.rows("kv_get", None, [f'{{"small": 1, "number": {number}}}'])]
    assert columns == ["kv_get"]
    [(value,)] = rows
    assert value["small"] == 1
    assert isinstance(value["number"], UnreadableJson)
    assert value["number"].text == number


def test_errors_that_are_not_the_servers_stay_as_they_are(dsn: str) -> None:
    from sqlalchemy.exc import ResourceClosedError

    connection = create_engine(url(dsn, "+psycopg"), poolclass=NullPool).connect()
    connection.execute(text("select 1"))
    connection.close()
    with pytest.raises(ResourceClosedError):
        Client(connection=connection).enqueue_job("q")


def test_in_a_forked_process_a_client_of_a_session_raises(dsn: str, admin: Client) -> None:
    """As one of any connection; the session itself is spoiled there, too."""
    import os

    with Session(create_engine(url(dsn, "+psycopg"), poolclass=NullPool)) as session:
        client = Client(connection=session)
        client.enqueue_job("q", "parent")
        child = os.fork()
        if child == 0:
            code = 1
            try:
                client.enqueue_job("q", "child")
            except psycopg.InterfaceError:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        session.commit()
    assert [job.payload for job in admin.claim_job_batch("w", ["q"])] == ["parent"]


def test_tasks_of_pgbaton_join_each_of_them(dsn: str, admin: Client) -> None:
    send = task("q", "send")(lambda: None)

    async def work() -> None:
        connection = await asyncpg.connect(url(dsn))
        await send.enqueue(connection)
        await connection.close()
        engine = create_async_engine(url(dsn, "+asyncpg"), poolclass=NullPool)
        async with AsyncSession(engine) as session:
            await send.enqueue(session)
            await session.commit()
            await send.enqueue(session)  # never committed

    asyncio.run(work())
    with Session(create_engine(url(dsn, "+psycopg"), poolclass=NullPool)) as session:
        send.enqueue(session)
        session.commit()
    assert [job.job_type for job in admin.claim_job_batch("w", ["q"])] == ["send"] * 3
