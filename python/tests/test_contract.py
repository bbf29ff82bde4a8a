"""The client and the functions in the database are one contract, on every major that is here."""

from __future__ import annotations

import inspect
import re
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from pgbaton import (
    DEFAULT,
    AsyncClient,
    Client,
    JobSearch,
    JobState,
    NewJob,
    UnknownJob,
    Verdict,
    _assemble,
    _calls,
)
from pgbaton.embedded import Bindir, default_bindir, find_bindirs, temporary_server
from pgbaton.install import install, version

# functions/spark is called by pgbaton.spark, not by a client.
AUDIENCES = {"queue", "producer", "worker", "operator", "monitor"}
SIGNATURES = """
    select p.proname, p.proargnames[:p.pronargs], p.pronargs - p.pronargdefaults,
        pg_get_function_arguments(p.oid)
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'pgbaton'::regnamespace
"""
OTHER_MAJORS = {b.major: b for b in find_bindirs() if b.major != default_bindir().major}


@dataclass(frozen=True)
class Function:
    parameters: list[str]
    required: list[str]
    defaults: dict[str, str]


def major_name(bindir: Bindir | None) -> str:
    return f"pg{bindir.major}" if bindir else "default"


@pytest.fixture(scope="module", params=[None, *OTHER_MAJORS.values()], ids=major_name)
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    bindir: Bindir | None = request.param
    if bindir is None:
        yield request.getfixturevalue("server_dsn")
    else:
        with temporary_server(bindir) as other:
            yield other.dsn()


@pytest.fixture(scope="module")
def database(server: str) -> Iterator[str]:
    name = f"pgbaton_contract_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
        dsn = make_conninfo(server, dbname=name)
        install(dsn)
        yield dsn
        admin.execute(sql.SQL("drop database {}").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def functions(database: str) -> dict[str, Function]:
    """The public functions as the database has them."""
    with psycopg.connect(database) as conn:
        rows = conn.execute(SIGNATURES).fetchall()
    return {
        name: Function(names or [], (names or [])[:required], default_texts(arguments))
        for name, names, required, arguments in rows
        if name in public_names()
    }


def public_names() -> set[str]:
    files = _assemble.function_files(_assemble.source_root())
    return {file.stem for file in files if _assemble.audience_of(file) in AUDIENCES}


def default_texts(arguments: str) -> dict[str, str]:
    """Defaults that are not null, as text: {'priority': '100', 'lease': '00:05:00', ...}."""
    found = re.findall(r"(\w+) [^,]*? DEFAULT (?:'([^']*)'::|(\w+))", arguments)
    return {name: quoted or bare for name, quoted, bare in found if bare != "NULL"}


def methods() -> dict[str, Callable[..., Any]]:
    public = {name: value for name, value in vars_of(Client).items() if not name.startswith("_")}
    return {name: method for name, method in public.items() if name != "close"}


def vars_of(kind: type) -> dict[str, Callable[..., Any]]:
    return dict(inspect.getmembers(kind, inspect.isfunction))


def parameters_of(method: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    return {n: p for n, p in inspect.signature(method).parameters.items() if n != "self"}


def test_every_public_function_is_a_method_and_there_are_no_others(
    functions: dict[str, Function],
) -> None:
    assert set(functions) == public_names() == set(methods())


def test_parameters_have_the_same_names_in_the_same_order(functions: dict[str, Function]) -> None:
    theirs = {name: function.parameters for name, function in functions.items()}
    assert {name: list(parameters_of(method)) for name, method in methods().items()} == theirs


def test_what_may_be_left_out_is_the_same_and_no_default_is_stated_twice(
    functions: dict[str, Function],
) -> None:
    for name, method in methods().items():
        parameters = parameters_of(method)
        required = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]
        assert required == functions[name].required, name
        stated = {parameters[n].default for n in parameters if n not in required}
        assert stated <= {None, DEFAULT}, name


def test_docstrings_name_every_parameter_with_its_default(functions: dict[str, Function]) -> None:
    for name, method in methods().items():
        doc = inspect.getdoc(method) or ""
        described = dict(
            re.findall(r"^    (\w+) \(\S.*?\): (.*?)(?=^    \w+ \(|^$|\Z)", doc, re.M | re.S)
        )
        assert list(described) == functions[name].parameters, name
        for parameter, default in functions[name].defaults.items():
            spoken = {
                "00:00:01": "1 second",
                "00:00:05": "5 seconds",
                "00:00:30": "30 seconds",
                "00:01:00": "1 minute",
                "00:05:00": "5 minutes",
                "00:15:00": "15 minutes",
                "01:00:00": "1 hour",
            }
            wanted = {"": "''", "00:00:00": "0"}.get(default) or spoken.get(default, default)
            text = " ".join(described[parameter].split())
            assert re.search(
                rf"[Dd]efault {re.escape(wanted)}\b|[Dd]efault {re.escape(wanted)}[,;.]", text
            ), (
                name,
                parameter,
                text,
            )
        assert ("Returns:" in doc) == (inspect.signature(method).return_annotation != "None"), name


def test_the_asynchronous_client_has_the_same_calls_and_nothing_but_its_streams_besides() -> None:
    theirs = {name: m for name, m in vars_of(AsyncClient).items() if not name.startswith("_")}
    mine = {**methods(), "close": Client.close}
    assert set(theirs) - set(mine) <= {"stream_jobs"}
    for name, method in mine.items():
        assert inspect.signature(theirs[name]) == inspect.signature(method), name
        assert inspect.getdoc(theirs[name]) == inspect.getdoc(method), name
        assert inspect.iscoroutinefunction(theirs[name]), name
        assert not inspect.iscoroutinefunction(method), name


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """What was called so far, and with which parameters."""
    calls: dict[str, set[str]] = defaultdict(set)
    build = _calls.statement

    def record(function: str, parameters: tuple[str, ...]) -> bytes:
        calls[function].update(parameters)
        return build(function, parameters)

    monkeypatch.setattr(_calls, "statement", record)
    return calls


def test_every_function_takes_every_parameter(
    database: str, functions: dict[str, Function], sent: dict[str, set[str]]
) -> None:
    with Client(database) as client:
        make_queues(client)
        enqueue(client)
        work(client)
        cancel(client)
        bury(client)
        repair(client)
        let_go(client)
        wait_for_jobs_of_others(client)
        schedule(client)
        look(client)
        assert client.version() == version()
    assert sent == {name: set(function.parameters) for name, function in functions.items()}


SETTINGS: dict[str, Any] = {
    "on_exhausted": "continue",
    "max_attempts": 1,
    "retry_delay": timedelta(seconds=2),
    "retry_backoff": False,
    "retry_delay_max": timedelta(minutes=3),
    "backoff_schedule": [timedelta(seconds=1), "1 month"],
    "lease": timedelta(minutes=4),
    "retention": timedelta(days=2),
    "dead_letter_retention": timedelta(days=3),
    "max_lanes": 20,
    "description": 'the "contract"',
}


def make_queues(client: Client) -> None:
    client.create_queue("all settings", policy="fifo", **SETTINGS)
    client.create_fifo_queue("all fifo settings", **SETTINGS)
    client.create_queue("changed")
    client.update_queue("changed", policy="fifo", **SETTINGS)
    client.update_queue("changed", max_lanes=20)
    as_read = {**SETTINGS, "backoff_schedule": [timedelta(seconds=1), timedelta(days=30)]}
    for info in client.list_queues():
        assert info.policy == "fifo"
        assert {name: getattr(info, name) for name in SETTINGS} == as_read
    client.create_queue("mail", retry_delay=timedelta(0), retry_backoff=False)
    client.create_fifo_queue("orders", max_attempts=1)
    client.set_queue_limits("mail", max_running=3, rate_count=10, rate_interval="1 minute")
    client.set_queue_limits("changed")
    [limits] = client.list_queue_limits()
    assert (limits.queue, limits.max_running, limits.running) == ("mail", 3, 0)
    assert (limits.rate_count, limits.rate_interval) == (10, timedelta(minutes=1))
    assert (limits.rate_burst, limits.key_limit, limits.next_start_at) == (10, None, None)
    client.create_queue("shared", "singleton")
    client.set_queue_limits("shared", key_limit=2)
    client.set_queue_limits("mail", rate_count=4, rate_interval="1 s", rate_burst=2)
    assert [(limits.key_limit, limits.rate_burst) for limits in client.list_queue_limits()] == [
        (None, 2),
        (2, None),
    ]
    client.set_queue_limits(
        "shared", key_rate_count=2, key_rate_interval="1 minute", key_rate_burst=1
    )
    rates = [
        (limits.key_rate_count, limits.key_rate_interval, limits.key_rate_burst)
        for limits in client.list_queue_limits()
    ]
    assert rates == [(None, None, None), (2, timedelta(minutes=1), 1)]
    client.set_queue_limits("mail")
    client.drop_queue("shared")
    client.pause_queue("mail")
    assert [info.queue for info in client.list_queues() if info.is_paused] == ["mail"]
    client.resume_queue("mail")


LATER = datetime(2126, 1, 2, 3, 4, 5, 678901, timezone(timedelta(hours=5, minutes=30)))


def enqueue(client: Client) -> None:
    job_id = client.enqueue_job(
        "mail",
        {"to": ["ü", None, 1.5, {"a": True}]},
        priority=150,
        singleton_key="k",
        job_type="letter",
        tags=["b", "a", "b"],
        run_at=LATER,
        max_attempts=7,
        retry_delay=timedelta(seconds=1),
        retry_backoff=True,
        backoff_schedule=[timedelta(hours=1)],
        keys_if_undelivered=[["failed", "k"]],
        dedup_id="once",
        on_duplicate="skip",
        headers={"of": "one"},
    )
    client.create_queue("index")
    for _ in range(2):
        client.enqueue_job(
            "index",
            dedup_id="item",
            on_duplicate="replace",
            debounce=timedelta(seconds=5),
            max_wait=timedelta(minutes=1),
        )
    [index] = client.queue_stats("index")
    assert (index.scheduled, index.total) == (1, 1)
    info = client.get_job(job_id)
    assert info.headers == {"of": "one"}
    assert info.payload == {"to": ["ü", None, 1.5, {"a": True}]}
    assert (info.priority, info.singleton_key, info.job_type) == (150, "k", "letter")
    assert (info.tags, info.run_at, info.max_attempts) == (["a", "b"], LATER, 7)
    assert (info.state, info.dedup_id, info.attempt) == (JobState.PENDING, "once", 0)
    assert "runs not before" in client.why_not_running(job_id)

    delayed = client.get_job(client.enqueue_job("mail", delay=timedelta(days=1)))
    assert delayed.run_at is not None
    wait = delayed.run_at - delayed.created_at
    assert timedelta(hours=23) < wait <= timedelta(days=1)

    outcomes = client.enqueue_jobs(
        "mail",
        [{"dedup_id": "once", "on_duplicate": "skip"}, {"payload": [1], "delay": "1 hour"}],
    )
    assert [(o.ordinal, o.outcome) for o in outcomes] == [(1, "duplicate"), (2, "enqueued")]
    assert outcomes[0].job_id == job_id

    ids = client.enqueue_batch(
        "mail",
        [1, "two", None, {}],
        singleton_keys=["a", None, "b", '"\\{},'],
        priority=30,
        job_type="batch",
        tags=["t"],
        run_at=LATER,
        headers={"of": "all"},
    )
    jobs = [client.get_job(job_id) for job_id in ids]
    assert [job.payload for job in jobs] == [1, "two", None, {}]
    assert [job.singleton_key for job in jobs] == ["a", None, "b", '"\\{},']
    assert {job.run_at for job in jobs} == {LATER}
    assert [job.headers for job in jobs] == [{"of": "all"}] * 4
    assert client.get_job_stats(["t"]).pending_jobs == 4
    publish(client)


def publish(client: Client) -> None:
    backoff = client.two_phase_backoff(
        fast_retries=3,
        fast_min=timedelta(seconds=2),
        fast_max=timedelta(seconds=5),
        slow_retries=1,
        slow_delay="1 hour",
    )
    assert backoff == [*(timedelta(seconds=s) for s in (2, 4, 5)), timedelta(hours=1)]
    client.create_fifo_queue("hooks", backoff_schedule=backoff)
    client.subscribe("hooks", "order.*")
    client.subscribe("hooks", "#.paid")
    client.subscribe("mail", "order.paid")
    patterns = [s.topic_pattern for s in client.list_subscriptions("hooks")]
    assert patterns == ["#.paid", "order.*"]
    options: dict[str, Any] = {"priority": 30, "job_type": "hook", "tags": ["published"]}
    options["headers"] = {"of": "news"}
    ids = client.publish("order.paid", {"id": 1}, singleton_key="order 1", run_at=LATER, **options)
    jobs = {job.queue: job for job in map(client.get_job, ids)}
    assert set(jobs) == {"hooks", "mail"}
    for job in jobs.values():
        assert (job.payload, job.singleton_key, job.run_at) == ({"id": 1}, "order 1", LATER)
        assert (job.priority, job.job_type, job.tags) == (30, "hook", ["published"])
        assert job.headers == {"of": "news"}
    [sent] = client.publish("order.made", None, delay=timedelta(hours=1))
    assert client.get_job(sent).singleton_key == "hooks"
    assert client.unsubscribe("hooks", "order.*")
    assert not client.unsubscribe("hooks", "order.*")
    assert client.publish("order.made", {}) == []
    assert client.job_id_of("mail", "never") is None
    assert client.job_id_of("mail", "once") is not None


def work(client: Client) -> None:
    ids = client.enqueue_batch("mail", range(8), job_type="now", tags=["x"])
    jobs = client.claim_job_batch(
        "worker", ["mail"], ["now"], ["x"], batch_size=8, lease=timedelta(minutes=1)
    )
    assert [(job.id, job.payload, job.attempt) for job in jobs] == [
        (job_id, n, 1) for n, job_id in enumerate(ids)
    ]
    assert {job.lease_until - job.claimed_at for job in jobs} == {timedelta(minutes=1)}
    token = jobs[0].lease_token
    assert [v.verdict for v in client.start_jobs([*ids, 10**15], token)] == [
        *["ok"] * 8,
        "not_found",
    ]
    assert client.report_progress(ids[0], token, 50, "half", 3) == "ok"
    assert client.extend_leases(ids[:1], token, timedelta(hours=1))[0].verdict == "ok"
    lease = client.get_job(ids[0])
    assert (lease.progress, lease.current_stage, lease.events_count) == (50, "half", 3)
    assert lease.lease_until is not None
    assert lease.lease_until - jobs[0].claimed_at > timedelta(minutes=59)

    client.complete_job(ids[0], {"done": True}, token)
    verdicts = client.complete_jobs(ids[:3], token, [None, [1], None])
    assert [(v.ordinal, v.job_id, v.verdict) for v in verdicts] == [
        (1, ids[0], "invalid_state"),
        (2, ids[1], "ok"),
        (3, ids[2], "ok"),
    ]
    results = [client.get_job(job_id).result for job_id in ids[:3]]
    assert results == [{"done": True}, [1], None]

    more = client.enqueue_batch("mail", [{"n": 1}, {"n": 2}], job_type="more", tags=["more"])
    filters = ("worker", ["mail"], ["more"], ["more"], 1, timedelta(minutes=1))
    begun = client.complete_and_claim([], None, *filters)
    assert ([job.id for job in begun.jobs], begun.refused) == (more[:1], [])
    done = client.complete_and_claim(
        [10**15, more[0]], begun.jobs[0].lease_token, *filters, results=[None, ["well"]]
    )
    assert done.refused == [Verdict(1, 10**15, "not_found")]
    assert [(job.id, job.payload, job.attempt) for job in done.jobs] == [(more[1], {"n": 2}, 1)]
    assert client.get_job(more[0]).result == ["well"]
    client.complete_job(more[1], None, done.jobs[0].lease_token)

    assert client.fail_job(ids[3], "no", token, False, timedelta(0)) is JobState.FAILED
    assert (
        client.fail_job(ids[4], "again", token, retry_in=timedelta(hours=1), error_stack="line 1")
        is JobState.RETRY
    )
    failed = client.fail_jobs([ids[5]], ["no"], token, retryable=False, error_stacks=["line 2"])
    assert failed[0].verdict == "ok"
    [again], [no] = client.job_attempts(ids[4], max_rows=1), client.job_attempts(ids[5])
    assert (again.attempt, again.outcome, again.error_message) == (1, "failed", "again")
    assert (again.error_stack, no.error_stack, no.worker_id) == ("line 1", "line 2", "worker")
    assert again.claimed_at == jobs[0].claimed_at
    assert again.ended_at is not None
    assert client.release_jobs([ids[6]], token, timedelta(hours=1), "later")[0].verdict == "ok"
    assert client.get_job(ids[6]).attempt == 0
    assert [job.lease_token for job in client.claimed_jobs(token, 0, ids[-1])] == [token]
    assert client.complete_claim(token) == 1
    assert client.claimed_jobs(token) == []
    assert client.queue_stats("mail")[0].dlq == 2

    assert client.worker_heartbeat("worker", capacity=4, tags=["x"]) == []
    client.worker_heartbeat("gone")
    assert client.unregister_worker("gone")
    assert not client.unregister_worker("gone")
    assert client.run_maintenance()["recovered"] == 0
    done = client.run_maintenance(once_a_minute=True)
    assert "recovered" in done or done == {"skipped": "it was done in this minute"}

    client.enqueue_job("mail", job_type="idle", tags=["y"])
    sleep = client.wait_for_jobs("worker", ["mail"], ["idle"], ["y"], timedelta(seconds=7))
    assert sleep.wait == timedelta(0)
    for _ in range(2):  # the first time it looks again at once
        asleep = client.wait_for_jobs("worker", ["mail"], ["other"], max_wait="7 seconds")
    assert (asleep.channel, asleep.wait) == (sleep.channel, timedelta(seconds=7))


NOBODY = 10**15


def cancel(client: Client) -> None:
    stopped, unknown, *others = client.enqueue_batch("mail", range(5), tags=["cancel"])
    [job, *_] = client.claim_job_batch("canceller", ["mail"], tags=["cancel"], batch_size=4)
    token = job.lease_token
    client.stop_job(stopped, "enough", token)
    client.mark_job_unknown_stopped(unknown, "who knows")
    outcome = client.cancel_jobs(["cancel"], [stopped, NOBODY])
    assert (outcome.cancelled_job_ids, outcome.unknown_job_ids) == (others, [stopped, NOBODY])
    assert client.worker_heartbeat("canceller") == others[:2]
    client.acknowledge_cancellation(others[0], was_executing=True, lease_token=token)
    client.stop_job_with_retry(others[1], "no", token)

    jobs = [client.get_job(job_id) for job_id in [stopped, unknown, *others]]
    assert [(job.state, job.error_message) for job in jobs] == [
        (JobState.STOPPED, "enough"),
        (JobState.UNKNOWN_STOPPED, "who knows"),
        (JobState.STOPPED, None),
        (JobState.STOPPED, "no"),
        (JobState.UNSCHEDULED, None),
    ]
    assert [job.retry_count for job in jobs] == [0, 0, 0, 1, 0]
    client.complete_job(unknown, lease_token=token)
    assert client.get_job(unknown).state is JobState.COMPLETED
    assert client.cleanup_expired_jobs(ttl=timedelta(days=1)) == 0
    assert client.delete_jobs(["cancel"], [stopped, NOBODY]) == 5
    with pytest.raises(UnknownJob):
        client.get_job(stopped)


def bury(client: Client) -> None:
    client.create_queue("letters", max_attempts=1)
    start = datetime.now(UTC) - timedelta(hours=1)
    ids = [
        client.enqueue_job("letters", {"n": n}, keys_if_undelivered=[["letters", str(n)]])
        for n in range(4)
    ]
    token = client.claim_job_batch("worker", ["letters"])[0].lease_token
    for n, job_id in enumerate(ids):
        client.fail_job(job_id, f"no {n}", token)

    assert [job.id for job in client.list_dead_jobs("letters", 2, 1)] == [ids[2], ids[1]]
    dead = client.get_dead_job(ids[1])
    assert dead in client.list_dead_jobs()
    assert (dead.queue, dead.payload, dead.error_message) == ("letters", {"n": 1}, "no 1")
    assert (dead.attempts, dead.holds_key, dead.singleton_key) == (1, False, None)

    assert client.kv_get(["letters", "1"]) == {"n": 1}
    assert [e.key for e in client.kv_list(["letters"])] == [["letters", str(n)] for n in range(4)]
    assert client.kv_delete(["letters", "1"])
    assert not client.kv_delete(["letters", "1"])
    assert client.kv_get(["letters", "1"]) is None

    page = client.find_jobs({"queue": "letters", "states": ["failed"]}, 3, oldest_first=True)
    assert page.job_ids == ids[:3]
    rest = client.find_jobs(
        {"queue": "letters", "states": ["failed"]}, after=page.next_after, oldest_first=True
    )
    assert (rest.job_ids, rest.next_after) == (ids[3:], None)
    [listed] = client.list_jobs(rest.job_ids)
    assert (listed.id, listed.state, listed.error_message) == (ids[3], JobState.FAILED, "no 3")
    some = JobSearch(queue="letters", payload={"n": 3}, created_after=start)
    found = client.act_on_jobs("retry", some, "why", max_rows=5, after="0/0", dry_run=True)
    assert (found.done, found.passed_over, found.next_after) == (1, 0, None)
    found = client.act_on_jobs("reschedule", some, dry_run=True, run_at=start)
    assert found.done == client.act_on_jobs("prioritize", some, dry_run=True, priority=7).done == 0

    again = client.requeue_dead_job(ids[0])
    assert client.get_job(again).payload == {"n": 0}
    client.delete_dead_job(ids[1])
    assert [client.get_job(job_id).resolution for job_id in ids[:2]] == ["requeued", "deleted"]
    assert client.retry_jobs("letters", {"error": "no 2", "failed_after": start}) == 1
    assert client.get_job(ids[2]).state is JobState.RETRY
    assert client.purge_dead_jobs("letters", force=False) == 1
    assert client.list_dead_jobs("letters") == []


def repair(client: Client) -> None:
    first, second, third = client.enqueue_batch("orders", [1, 2, 3], ["a", "a", "a"])
    fail_next(client, first)
    assert client.get_blocked_keys("orders") == ["a"]
    [blocked] = client.blocked_keys("orders", include_busy=False)
    found = client.find_blocked_keys("orders", "a", max_rows=1)
    assert client.list_blocked_keys(found.job_ids) == [blocked]
    assert client.find_blocked_keys("orders", after="retry/0/0//0").job_ids == []
    assert (blocked.singleton_key, blocked.job_id, blocked.state) == ("a", first, JobState.FAILED)
    assert (blocked.waiting_count, blocked.last_error, blocked.next_run_at) == (2, "no", None)

    client.retry_job("orders", first, extra_attempts=1)
    fail_next(client, first)
    client.skip_job("orders", first, reason="a test")
    assert client.get_job(first).resolution == "skipped"
    [outcome] = client.job_outcomes([first, second])
    assert (outcome.job_id, outcome.state, outcome.resolution) == (first, "failed", "skipped")
    assert client.wait_for_outcomes([first], timedelta(0)) == [outcome]
    fail_next(client, second)
    client.delete_job("orders", second)
    later = datetime.now(UTC) + timedelta(hours=1)
    assert client.reschedule_job("orders", third, later) == "ok"
    assert client.get_job(third).run_at == later
    assert client.change_priority("orders", third, priority=200) == "ok"
    assert client.get_job(third).priority == 200
    assert client.reschedule_job("orders", third) == "ok"
    assert claim_one(client, third) == "worker"
    assert client.mark_worker_unresponsive("worker") == 1
    assert client.recover_stale_jobs(timeout=timedelta(0), queue="orders") == 0


def wait_for_jobs_of_others(client: Client) -> None:
    client.create_queue("parents", max_attempts=1)
    parent = client.enqueue_job("parents")
    child = client.enqueue_job("parents", after=[parent], on_failed="wait")
    [first] = client.claim_job_batch("worker", ["parents"])
    client.fail_job(first.id, "no", first.lease_token)
    assert client.claim_job_batch("worker", ["parents"]) == []
    [blocked] = client.blocked_jobs("parents", max_rows=10)
    assert (blocked.job_id, blocked.waits_for, blocked.last_error) == (child, parent, "no")
    [edge] = client.job_dependencies(parent, max_rows=10)
    assert (edge.job_id, edge.waits_for, edge.state, edge.on_failed, edge.is_settled) == (
        child, parent, JobState.PENDING, "wait", False,
    )  # fmt: skip
    client.stop_waiting("parents", child, reason="a test")
    [second] = client.claim_job_batch("worker", ["parents"])
    [outcome] = client.parent_outcomes(child, lease_token=second.lease_token)
    assert (outcome.job_id, outcome.state, outcome.error_message) == (parent, "failed", "no")
    client.complete_job(child)
    jobs: list[NewJob] = [{}, {"after_ordinals": [1], "on_failed": "run"}]
    assert [outcome.outcome for outcome in client.enqueue_jobs("parents", jobs)] == ["enqueued"] * 2


def fail_next(client: Client, job_id: int) -> None:
    [job] = client.claim_job_batch("worker", ["orders"])
    assert job.id == job_id
    assert client.fail_job(job.id, "no", job.lease_token) is JobState.FAILED


def claim_one(client: Client, job_id: int) -> str | None:
    client.claim_job_batch("worker", ["orders"])
    return client.get_job(job_id).worker_id


def let_go(client: Client) -> None:
    """Calls that change a key or a queue as a whole."""
    client.create_queue("moves")
    first, second = client.enqueue_batch("moves", [1, 2], ["a", "a"])
    client.set_fifo_mode("moves", True)
    assert client.get_job(second).state is JobState.WAITING
    client.pause_key("moves", "a")
    [paused] = client.list_paused_keys("moves")
    assert (paused.queue, paused.singleton_key) == ("moves", "a")
    assert client.list_paused_keys(max_rows=1) == [paused]
    assert client.list_paused_keys("moves", after_key=paused.singleton_key) == []
    [stat] = client.fifo_stats("moves")
    assert (stat.singleton_key, stat.queue_depth, stat.is_paused) == ("a", 2, True)
    assert (stat.current_job_id, stat.current_state) == (first, JobState.PENDING)
    assert client.claim_job_batch("worker", ["moves"]) == []
    client.resume_key("moves", "a")

    assert [job.id for job in client.claim_job_batch("worker", ["moves"])] == [first]
    assert client.reset_running_jobs("moves") == 1
    client.reset_fifo_key("moves", "a", reason="a test")
    assert [job.attempt for job in client.claim_job_batch("worker", ["moves"])] == [2]
    client.set_fifo_mode("moves", False, force=True)
    assert [job.id for job in client.claim_job_batch("worker", ["moves"])] == [second]

    client.grant_queue("pgbaton_worker", "moves", "work")
    assert "moves" in client.granted_queues("work")
    assert client.revoke_queue("pgbaton_worker", "moves", "work")
    assert not client.revoke_queue("pgbaton_worker", "moves", "work")
    client.drop_queue("moves", force=True)
    assert "moves" not in client.granted_queues()


def schedule(client: Client) -> None:
    first = client.create_schedule(
        "report",
        "mail",
        "0 9 1 1 *",
        time_zone="Asia/Tokyo",
        payload={"what": "year"},
        priority=30,
        singleton_key="k",
        job_type="report",
        tags=["b", "a"],
        missed_runs="skip",
    )
    at = first.astimezone(UTC)
    assert (at.month, at.day, at.hour, at.minute) == (1, 1, 0, 0)
    [info] = client.list_schedules()
    assert (info.name, info.queue, info.cron) == ("report", "mail", "0 9 1 1 *")
    assert (info.time_zone, info.payload, info.priority) == ("Asia/Tokyo", {"what": "year"}, 30)
    assert (info.singleton_key, info.job_type, info.tags) == ("k", "report", ["a", "b"])
    assert (info.missed_runs, info.next_run_at, info.last_run_at) == ("skip", first, None)
    assert client.pause_schedule("report") is None
    assert client.list_schedules()[0].is_paused
    assert client.pause_schedule("report", paused=False) == first
    made = client.run_schedule("report")
    assert client.get_job(made).payload == {"what": "year"}
    [entry] = client.list_audit(job_id=made)
    assert (entry.action, entry.queue, entry.reason) == ("run_schedule", "mail", "report")
    assert (entry.job_id, entry.singleton_key) == (made, "k")
    assert client.list_audit("mail", max_rows=1, before_id=entry.id + 1) == [entry]
    assert client.drop_schedule("report")
    assert not client.drop_schedule("report")


def look(client: Client) -> None:
    [live] = client.live_stats("mail")
    [up_to_one] = client.live_stats("mail", most=1)
    assert (up_to_one.dlq, up_to_one.scheduled) == (min(live.dlq, 1), min(live.scheduled, 1))
    [stat] = client.queue_stats("mail")
    assert (live.policy, live.is_paused, live.dlq) == ("standard", False, stat.dlq)
    assert live.retrying + live.recovered == stat.retrying
    [total] = client.job_totals("mail", max_age=timedelta(0))
    assert sum(total.run_jobs) >= total.completed > 0
    classes = {len(total.run_jobs), len(total.wait_jobs), len(total.blocked_jobs)}
    assert classes == {len(total.bounds) + 1}
    assert sum(total.wait_jobs) >= total.completed
    assert total.wait_seconds > 0
    assert (total.blocked_seconds, total.failed_attempts > 0) == (0, True)
    assert total.lease_losses == 0
    assert isinstance(client.wake_ups(), int)
    workers = {worker.worker_id: worker for worker in client.list_workers()}
    assert (workers["worker"].capacity, workers["worker"].tags) == (4, ["x"])
    assert workers["worker"].asleep_at is None
    checks = client.health()
    assert {check.status for check in checks} <= {"ok", "warn", "bad"}
    assert {"oldest snapshot", "notify queue", "stale workers"} <= {c.check_name for c in checks}
    assert all(check.detail for check in checks)
