"""Workers under test: in a thread of the test, or in a process of their own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from pgbaton import Client, Worker

PATIENCE = 60


def wait_until(condition: Callable[[], Any], what: str = "") -> Any:
    """Returns what the condition returns as soon as it is true."""
    deadline = time.monotonic() + PATIENCE
    while not (seen := condition()):
        assert time.monotonic() < deadline, f"waited in vain {what}"
        time.sleep(0.005)
    return seen


class Running:
    """A worker that runs in a thread."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            asyncio.run(self.worker.run_async())
        except BaseException as error:
            self.error = error

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def stop(self, now: bool = False) -> None:
        self.worker.stop(now)

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert self.has_ended
        if self.error is not None:
            raise self.error


@contextmanager
def running(worker: Worker) -> Iterator[Running]:
    """Starts a worker and stops it in the end."""
    it = Running(worker)
    try:
        yield it
    finally:
        it.stop()
        it.join()


def state_of(client: Client, job_id: int) -> str:
    return str(client.get_job(job_id).state)


def wait_for_state(client: Client, job_id: int, *states: str) -> str:
    return str(wait_until(lambda: (s := state_of(client, job_id)) in states and s, f"{states}"))


def terminate_all(dsn: str) -> None:
    """Ends all other sessions of the database, as a restart would."""
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(
            "select pg_terminate_backend(pid, 60000) from pg_stat_activity"
            " where datname = current_database() and pid <> pg_backend_pid()"
        )


class Proxy:
    """A port that stays the same while the server behind it goes away and comes back elsewhere."""

    def __init__(self) -> None:
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._door.getsockname()[1]
        self.target: int | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._door.shutdown(socket.SHUT_RDWR)  # which wakes accept, too
        self._door.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                visitor, _ = self._door.accept()
                try:
                    inside = socket.create_connection(("127.0.0.1", self.target or 0))
                except OSError:
                    visitor.close()
                    continue
                for pair in ((visitor, inside), (inside, visitor)):
                    threading.Thread(target=self._pump, args=pair, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        source.close()
