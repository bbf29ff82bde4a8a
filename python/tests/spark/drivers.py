"""Spark drivers in processes of their own, that tests can kill, and what runs in them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any

import psutil
import psycopg
import pyspark
from pyspark.sql import DataFrame, SparkSession

from pgbaton.demo._java import java_for_spark
from pgbaton.spark import Enqueued, enqueue, foreach_batch, register

CLUSTER = "local-cluster[2,1,1024]"
# The longest wait of these tests for one thing, on a busy machine.
SECONDS = 240
SETTINGS = {
    "spark.log.level": "OFF",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.executor.memory": "512m",
}
_held = ExitStack()
_sessions: list[SparkSession] = []


def new_session(master: str, settings: Mapping[str, str]) -> SparkSession:
    """A session as the tests use it; JAVA_HOME must be settled."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    builder = SparkSession.builder.master(master)
    for name, value in {**SETTINGS, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


class Work:
    """What a driver was given to do."""

    def __init__(self, future: futures.Future[Any]) -> None:
        self.future = future

    def result(self) -> Any:
        return self.future.result(SECONDS)

    def exception(self) -> BaseException | None:
        return self.future.exception(SECONDS)


class Driver:
    """One Spark driver, and its executors."""

    def __init__(self, master: str | None, events: Path, settings: Mapping[str, str]) -> None:
        self._is_killed = False
        self._events = events
        self._log = events.parent / "stderr"
        self._scratch = events.parent / "scratch"
        logged = {
            "spark.local.dir": str(self._scratch),
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
        }
        self._pool = futures.ProcessPoolExecutor(
            1, get_context("spawn"), _start, (master, self._log, {**logged, **settings})
        )
        pid = self._pool.submit(os.getpid)
        [process] = self._pool._processes.values()
        self.pid = process.pid
        try:
            pid.result(SECONDS)
        except TimeoutError:
            self.kill()  # else this process waits for it at its end
            raise

    def start(self, work: Callable[..., Any], *args: Any, **named: Any) -> Work:
        return Work(self._pool.submit(_run, work, *args, **named))

    def kill_executor_of(self, port: int) -> None:
        """SIGKILLs the executor that has the connection from this local port, and its workers."""
        for executor in self.executors():
            family = [executor, *executor.children(recursive=True)]
            if any(_has_port(process, port) for process in family):
                kill(family)
                return
        raise AssertionError(f"no executor has port {port}")

    def executors(self) -> list[psutil.Process]:
        return [
            process
            for process in psutil.Process(self.pid).children(recursive=True)
            if _is_executor(process)
        ]

    def delete_shuffle_files(self) -> int:
        """Deletes what finished stages left for later ones; returns how many files that were."""
        files = list(self._scratch.rglob("shuffle_*"))
        for file in files:
            file.unlink()
        return len(files)

    def kill(self) -> None:
        """SIGKILLs the driver and everything that it started."""
        self._is_killed = True
        driver = psutil.Process(self.pid)
        kill([driver, *driver.children(recursive=True)])

    def stop(self) -> None:
        """Kills it when it does not end: a test that failed may have left it at work."""
        with suppress(BrokenProcessPool):
            if not self._is_killed and futures.wait([self._pool.submit(_stop)], SECONDS).not_done:
                self.kill()
        self._pool.shutdown(cancel_futures=True)

    def log(self) -> str:
        """What Spark wrote to stderr."""
        return self._log.read_text()

    def events(self, kind: str) -> list[dict[str, Any]]:
        """What Spark logged of one kind up to the end of the last job."""
        files = [path for path in self._events.rglob("*") if path.is_file()]
        lines = [line for path in sorted(files) for line in path.read_text().splitlines()]
        found = [json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")]
        return [event for event in found if event.get("Event") == kind]


def _start(master: str | None, log: Path, settings: Mapping[str, str]) -> None:
    with log.open("w") as file:
        os.dup2(file.fileno(), 2)
    _held.enter_context(java_for_spark())
    if master is not None:
        _sessions.append(new_session(master, settings))


def _run(work: Callable[..., Any], *args: Any, **named: Any) -> Any:
    try:
        return work(*args, **named)
    except Exception as error:
        # One of Py4J cannot be sent to the tests' process.
        raise RuntimeError(f"{type(error).__name__}: {error}") from None


def _stop() -> None:
    for session in _sessions:
        session.stop()
    _held.close()


def _is_executor(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return "org.apache.spark.executor.CoarseGrainedExecutorBackend" in process.cmdline()
    return False


def _has_port(process: psutil.Process, port: int) -> bool:
    with suppress(psutil.NoSuchProcess):
        return any(c.laddr and c.laddr.port == port for c in process.net_connections("tcp"))
    return False


def kill(family: list[psutil.Process]) -> None:
    for process in family:
        process.kill()
    psutil.wait_procs(family, SECONDS)


@contextmanager
def driver(
    master: str | None, folder: Path, settings: Mapping[str, str] | None = None
) -> Iterator[Driver]:
    """A driver for this master, or without a session when there is none."""
    events = folder / "events"
    events.mkdir()
    found = Driver(master, events, settings or {})
    try:
        yield found
    finally:
        found.stop()


def until(condition: Callable[[], Any], work: Work | None = None) -> Any:
    """What the condition says once it is true; fails when the work ends before that."""
    give_up = monotonic() + SECONDS
    pause = futures.Future[None]() if work is None else work.future
    while monotonic() < give_up:
        if found := condition():
            return found
        if futures.wait([pause], timeout=0.02).done:
            raise AssertionError(f"it ended before that: {pause.result()}")
    raise AssertionError("that did not come about")


def run_program(
    command: list[str], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What a program says until it and all that it started have ended; kills what does not end.

    What it started may outlive it and hold its output open, which nobody then reads to the end.
    """
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as program:
        process = psutil.Process(program.pid)
        try:
            said = program.communicate(timeout=2 * SECONDS)
        finally:
            if program.poll() is None:
                kill([process, *process.children(recursive=True)])
    return subprocess.CompletedProcess(command, program.returncode, *said)


@contextmanager
def standalone_cluster(folder: Path, python: str = sys.executable) -> Iterator[str]:
    """Two workers on two addresses, since Spark speculates on another host only.

    They know nothing of this process's PYTHONPATH.
    """
    home = Path(pyspark.__file__).parent
    port = free_port()
    master = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": python}
    environment.pop("PYTHONPATH", None)
    started: list[subprocess.Popen[bytes]] = []

    def start(role: str, host: str, *arguments: str) -> None:
        command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}"]
        started.append(
            subprocess.Popen(
                [*command, "--host", host, "--webui-port", "0", *arguments],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    with java_for_spark():
        start("master.Master", "127.0.0.1", "--port", str(port))
        for host in ("127.0.0.2", "127.0.0.3"):
            size = ("--cores", "1", "--memory", "1g")
            start("worker.Worker", host, *size, "--work-dir", str(folder / host), master)
        try:
            yield master
        finally:
            for process in started:
                root = psutil.Process(process.pid)
                kill([root, *root.children(recursive=True)])
                process.wait()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


# What runs in a driver --------------------------------------------------------------------------
def steps(spark: SparkSession, rows: int = 2000) -> DataFrame:
    """40 keys, whose steps are shuffled over all partitions."""
    return spark.range(0, rows, 1, 5).selectExpr(
        "concat('k', id * 7919 % 40) as k", f"cast(id * 7919 % {rows} as int) as step"
    )


def enqueue_steps(dsn: str, **options: Any) -> Enqueued:
    return enqueue(steps(_sessions[0]), dsn, "orders", key="k", order_by="step", **options)


def enqueue_rows(dsn: str, rows: int, **options: Any) -> Enqueued:
    df = _sessions[0].range(0, rows, 1, 8).selectExpr("id", "repeat('x', 80) as text")
    return enqueue(df, dsn, "mail", **options)


def write_orders(folder: Path, files: int, rows: int) -> None:
    """Files with the steps of 10 keys; Spark takes the oldest first."""
    folder.mkdir()
    for number in range(files):
        lines = [
            json.dumps({"k": f"k{n % 10}", "step": n})
            for n in range(number * rows // files, (number + 1) * rows // files)
        ]
        file = folder / f"{number}.json"
        file.write_text("\n".join(lines))
        os.utime(file, (number, number))


def stream_orders(spark: SparkSession, dsn: str, folder: Path, sink: str) -> None:
    """One file for each micro-batch, from the checkpoint on until all are read."""
    orders = (
        spark.readStream.schema("k string, step int")
        .option("maxFilesPerTrigger", 1)
        .json(str(folder / "orders"))
    )
    if sink == "foreachBatch":
        writer = orders.writeStream.foreachBatch(
            foreach_batch("orders", dsn, "shop", key="k", order_by="step", partitions=2)
        )
    else:
        register(spark)
        jobs = orders.selectExpr(
            "to_json(struct(*)) as payload",
            "k as singleton_key",
            "cast(step as bigint) as order_no",
        )
        writer = jobs.writeStream.format("pgbaton").options(
            dsn=dsn, queue="orders", stream_id="shop"
        )
    query = (
        writer.option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


def stream_orders_here(dsn: str, folder: Path, sink: str) -> None:
    stream_orders(_sessions[0], dsn, folder, sink)


def enqueue_what_is_refused(dsn: str, payloads: str, method: str) -> str:
    """What is said about lines that are no JSON, with Spark's usual log."""
    _sessions[0].sparkContext.setLogLevel("INFO")
    try:
        enqueue(_sessions[0].read.text(payloads), dsn, "mail", payload="value", method=method)
    except psycopg.Error as error:
        return str(error)
    return ""


def enqueue_in_a_plain_session(dsn: str) -> None:
    """With a session as Spark makes it when nothing is said about its console."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_HOSTNAME"] = "localhost"
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    _sessions.append(builder.getOrCreate())
    enqueue(_sessions[0].range(10), dsn, "mail", method="jdbc")
