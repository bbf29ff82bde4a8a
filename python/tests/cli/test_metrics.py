"""The exporter: what it says, that counters go on, and that docs and dashboard fit to it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import promql_parser
import psycopg
import pytest
import yaml
from commands import Command, fail_one
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from pgbaton import Client, _assemble
from pgbaton.metrics import Collector

DOCS = _assemble.source_root() / "docs"
MONITORING = DOCS / "monitoring"
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(client: Client, keys: int = 0, max_age: float = 0) -> Samples:
    return parse(exposition(client, keys, max_age))


def exposition(client: Client, keys: int = 0, max_age: float = 0) -> str:
    registry = CollectorRegistry()
    registry.register(Collector(client, keys=keys, max_age=max_age))
    return generate_latest(registry).decode()


def parse(text: str) -> Samples:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


@pytest.fixture
def busy(client: Client) -> Client:
    """Something of everything, so that every metric has a series."""
    client.enqueue_batch("mail", range(10))
    done, failed, *_ = client.claim_job_batch("w", ["mail"], batch_size=5)
    client.complete_job(done.id, lease_token=done.lease_token)
    client.fail_job(failed.id, "no", failed.lease_token)
    fail_one(client, key="stuck")
    client.enqueue_job("orders", singleton_key="stuck")
    let_go = fail_one(client, key="free")
    client.skip_job("orders", let_go)
    client.worker_heartbeat("w")
    client.wait_for_jobs("asleep", ["orders"], ["none"])
    until_counted(client)
    return client


def until_counted(client: Client) -> None:
    """The server's statistics are late; what they have not told of yet is not counted."""
    while True:
        mail, orders = client.job_totals(max_age=timedelta(0))
        if mail.completed == mail.failed_attempts == orders.failed == sum(orders.blocked_jobs) == 1:
            return


def test_gauges(busy: Client) -> None:
    samples = read(busy, keys=1)
    jobs = {
        (dict(labels)["queue"], dict(labels)["state"]): amount
        for (name, labels), amount in samples.items()
        if name == "pgbaton_jobs" and amount
    }
    assert jobs == {
        ("mail", "pending"): 5,
        ("mail", "processing"): 3,
        ("mail", "failed"): 1,
        ("orders", "waiting"): 1,
        ("orders", "failed"): 1,
    }
    assert value(samples, "pgbaton_up") == 1
    assert value(samples, "pgbaton_build_info", version=busy.version()) == 1
    assert value(samples, "pgbaton_oldest_ready_age_seconds", queue="mail") > 0
    assert value(samples, "pgbaton_oldest_ready_age_seconds", queue="orders") == 0
    assert value(samples, "pgbaton_blocked_keys", queue="orders") == 1
    assert value(samples, "pgbaton_longest_block_seconds", queue="orders") > 0
    assert value(samples, "pgbaton_key_jobs", queue="orders", key="stuck") == 2
    assert value(samples, "fifo_subscription_queue_depth", subscription_id="orders") == 1
    assert value(samples, "fifo_subscription_current_retry_count", subscription_id="orders") == 0
    assert value(samples, "pgbaton_workers") == 1
    assert value(samples, "pgbaton_sleeping_workers") == 1
    assert value(samples, "pgbaton_stale_workers") == 0
    assert value(samples, "pgbaton_health_status", check="failed jobs") == 2


def test_names_of_specification_d_are_aliases(busy: Client) -> None:
    samples = read(busy)
    for ours, name_of_d in (
        ("pgbaton_fifo_jobs", "fifo_subscription_queue_depth"),
        ("pgbaton_blocked_key_retries", "fifo_subscription_current_retry_count"),
        ("pgbaton_block_duration_seconds", "fifo_subscription_blocked_duration_seconds"),
    ):
        for (name, labels), amount in samples.items():
            if name.startswith(ours):
                renamed = {k if k == "le" else "subscription_id": v for k, v in labels}
                assert value(samples, name.replace(ours, name_of_d), **renamed) == amount
    assert value(samples, "pgbaton_block_duration_seconds_count", queue="orders") == 1


def test_latencies(client: Client, dsn: str) -> None:
    """From enqueue or due to claim, and from claim to end, by queue."""
    client.enqueue_batch("mail", [1, 2])
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("update pgbaton.job set created_at = created_at - interval '20 seconds'")
    client.enqueue_job("mail")
    jobs = client.claim_job_batch("w", ["mail"], batch_size=5)
    client.complete_jobs([job.id for job in jobs], jobs[0].lease_token)
    while sum(client.job_totals("mail", max_age=timedelta(0))[0].wait_jobs) < len(jobs):
        pass  # the statistics of the server are late
    samples = read(client)
    bucket = "pgbaton_job_wait_seconds_bucket"
    assert value(samples, bucket, queue="mail", le="15.0") == len(jobs) - 2
    assert value(samples, bucket, queue="mail", le="60.0") == len(jobs)
    assert value(samples, "pgbaton_job_wait_seconds_sum", queue="mail") >= 40
    assert value(samples, "pgbaton_job_duration_seconds_count", queue="mail") == len(jobs)
    assert value(samples, "pgbaton_job_wait_seconds_count", queue="orders") == 0


def test_counters_go_on_after_a_restart_and_when_history_is_removed(busy: Client) -> None:
    before = read(busy)
    assert value(before, "pgbaton_jobs_enqueued_total", queue="mail") == 10
    assert value(before, "pgbaton_jobs_ended_total", queue="mail", state="completed") == 1
    assert value(before, "pgbaton_jobs_ended_total", queue="orders", state="failed") == 1
    assert value(before, "pgbaton_failed_attempts_total", queue="orders") == 2
    assert value(before, "pgbaton_job_duration_seconds_count", queue="mail") == 1
    blocked = "fifo_subscription_blocked_duration_seconds"
    assert value(before, f"{blocked}_count", subscription_id="orders") == 1
    assert value(before, f"{blocked}_bucket", subscription_id="orders", le="86400.0") == 1
    assert value(before, f"{blocked}_sum", subscription_id="orders") > 0

    assert busy.cleanup_expired_jobs(ttl="1 microsecond") == 1
    job_id = busy.enqueue_job("mail")
    after = read(busy)  # by another collector
    for key, was in before.items():
        if key[0].endswith(("_total", "_count", "_bucket", "_sum")):
            assert after[key] >= was, key
    assert value(after, "pgbaton_jobs_enqueued_total", queue="mail") >= 10
    assert job_id


def test_lost_leases_and_wake_ups(client: Client, dsn: str) -> None:
    client.enqueue_batch("mail", range(3))
    client.claim_job_batch("w", ["mail"], batch_size=2)
    before = read(client)
    assert value(before, "pgbaton_lease_losses_total", queue="mail") == 0
    assert value(before, "pgbaton_wake_ups_total") == 0
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("update pgbaton.span set lease_until = '2000-01-01' where state = 'active'")
    assert client.recover_stale_jobs(queue="mail") == 2
    client.wait_for_jobs("asleep", ["orders"])
    client.enqueue_job("orders", singleton_key="a")
    after = read(client)
    assert value(after, "pgbaton_lease_losses_total", queue="mail") == 2
    assert value(after, "pgbaton_lease_losses_total", queue="orders") == 0
    assert value(after, "pgbaton_wake_ups_total") == client.wake_ups() == 1


def test_a_monitor_of_one_queue_does_not_hear_of_wake_ups(client: Client, dsn: str) -> None:
    with psycopg.connect(dsn) as conn:
        conn.execute("create role pgbaton_monitor_of_mail in role pgbaton_monitor")
        conn.execute("select pgbaton.grant_queue('pgbaton_monitor_of_mail', 'mail', 'monitor')")
        conn.execute("set local role pgbaton_monitor_of_mail")
        narrowed = Client(connection=conn)
        assert narrowed.wake_ups() is None
        names = {name for name, _ in read(narrowed)}
        assert "pgbaton_lease_losses_total" in names
        assert "pgbaton_wake_ups_total" not in names
        conn.rollback()


def test_one_counts_and_nobody_waits_for_it(busy: Client, dsn: str) -> None:
    busy.cleanup_expired_jobs(ttl="1 microsecond")
    with psycopg.connect(dsn) as counting:
        Client(connection=counting).job_totals(max_age="0")
        [mail, _] = busy.job_totals(max_age="0")
        assert mail.completed == 1


def test_keys_are_labels_only_when_asked_for(busy: Client) -> None:
    for n in range(5):
        busy.enqueue_job("orders", singleton_key=f"key {n}")
    named = {key for key in read(busy, keys=3) if key[0] == "pgbaton_key_jobs"}
    assert len(named) == 3
    assert not [key for key in read(busy) if key[0].startswith("pgbaton_key_")]


def test_a_database_that_cannot_be_asked_is_down(dsn: str, empty_dsn: str) -> None:
    for client in (Client(empty_dsn), Client("host=127.0.0.1 port=1")):
        with client:
            assert read(client) == {("pgbaton_up", frozenset()): 0}


def test_a_monitor_is_enough(busy: Client, dsn: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("set role pgbaton_monitor")
        assert value(read(Client(connection=conn)), "pgbaton_up") == 1


def test_the_program_serves_them(run: Command, busy: Client, dsn: str) -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "pgbaton.cli", "metrics", "--port", "0", "--dsn", dsn],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    with program:
        assert program.stderr is not None
        address = program.stderr.readline().strip()
        with urlopen(address) as answer:  # noqa: S310
            served = parse(answer.read().decode())
        program.terminate()
    assert program.returncode == 0
    assert served.keys() == parse(run.out("metrics", "--once")).keys()
    assert value(served, "pgbaton_jobs", queue="mail", state="pending") == 5


# Docs, dashboard, alerts -----------------------------------------------------------------------


def labels_by_name(samples: Samples) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for name, labels in samples:
        found[name] |= {label for label, _ in labels}
    return found


def test_the_page_lists_every_metric_with_its_labels(busy: Client) -> None:
    page = (DOCS / "metrics.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| \w+ \|([\w, ]*)\|", page, re.M)
    listed = {name: set(labels.replace(",", "").split()) for name, labels in rows}
    there: dict[str, set[str]] = defaultdict(set)
    for name, labels in labels_by_name(read(busy, keys=1)).items():
        is_listed = name in listed
        there[name if is_listed else re.sub(r"_(bucket|count|sum)$", "", name)] |= labels
    assert listed == there


def expressions() -> Iterator[tuple[str, str]]:
    board = json.loads((MONITORING / "dashboard.json").read_text())
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"].replace("$__rate_interval", "5m")
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            name, label = re.fullmatch(  # type: ignore[union-attr]
                r"label_values\((\w+), (\w+)\)", variable["query"]["query"]
            ).groups()
            yield variable["name"], f"sum by ({label}) ({name})"
    for group in yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]


def selectors(expression: Any) -> Iterator[tuple[str, set[str]]]:
    """Metrics of an expression, each with the labels that are asked of it."""
    match expression:
        case promql_parser.VectorSelector():
            yield expression.name, {m.name for m in expression.matchers.matchers}
        case promql_parser.MatrixSelector():
            yield from selectors(expression.vector_selector)
        case promql_parser.AggregateExpr():
            by = set(expression.modifier.labels) if expression.modifier else set()
            for name, labels in selectors(expression.expr):
                yield name, labels | by
        case promql_parser.Call():
            for argument in expression.args:
                yield from selectors(argument)
        case promql_parser.BinaryExpr():
            matching = expression.modifier.matching if expression.modifier else None
            on = set(matching.labels) if matching else set()
            for side in (expression.lhs, expression.rhs):
                for name, labels in selectors(side):
                    yield name, labels | on
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            yield from selectors(expression.expr)


def asked_for() -> Iterable[tuple[str, str, set[str]]]:
    for where, expression in expressions():
        for name, labels in selectors(promql_parser.parse(expression)):
            yield where, name, labels


def test_dashboard_and_alerts_ask_for_what_there_is(busy: Client) -> None:
    there = labels_by_name(read(busy, keys=1))
    asked = list(asked_for())
    assert len(asked) > 25
    for where, name, labels in asked:
        assert name in there, (where, name)
        assert labels <= there[name], (where, name, labels)
    states = re.findall(r'state="(\w+)"', " ".join(text for _, text in expressions()))
    known = {dict(labels)["state"] for name, labels in read(busy) if name == "pgbaton_jobs"}
    assert set(states) <= known


def test_every_alert_says_what_to_do() -> None:
    page = (DOCS / "metrics.md").read_text()
    alerts = yaml.safe_load((MONITORING / "alerts.yml").read_text())["groups"][0]["rules"]
    tests = yaml.safe_load((MONITORING / "alerts_test.yml").read_text())["tests"][0]
    names = {rule["alert"] for rule in alerts}
    assert {test["alertname"] for test in tests["alert_rule_test"]} == names
    assert all(name in page for name in names)


def test_prometheus_itself_takes_them(busy: Client, tmp_path: Path) -> None:
    assert shutil.which("promtool"), "apt-get install prometheus"

    def promtool(*arguments: str, input: str | None = None, says: str = "") -> None:
        done = subprocess.run(
            ["promtool", *arguments],
            input=input, capture_output=True, text=True, cwd=MONITORING, check=False,
        )  # fmt: skip
        assert done.stderr == says, done.stdout
        assert (done.returncode == 0) == (says == "")

    promtool("check", "rules", "alerts.yml")
    promtool("test", "rules", "alerts_test.yml")
    name_of_d = (
        "fifo_subscription_current_retry_count non-histogram and non-summary metrics "
        'should not have "_count" suffix\n'
    )
    text = exposition(busy, keys=1)
    promtool("check", "metrics", input=text, says=name_of_d)
    ours = "".join(line for line in text.splitlines(True) if "fifo_subscription_" not in line)
    promtool("check", "metrics", input=ours)
    rules = [{"record": f"x{n}", "expr": text} for n, (_, text) in enumerate(expressions())]
    file = tmp_path / "dashboard.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    promtool("check", "rules", str(file))
