"""Sessions for race tests: calls that are left waiting until their lock is seen, never a sleep."""

from __future__ import annotations

from concurrent import futures
from time import monotonic
from typing import Any, LiteralString

import psycopg

SECONDS = 30


class Waiting:
    """A call that runs in a session of its own while the test goes on."""

    def __init__(self, session: Session, future: futures.Future[list[tuple[Any, ...]]]) -> None:
        self.session = session
        self.future = future

    def until_blocked(self, *by: Session) -> Waiting:
        """Returns once the call is seen to wait for a lock of each of these sessions, or of any."""
        wanted = {session.pid for session in by}
        give_up = monotonic() + SECONDS
        while monotonic() < give_up:
            blockers = set(self.session.blockers())
            if blockers and wanted <= blockers:
                return self
            if futures.wait([self.future], timeout=0.01).done:
                raise AssertionError(f"it did not wait: {self.future.result()}")
        raise AssertionError(f"not seen waiting for {wanted}: {self.session.blockers()}")

    def until_settled(self) -> Waiting:
        """Returns once the call has ended or is seen to wait for a lock."""
        give_up = monotonic() + SECONDS
        while monotonic() < give_up:
            if futures.wait([self.future], timeout=0.01).done or self.session.blockers():
                return self
        raise AssertionError("it neither ended nor waited for a lock")

    def rows(self) -> list[tuple[Any, ...]]:
        return self.future.result(timeout=SECONDS)

    def one(self) -> Any:
        return self.rows()[0][0]

    def refusal(self) -> str | None:
        """The SQLSTATE that the call fails with, None if it does not fail."""
        error = self.future.exception(timeout=SECONDS)
        if error is None:
            return None
        assert isinstance(error, psycopg.Error), error
        return error.sqlstate


class Session:
    def __init__(self, dsn: str, observer: psycopg.Connection[Any]) -> None:
        self.conn = psycopg.connect(dsn, autocommit=True)
        self.conn.execute(f"set statement_timeout = '{SECONDS}s'")
        self.pid = self.conn.info.backend_pid
        self._observer = observer
        self._thread = futures.ThreadPoolExecutor(1)

    def blockers(self) -> list[int]:
        return self._observer.execute("select pg_blocking_pids(%s)", [self.pid]).fetchone()[0]

    def rows(self, query: LiteralString, *args: Any, **named: Any) -> list[tuple[Any, ...]]:
        cursor = self.conn.execute(query, named or args)
        return cursor.fetchall() if cursor.description else []

    def one(self, query: LiteralString, *args: Any, **named: Any) -> Any:
        return self.rows(query, *args, **named)[0][0]

    def start(self, query: LiteralString, *args: Any, **named: Any) -> Waiting:
        return Waiting(self, self._thread.submit(self.rows, query, *args, **named))

    def refusal(self, query: LiteralString, *args: Any) -> str | None:
        """The SQLSTATE that the call fails with, None if it does not fail."""
        try:
            self.rows(query, *args)
        except psycopg.Error as error:
            return error.sqlstate
        return None

    def begin(self, isolation: str = "read committed") -> None:
        self.rows(f"begin isolation level {isolation}")

    def begin_with_snapshot(self, isolation: str) -> None:
        """As begin, and what others commit from now on is not seen."""
        self.begin(isolation)
        self.rows("select from pgbaton.queue")

    def commit(self) -> None:
        self.rows("commit")

    def rollback(self) -> None:
        self.rows("rollback")

    def end(self, how: str) -> None:
        self.rows(how)

    def never_waits(self) -> None:
        """From now on a call that waits for a lock fails with 55P03."""
        self.rows("set lock_timeout = '2s'")

    def stop_autovacuum(self) -> None:
        """It locks tables of a test before, and its snapshot keeps dead entries from going."""
        while self.rows("""
            select pg_cancel_backend(a.pid) from pg_stat_activity as a
            where a.backend_type = 'autovacuum worker' and a.datname = current_database()
        """):
            pass

    def enqueue(self, queue: str, key: str | None = None, **options: Any) -> int:
        names = ["queue", "singleton_key", *options]
        call = ", ".join(f"{name} => %s" for name in names)
        return self.one(f"select pgbaton.enqueue_job({call})", queue, key, *options.values())

    def enqueue_batch(self, queue: str, count: int, keys: list[str] | None = None) -> list[int]:
        found = self.rows(
            "select pgbaton.enqueue_batch(%s, array_fill('{}'::jsonb, array[%s]), %s)",
            queue,
            count,
            keys,
        )
        return [row[0] for row in found]

    def claim(self, queue: str, size: int = 10, lease: str | None = None) -> dict[int, int]:
        """Claims and returns the lease token of each job, in the order of the claim."""
        return dict(
            self.rows(
                "select id, lease_token from pgbaton.claim_job_batch(%s, %s, batch_size => %s,"
                " lease => %s)",
                f"worker {self.pid}",
                [queue],
                size,
                lease,
            )
        )

    def complete(self, jobs: dict[int, int]) -> list[str]:
        """Completes what a claim returned; one verdict for each."""
        tokens = set(jobs.values())
        assert len(tokens) <= 1
        return [
            row[0]
            for row in self.rows(
                "select verdict from pgbaton.complete_jobs(%s, %s) order by ordinal",
                list(jobs),
                next(iter(tokens), None),
            )
        ]

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
        self.conn.close()


class Clock:
    """A clock of pgbaton that stands still until the test moves it, for all sessions."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self._conn = conn

    def __enter__(self) -> Clock:
        (self._original,) = self._conn.execute(
            "select pg_get_functiondef('pgbaton._now()'::regprocedure)"
        ).fetchone()
        self._conn.execute("""
            create table if not exists public.clock (instant timestamptz);
            delete from public.clock;
            insert into public.clock values (clock_timestamp());
            create or replace function pgbaton._now() returns timestamptz
            language sql volatile as $$ select c.instant from public.clock as c $$
        """)
        return self

    def __exit__(self, *_: object) -> None:
        # The transaction of a test that failed would take this along. The table stays: one of
        # another session may still hold it.
        self._conn.execute("rollback")
        self._conn.execute(self._original)

    def skip_midnight(self) -> None:
        """Go to the next day if it begins within ten minutes."""
        self._conn.execute(
            "update public.clock set instant ="
            " greatest(instant, date_trunc('day', instant + interval '10 minutes'))"
        )

    def advance(self, step: str) -> None:
        self._conn.execute("update public.clock set instant = instant + %s::interval", [step])
