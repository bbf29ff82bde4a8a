"""The loops of a running worker: claim, run, tend, acknowledge."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import random
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from pgbaton._arguments import Interval
from pgbaton._async.client import AsyncClient
from pgbaton._listening.listener import Listener, watchful
from pgbaton._listening.slumber import Slumber
from pgbaton._listening.waiting import happens
from pgbaton._runtime.acknowledger import Acknowledger
from pgbaton._runtime.calling import run_async, run_sync, run_within
from pgbaton._runtime.connection import BoundConnection
from pgbaton._runtime.hooks import Failure, Hooks, Life, Observer, is_asynchronous
from pgbaton._runtime.outcomes import (
    Completed,
    Failed,
    Outcome,
    Released,
    Retry,
    Stopped,
    can_be_logged,
    of_error,
)
from pgbaton._runtime.patience import MOST_TIES, STANDBY, is_tie, passes
from pgbaton._runtime.registry import REGISTRY, Place
from pgbaton._runtime.running import Handler, Run, RunningJob
from pgbaton._runtime.settings import Counts, Settings
from pgbaton._runtime.tender import Tender
from pgbaton._runtime.threads import Threads
from pgbaton._runtime.tracing import consuming
from pgbaton._text import sentence
from pgbaton.errors import NotPermitted, QueueExists, UnknownQueue
from pgbaton.models import (
    ClaimedJob,
    OnExhausted,
    QueueInfo,
    QueuePolicy,
    Sleep,
    UnreadableJson,
    elapsed,
)

if TYPE_CHECKING:
    from pgbaton._runtime.processes import Processes

log = logging.getLogger("pgbaton.worker")

T = TypeVar("T")
FIELDS = attrgetter(*ClaimedJob.__dataclass_fields__)
UNKNOWN_TYPE_DELAY = timedelta(minutes=1)
BUSY_KEY_DELAY = timedelta(seconds=1)
GRACE = 2.0
"""Seconds that interrupted handlers get to end, and the last calls to succeed."""
LONGEST_SLEEP = timedelta(days=1)
"""The longest that the server lets anybody sleep."""
LOOK_AGAIN = 5.0
"""Seconds between two looks for queues that are not there."""
POLL = timedelta(seconds=1)
"""How often to ask for work while nothing can be heard."""


NOBODY = Handler(lambda job: None, "async")
"""Stands where there is no handler: it is never called."""


class Handlers:
    """Handlers by queue and job type; the job type None takes those that no other one takes."""

    def __init__(self, handlers: Mapping[str, dict[str | None, Handler]] | None = None) -> None:
        self._handlers = dict(handlers or {})
        self._hidden: set[str] = set()

    def of(self, queues: Iterable[str]) -> Handlers:
        """Those of some queues."""
        return Handlers({queue: self._handlers[queue] for queue in queues})

    def hide(self, queue: str) -> None:
        """Claims nothing of it for now."""
        self._hidden.add(queue)

    def show_all(self) -> None:
        self._hidden.clear()

    def add(self, queue: str, job_type: str | None, handler: Handler) -> None:
        of_queue = self._handlers.setdefault(queue, {})
        if job_type in of_queue:
            raise ValueError(f"queue {queue} has a handler for job type {job_type!r} already")
        of_queue[job_type] = handler

    def find(self, job: RunningJob) -> Handler | None:
        of_queue = self._handlers.get(job.queue, {})
        return of_queue.get(job.job_type) or of_queue.get(None)

    @property
    def queues(self) -> list[str]:
        """Where from to claim."""
        return sorted(self._handlers.keys() - self._hidden)

    @property
    def job_types(self) -> list[str] | None:
        """What to claim: None, all, as soon as one handler takes any type."""
        types = {job_type for queue in self.queues for job_type in self._handlers[queue]}
        named = sorted(job_type for job_type in types if job_type is not None)
        return None if None in types else named


class Engine:
    """One call of `Worker.run`, for the queues that share a capacity."""

    def __init__(
        self, settings: Settings, handlers: Handlers, hooks: Hooks, life: Life | None
    ) -> None:
        self.settings = settings
        self._handlers = handlers
        self._hooks = hooks
        self._around = tuple(hooks.around)
        self._life = life
        self._lives = False
        self._state: Any = None
        self.counts = Counts()
        self._may_be_listed = False
        self._is_introduced = False
        self._is_away = False
        """The last call did not reach the database."""
        self._looking: asyncio.Task[None] | None = None
        self._missed: set[str] = set()
        """Queues that are not there."""
        self._connection = BoundConnection(watchful(settings.dsn), settings.call_timeout)
        self.client = AsyncClient(pool=self._connection)
        listen_dsn = settings.listen_dsn
        self._listener = None if listen_dsn is None else Listener(watchful(listen_dsn))
        self._loop = asyncio.get_running_loop()
        self._threads = Threads(hooks.at_thread_end)
        self._processes: Processes | None = None
        self._database: Place = ()
        self._ordered: dict[str, QueueInfo] = {}
        self.held: dict[tuple[int, int], Run] = {}
        """Claimed and not acknowledged yet, by job and token: never more than the capacity."""
        self._turn = asyncio.Lock()
        """One claim at a time: two would fill the same room."""
        self._is_dry = False
        """A claim brought fewer jobs than it asked for, and nobody has gone to sleep yet."""
        self._is_asleep = False
        self._running = 0
        self._work = asyncio.Event()
        self._slumber = (
            Slumber(self._listener, self._work, self._lie_down) if self._listener else None
        )
        self._room = asyncio.Event()
        self._stop = asyncio.Event()
        self._stop_now = asyncio.Event()
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._unhandled: set[tuple[str, str]] = set()
        self._beside: set[asyncio.Task[None]] = set()
        self._observing: set[asyncio.Task[None]] = set()
        self._tender = Tender(self.client, settings, self.held, self.patiently)
        self._acknowledger = Acknowledger(
            self.client,
            self.patiently,
            lambda: self._running > 0,
            min(settings.batch_size, settings.capacity),
            settings.keep_stacks,
            self._claim_along,
            self._free,
            self._note,
        )

    def stop(self, now: bool = False) -> None:
        """Claims no more; with now, or the second time, ends at once. From the loop's thread."""
        if now or self._stop.is_set():
            self._stop_now.set()
        if not self._stop.is_set():
            self._log(logging.INFO, "stopping", f"stops, {self._running} jobs still run")
        self._stop.set()
        self._work.set()
        self._room.set()

    @property
    def is_ready(self) -> bool:
        """Whether it has its database and takes jobs."""
        return self._is_introduced and not self._is_away and not self._stop.is_set()

    async def run(self) -> None:
        loops: list[asyncio.Task[None]] = []
        try:
            if not await self._unless_stopped(self._introduce()):
                return
            claiming = asyncio.create_task(self._claim_until_stopped())
            loops = [
                claiming,
                asyncio.create_task(self._acknowledger.serve()),
                asyncio.create_task(self._tender.serve()),
            ]
            # Not until the claim ends, which the server may keep from ending.
            stopped = asyncio.create_task(self._stop.wait())
            await asyncio.wait([*loops, stopped], return_when=asyncio.FIRST_COMPLETED)
            stopped.cancel()
            done = [task for task in loops if task.done()]
            for task in done:
                if error := task.exception():
                    said = f"stops because of an error: {in_a_sentence(error)}"
                    self._log(logging.ERROR, "broken", said)
            await self._wind_down(claiming)
            for task in done:
                task.result()
        except asyncio.CancelledError:
            self.stop(now=True)
            if loops:
                await self._wind_down(claiming)
            raise
        finally:
            await self._close(loops)
        self._log(logging.INFO, "stopped", "has stopped")

    async def _unless_stopped(self, work: Coroutine[Any, Any, None]) -> bool:
        """Does it, but not when the worker is stopped meanwhile; returns whether it did."""
        stopped = asyncio.create_task(self._stop.wait())
        task = asyncio.create_task(work)
        try:
            await asyncio.wait([stopped, task], return_when=asyncio.FIRST_COMPLETED)
        finally:  # also when the run is cancelled
            stopped.cancel()
            is_done = task.done()
            if not is_done:
                task.cancel()
                await self._within_grace(task)
        if is_done:
            task.result()
        return is_done

    async def _introduce(self) -> None:
        """The first calls: what goes wrong now was set up wrong, so nothing is tried again."""
        settings = self.settings
        self._may_be_listed = True  # also when the call is broken off
        try:
            await self.client.worker_heartbeat(settings.worker_id, settings.capacity, settings.tags)
        except Exception:
            self._may_be_listed = False
            raise
        async with self._connection.connection() as connection:
            info = connection.info
            self._database = (info.host, info.port, info.dbname)
        self._ordered = await self._ordered_queues()
        queues = ", ".join(self._handlers.queues)
        if self._life is not None:
            self._lives = True
            self._state = await self._life.begin()
        self._is_introduced = True
        self._log(logging.INFO, "started", f"takes jobs of {queues}, {settings.capacity} at once")

    async def _ordered_queues(self) -> dict[str, QueueInfo]:
        """The FIFO queues, for the log; none for a role that may not list queues."""
        try:
            queues = await self.client.list_queues()
        except (psycopg.errors.InsufficientPrivilege, NotPermitted):
            return {}
        return {info.queue: info for info in queues if info.policy is QueuePolicy.FIFO}

    async def _close(self, loops: Sequence[asyncio.Task[None]]) -> None:
        for task in [*loops, *self._beside, *self._observing]:
            task.cancel()
        # First, since whoever is cancelled once more gets no further than to an await.
        if self._processes is not None:
            self._processes.close()
        self._threads.close()
        try:
            await self._within_grace(*loops, *self._beside, *self._observing)
            if self._hooks.at_thread_end:
                await self._threads.ended(GRACE)
            if self._may_be_listed:
                await self._within_grace(asyncio.create_task(self._leave()))
            if self._life is not None and self._lives:
                await self._life.end(self._patience)
        finally:
            if self._listener is not None:
                await self._within_grace(asyncio.create_task(self._listener.close()))
            await self.client.close()
            await self._connection.close()

    async def _leave(self) -> None:
        """Stopped cleanly, it is no longer among the workers and sleepers."""
        try:
            await self.client.unregister_worker(self.settings.worker_id)
        except psycopg.Error as error:
            self._log(logging.INFO, "not unregistered", f"is listed for a while: {error}")

    async def _within_grace(self, *tasks: asyncio.Task[None]) -> None:
        """Waits for them, and when the server does not answer breaks the connections off."""
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=GRACE)
            if late:
                for task in late:
                    task.cancel()
                _, late = await asyncio.wait(late, timeout=GRACE)
            if late:
                self._log(logging.WARNING, "broken off", "gets no answer: breaks off")
                self._connection.break_off()
                if self._listener is not None:
                    self._listener.break_off()
                await asyncio.wait(late)
        for task in tasks:
            if not task.cancelled():
                task.exception()  # noted by whoever waited for it

    async def patiently(
        self, call: Callable[[], Awaitable[T]], until: asyncio.Event | None = None
    ) -> T:
        """Makes a call, again and again while the database is away, or until the event is set."""
        delay, ties = 0.1, 0
        while True:
            try:
                result = await call()
            except psycopg.DatabaseError as error:
                if not passes(error) or (until is not None and until.is_set()):
                    raise
                if is_tie(error) and ties < MOST_TIES:
                    ties += 1
                    await happens(until or asyncio.Event(), 0.01 * ties * random.random())  # noqa: S311
                    continue
                self._is_away = True
                said = str(error).partition("\n")[0]
                what = "is slower than others each time" if is_tie(error) else "has no database"
                self._log(logging.WARNING, "lost database", f"{what}: {said}")
                if error.sqlstate == STANDBY:
                    await self._connection.close()
                await happens(until or asyncio.Event(), delay * random.uniform(0.5, 1))  # noqa: S311
                delay = min(delay * 2, 10.0)
            else:
                if delay > 0.1:
                    self._log(logging.INFO, "found database", "has its database again")
                self._is_away = False
                return result

    # Claiming

    async def _claim_until_stopped(self) -> None:
        while not self._stop.is_set():
            self._room.clear()
            if not self._is_dry:  # who comes from a claim along must hear what was said since
                self._work.clear()
            if not self._handlers.queues:  # none of them is there
                self._is_dry = False
                await self._work.wait()
                continue
            try:
                is_full = await self.patiently(self._claim, until=self._stop)
                if is_full:
                    await self._room.wait()
                elif self._is_dry and not self._stop.is_set():
                    await self._sleep()
            except UnknownQueue as error:
                await self._miss(error)
            except psycopg.DatabaseError as error:
                if not (passes(error) and self._stop.is_set()):
                    raise

    async def _claim(self) -> bool:
        """Claims what there is room for; returns whether there was none."""
        async with self._turn:
            wanted = self._wanted()
            if wanted <= 0:
                return True
            if not self._is_dry:
                self._take(await self.client.claim_job_batch(*self._whose(wanted)), wanted)
        return False

    async def _claim_along(
        self, ids: list[int], token: int, results: list[Any] | None, ended: Sequence[Run]
    ) -> list[str] | None:
        """Completes jobs and claims others in the same call, if a claim is due; else does nothing.

        The claim counts on the room of all that ended. Returns a verdict for each id.
        """
        async with self._turn:
            if self._is_asleep or self._stop.is_set() or not self._handlers.queues:
                return None
            wanted = self._wanted(len(ended))
            done = await self.client.complete_and_claim(
                ids, token, *self._whose(wanted), results=results
            )
            self._drop(ended)
            self._take(done.jobs, wanted)
        verdicts = ["ok"] * len(ids)
        for refused in done.refused:
            verdicts[refused.ordinal - 1] = refused.verdict
        return verdicts

    def _wanted(self, ended: int = 0) -> int:
        settings = self.settings
        return min(settings.capacity - len(self.held) + ended, settings.batch_size)

    def _whose(
        self, wanted: int
    ) -> tuple[str, list[str], list[str] | None, tuple[str, ...], int, Interval | None]:
        """What a claim asks for."""
        settings, handlers = self.settings, self._handlers
        return (
            settings.worker_id,
            handlers.queues,
            handlers.job_types,
            settings.tags,
            wanted,
            settings.lease,
        )

    def _take(self, claimed: Sequence[ClaimedJob], wanted: int) -> None:
        self._start([RunningJob(*FIELDS(job)) for job in claimed])
        if claimed and self._slumber:
            self._slumber.found()
        self._is_dry = len(claimed) < wanted

    async def _miss(self, error: UnknownQueue) -> None:
        """A queue is not there: it is made, or the others go on without it."""
        missing = next((q for q in self._handlers.queues if f'"{q}"' in str(error)), None)
        if missing is None or (self.settings.burst and not self.settings.create_queues):
            raise error
        if self.settings.create_queues:
            with suppress(QueueExists):  # somebody else was faster, with settings of their own
                await self.patiently(lambda: self.client.create_queue(missing))
            self._log(logging.INFO, "queue made", f"made the queue {missing}")
            return
        if missing not in self._missed:
            self._missed.add(missing)
            said = f"has no queue {missing}: it waits until somebody creates it, and does the rest"
            self._log(logging.ERROR, "no queue", said)
        self._handlers.hide(missing)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look_again())
            self._beside.add(self._looking)
            self._looking.add_done_callback(self._beside.discard)

    async def _look_again(self) -> None:
        """Whether the queues that were not there are now."""
        if not await happens(self._stop, LOOK_AGAIN):
            self._ordered = await self.patiently(self._ordered_queues, until=self._stop)
            self._handlers.show_all()
            self._work.set()

    async def _sleep(self) -> None:
        """Until there may be work for a claim."""
        self._is_asleep, self._is_dry = True, False
        try:
            await self._sleep_for_work()
        finally:
            self._is_asleep = False

    async def _sleep_for_work(self) -> None:
        if self.settings.burst:
            await self._wait_or_end()
        elif self._slumber is None:
            seconds = self.settings.poll_every.total_seconds() * random.uniform(0.5, 1)  # noqa: S311
            await happens(self._work, seconds)
        else:
            await self._slumber_until_work(self._slumber)

    async def _slumber_until_work(self, slumber: Slumber) -> None:
        while True:
            seconds = await slumber.seconds()
            # A claim would find no more than the next look of wait_for_jobs does.
            if await happens(self._work, seconds) or slumber.has_found:
                return

    async def _wait_or_end(self) -> None:
        """Of a burst: a job that ends may let others come, which it enqueued or held up."""
        if self.held:
            await happens(self._room, POLL.total_seconds())
            return
        for delay in (0.01, 0.1, 0.5):  # others may hold for a moment what there is
            if (await self._lie_down()).wait > timedelta(0):
                self.stop()
                return
            await happens(self._stop, delay)

    @property
    def _longest_sleep(self) -> timedelta:
        return min(self.settings.poll_every, LONGEST_SLEEP)

    async def _lie_down(self) -> Sleep:
        settings = self.settings
        return await self.patiently(
            lambda: self.client.wait_for_jobs(
                settings.worker_id,
                self._handlers.queues,
                self._handlers.job_types,
                settings.tags,
                self._longest_sleep,
            ),
            until=self._stop,
        )

    # Running

    def _start(self, jobs: Sequence[RunningJob]) -> None:
        for job in jobs:
            handler = self._handlers.find(job)
            run = Run(job, handler or NOBODY, self._state)
            self.held[job.id, job.lease_token] = run
            if self._stop.is_set():
                self._acknowledger.add(run, Released())
            elif isinstance(job.payload, UnreadableJson):  # no attempt would change that
                self._acknowledger.add(run, Failed(str(job.payload), is_permanent=True))
            elif handler is None:
                self._log_unhandled(job)
                self._acknowledger.add(run, Released(UNKNOWN_TYPE_DELAY))
            elif others := REGISTRY.enter(self._database, run):
                beside = asyncio.create_task(self._start_beside(run, others))
                self._beside.add(beside)
                beside.add_done_callback(self._beside.discard)
            else:
                self._launch(run)
        if jobs:
            self._tender.note_claim(jobs)

    async def _start_beside(self, run: Run, others: Sequence[Run]) -> None:
        """The key is busy here: either its queue allows that, or the others lost their lease."""
        lost = [other for other in others if not await self._is_ours(other, run)]
        for other in lost:
            other.lose()
        if self._stop.is_set():
            run.cancel("shutdown")
        if run.cancel_reason is not None:  # meanwhile, and there was no handler to interrupt
            run.is_running = False
            self._settle(run, concluded(run, Stopped()))
        elif lost:
            self._log_job(
                logging.WARNING,
                "key is busy",
                run,
                "goes back for a second: a handler that lost its lease still runs its key",
            )
            self._acknowledger.add(run, Released(BUSY_KEY_DELAY))
        else:
            REGISTRY.enter_beside(self._database, run)
            self._launch(run)

    async def _is_ours(self, other: Run, run: Run) -> bool:
        if other.job.id == run.job.id:
            return False
        [verdict] = await self.patiently(
            lambda: self.client.extend_leases(
                [other.job.id], other.job.lease_token, self.settings.lease
            )
        )
        return verdict.verdict in ("ok", "cancel_requested")

    def _launch(self, run: Run) -> None:
        self._running += 1
        self._quiet.clear()
        if run.job.attempt > 1 and run.job.queue in self._ordered:
            self._log_retry(run)
        handler = run.handler
        if handler.kind == "async":
            task = self._loop.create_task(run_async(run, self._around))
            run.interrupt = partial(self._loop.call_soon_threadsafe, task.cancel)
            task.add_done_callback(partial(self._finish_task, run))
        else:
            run_it = self._run_in_process if handler.kind == "process" else self._run_here
            self._threads.run(partial(self._run_noted, run_it, run), partial(self._finish, run))
        if handler.timeout is not None:
            seconds = handler.timeout.total_seconds()
            run.timer = self._loop.call_later(seconds, self._time_out, run)

    def _process_pool(self) -> Processes:
        if self._processes is None:
            # Here, since multiprocessing is of no use to most who import pgbaton.
            from pgbaton._runtime.processes import Processes

            self._processes = Processes()
        return self._processes

    def _run_here(self, run: Run) -> Outcome:
        return run_sync(run, self._around, self._loop)

    def _run_in_process(self, run: Run) -> Outcome:
        run_it = partial(self._process_pool().run, run)
        return run_within(run, self._around, self._loop, run_it) if self._around else run_it()

    def _run_noted(self, run_it: Callable[[Run], Outcome], run: Run) -> Outcome:
        """In a thread, which may outlive this engine."""
        try:
            with consuming(run.job) as note:
                outcome = run_it(run)
                note(outcome)
                return outcome
        finally:
            REGISTRY.leave(self._database, run)

    def _finish_task(self, run: Run, task: asyncio.Task[Outcome]) -> None:
        REGISTRY.leave(self._database, run)
        if task.cancelled():
            self._finish(run, Stopped())
        elif (error := task.exception()) is not None:  # of a tracer: nobody else would be told
            self._finish(run, of_error(error))
        else:
            self._finish(run, task.result())

    def _finish(self, run: Run, outcome: Outcome) -> None:
        run.is_running = False
        if run.timer is not None:
            run.timer.cancel()
        self._running -= 1
        if self._running == 0:
            self._quiet.set()
        self._settle(run, concluded(run, outcome))

    def _settle(self, run: Run, outcome: Outcome) -> None:
        if run.is_lost:
            self._log_job(logging.WARNING, "dropped", run, "was lost: its outcome is dropped")
            self._free([run])
        else:
            self._acknowledger.add(run, outcome)

    def _time_out(self, run: Run) -> None:
        self._log_job(
            logging.WARNING, "timeout", run, f"runs longer than {run.handler.timeout}: interrupted"
        )
        run.cancel("timeout")

    def _free(self, runs: Sequence[Run]) -> None:
        self._drop(runs)
        self._room.set()
        # The next job of a key may be there, unless a claim has looked since.
        if self._listener is None and not self._is_dry:
            self._work.set()

    def _drop(self, runs: Sequence[Run]) -> None:
        for run in runs:
            self.held.pop((run.job.id, run.job.lease_token), None)

    # Stopping

    async def _wind_down(self, claiming: asyncio.Task[None]) -> None:
        """Lets handlers end, then interrupts them, then gives back what is left."""
        self._stop.set()
        self._work.set()
        self._room.set()
        now = asyncio.create_task(self._stop_now.wait())
        quiet = asyncio.create_task(self._all_quiet(claiming))
        await asyncio.wait(
            [now, quiet], timeout=self._patience, return_when=asyncio.FIRST_COMPLETED
        )
        if not quiet.done():
            for run in list(self.held.values()):
                run.cancel("shutdown")
            await asyncio.wait([quiet], timeout=GRACE)
        now.cancel()
        quiet.cancel()
        for run in list(self.held.values()):
            if run.is_running and not run.is_lost:
                self._log_job(
                    logging.WARNING, "abandoned", run, "goes back while its handler still runs"
                )
                self._acknowledger.add(run, Released())
                run.is_lost = True
        await happens(self._acknowledger.is_idle, GRACE)
        if self._observing:
            await asyncio.wait(self._observing, timeout=self._patience)

    @property
    def _patience(self) -> float:
        """Seconds that things of the application get to end."""
        patience = self.settings.shutdown_timeout.total_seconds()
        return GRACE if self._stop_now.is_set() else max(GRACE, patience)

    async def _all_quiet(self, claiming: asyncio.Task[None]) -> None:
        await asyncio.wait([claiming])
        await self._quiet.wait()
        await self._acknowledger.is_idle.wait()

    # Log

    def _note(self, run: Run, outcome: Outcome) -> None:
        """The server took an outcome."""
        if not isinstance(outcome, Completed):  # the job may be due before we look again
            self._work.set()
        self.counts = self.counts.with_one(kind_of(run, outcome))
        if isinstance(outcome, Failed):
            is_final = is_last(run, outcome)
            self._log_failure(run, outcome, is_final)
            if run.job.queue in self._ordered:
                self._log_block(run, is_final)
            self._observe(Failure(run.job, outcome.error, outcome.message, is_final))
        elif log.isEnabledFor(logging.DEBUG):
            self._log_job(logging.DEBUG, "ended", run, f"ended: {type(outcome).__name__}")

    def _observe(self, failure: Failure) -> None:
        for observer in self._hooks.observers_of(failure):
            task = asyncio.create_task(self._tell(observer, failure))
            self._observing.add(task)
            task.add_done_callback(self._observing.discard)

    async def _tell(self, observer: Observer, failure: Failure) -> None:
        """Whatever it does, the job has failed already."""
        if is_asynchronous(observer):
            task = asyncio.current_task()
            try:
                await observer(failure)
            except BaseException as error:  # SystemExit would end the loop
                if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                    raise
                log_hook(observer)
        else:
            told: asyncio.Future[Outcome] = self._loop.create_future()
            self._threads.run(partial(tell, observer, failure), told.set_result)
            await told

    def _log_failure(self, run: Run, failed: Failed, is_final: bool) -> None:
        job, error = run.job, failed.error
        most = "" if job.max_attempts is None else f" of {job.max_attempts}"
        said = f"failed{' for good' if is_final else ''}, attempt {job.attempt}{most}"
        said += f": {failed.message}"
        is_wished = isinstance(error, Retry) and not is_final
        if error is not None and not can_be_logged(error):
            error = None
        if error is None or error.__traceback__ is None:
            said += f"\n{failed.report}" if failed.report else ""
        level = logging.ERROR if is_final else logging.WARNING
        self._log_job(level, "failed", run, said, error=None if is_wished else error)

    def _log_retry(self, run: Run) -> None:
        job = run.job
        age = elapsed(job.created_at, job.claimed_at).total_seconds()
        self._log_fifo(
            logging.WARNING,
            run,
            f"blocked for {age:.0f}s - current attempt on retry {job.attempt - 1}/{most(job)}",
        )

    def _log_block(self, run: Run, is_final: bool) -> None:
        job = run.job
        if not is_final:
            self._log_fifo(
                logging.INFO,
                run,
                f"blocked - waiting for attempt {job.attempt + 1} of job {job.id} to complete",
            )
        elif self._ordered[job.queue].on_exhausted is OnExhausted.BLOCK:
            self._log_fifo(
                logging.ERROR,
                run,
                f"blocked - job {job.id} failed for good: retry_job, skip_job or delete_job",
            )

    def _log_fifo(self, level: int, run: Run, said: str) -> None:
        self._log_job(level, "fifo", run, said, f"[FIFO] {run.job.queue}/{run.job.singleton_key}")

    def _log_unhandled(self, job: RunningJob) -> None:
        """Loudly once for each type: the job comes back every minute."""
        kind = (job.queue, job.job_type)
        level = logging.DEBUG if kind in self._unhandled else logging.ERROR
        self._unhandled.add(kind)
        log.log(
            level,
            "job %s of queue %s has type %r, which no handler takes: it goes back for %s",
            job.id,
            job.queue,
            job.job_type,
            UNKNOWN_TYPE_DELAY,
            extra={"pgbaton_event": "unhandled", **about(job)},
        )

    def _log_job(
        self,
        level: int,
        event: str,
        run: Run,
        said: str,
        who: str = "",
        error: BaseException | None = None,
    ) -> None:
        job = run.job
        who = who or f"job {job.id} of queue {job.queue}"
        extra = {"pgbaton_event": event, "worker_id": self.settings.worker_id, **about(job)}
        log.log(level, "%s %s", who, said, extra=extra, exc_info=error)

    def _log(self, level: int, event: str, said: str) -> None:
        worker_id = self.settings.worker_id
        extra = {"pgbaton_event": event, "worker_id": worker_id}
        log.log(level, "worker %s %s", worker_id, said, extra=extra)


def about(job: ClaimedJob) -> dict[str, Any]:
    """Fields of a log record."""
    return {
        "job_id": job.id,
        "queue": job.queue,
        "job_type": job.job_type,
        "singleton_key": job.singleton_key,
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
    }


def most(job: ClaimedJob) -> str:
    return "unlimited" if job.max_attempts is None else str(job.max_attempts - 1)


def is_last(run: Run, failed: Failed) -> bool:
    """Whether the job failed for good."""
    job = run.job
    return failed.is_permanent or (job.max_attempts is not None and job.attempt >= job.max_attempts)


def in_a_sentence(error: BaseException) -> str:
    """Of the server's errors the sentence, without the functions that called each other."""
    return sentence(error) if isinstance(error, psycopg.Error) else str(error)


def kind_of(run: Run, outcome: Outcome) -> str:
    """As `Counts` has it."""
    if isinstance(outcome, Completed):
        return "completed"
    if isinstance(outcome, Failed):
        return "failed" if is_last(run, outcome) else "retried"
    return "given_back" if isinstance(outcome, Released) else "stopped"


def tell(observer: Observer, failure: Failure) -> Outcome:
    """In a thread."""
    try:
        contextvars.copy_context().run(observer, failure)
    except BaseException:
        log_hook(observer)
    return Completed()


def log_hook(observer: Observer) -> None:
    log.exception("the hook %r failed", observer, extra={"pgbaton_event": "hook"})


def concluded(run: Run, outcome: Outcome) -> Outcome:
    """What an outcome means when the handler was asked to stop."""
    reason = run.cancel_reason
    if isinstance(outcome, Completed) and not run.has_seen_cancel:
        return outcome
    if reason == "shutdown":
        return Released()
    if reason == "timeout" and not isinstance(outcome, Failed):
        return Failed(f"the handler ran longer than {run.handler.timeout}")
    if reason == "cancelled" and isinstance(outcome, Failed):
        return Stopped(outcome.message)
    if reason == "cancelled":
        return Stopped()
    if isinstance(outcome, Stopped):
        return Failed("the handler raised Cancelled, but nobody had asked it to stop")
    return outcome
