"""Two roles, each narrowed to its queues: neither learns of the other's, nor changes them.

Every public function and view of the catalog is called as the one with all that points at the
other: queues, jobs in each state, tokens, runs, attempts, workers, paths, schedules, keys. What is
returned, raised or noticed must not hold a text that only the other knows, nor an id of its jobs.
"""

from __future__ import annotations

import itertools
import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.types.json import Jsonb

ACTIONS = ["enqueue", "work", "operate", "monitor"]
# Upkeep is for all queues, whoever runs it.
FOR_ALL = {"run_maintenance"}
# What is counted or noted for all, whoever looks.
NOTES = ["audit", "job_count", "counted_day", "watermark"]
# A refusal, an argument that is not valid, a run, batch or offset that does not fit.
REFUSALS = {"PB009", "PB001", "PB002", "PB003", "PB013", "PB007", "22023", "22004", "55000"} | {
    "42704",  # no such run
    "22007", "22P02",  # of what is its own
}  # fmt: skip
DIAGNOSTICS = [
    "message_primary", "message_detail", "message_hint", "context", "schema_name", "table_name",
    "constraint_name", "internal_query",
]  # fmt: skip


@dataclass
class Tenant:
    letter: str
    role: str = ""
    fifo: str = ""
    standard: str = ""
    jobs: dict[str, int] = field(default_factory=dict)
    tokens: list[int] = field(default_factory=list)
    attempt: str = field(default_factory=lambda: str(uuid.uuid4()))

    @property
    def secret(self) -> str:
        """In all texts of the tenant, and nowhere else."""
        return f"SECRET-{self.letter}"

    def its(self, name: str) -> str:
        return f"{name} {self.secret}"

    def name_roles(self) -> None:
        self.role = f"tenant_{self.letter}_{uuid.uuid4().hex[:8]}"
        self.fifo, self.standard = self.its("keys"), self.its("mail")


def settle(conn: psycopg.Connection[Any], tenant: Tenant, first_id: int) -> None:
    """Its role, its queues, and something of everything."""
    name = sql.Identifier(tenant.role)
    conn.execute(sql.SQL("create role {} login in role pgbaton_operator").format(name))
    conn.execute(
        "select pgbaton.create_fifo_queue(%s, max_attempts => 1, description => %s),"
        " pgbaton.create_queue(%s, max_attempts => 3)",
        [tenant.fifo, tenant.its("description"), tenant.standard],
    )
    for queue, action in itertools.product([tenant.fifo, tenant.standard], ACTIONS):
        conn.execute("select pgbaton.grant_queue(%s, %s, %s)", [tenant.role, queue, action])
    conn.execute("select setval('pgbaton.job_id_seq', %s)", [first_id])
    conn.execute("discard sequences")
    conn.execute(sql.SQL("set session authorization {}").format(name))
    states = ["active", "cancelling", "failed", "completed", "unknown_stopped", "waiting"]
    for state in states:
        # The waiting one has the key of the active one.
        key = tenant.its("active" if state == "waiting" else state)
        [(tenant.jobs[state],)] = conn.execute(
            "select pgbaton.enqueue_job(%s, %s, singleton_key => %s, tags => %s, job_type => %s,"
            " dedup_id => %s, keys_if_undelivered => %s, headers => %s)",
            [
                tenant.fifo, Jsonb({"x": tenant.secret}), key, [tenant.its("tag")],
                tenant.its("type"), tenant.its(state), Jsonb([["path"], [tenant.its("path")]]),
                Jsonb({"trace": tenant.secret}),
            ],
        )  # fmt: skip
    claimed = conn.execute(
        "select id, lease_token from pgbaton.claim_job_batch(%s, %s, batch_size => 5)",
        [tenant.its("worker"), [tenant.fifo]],
    ).fetchall()
    tokens = dict(claimed)
    tenant.tokens = sorted(set(tokens.values()))
    jobs = tenant.jobs
    conn.execute("select pgbaton.cancel_jobs(job_ids => %s)", [[jobs["cancelling"]]])
    conn.execute(
        "select pgbaton.fail_job(%s, %s, %s)",
        [jobs["failed"], tenant.its("error"), tokens[jobs["failed"]]],
    )
    conn.execute(
        "select pgbaton.complete_job(%s, %s, %s)",
        [jobs["completed"], Jsonb(tenant.secret), tokens[jobs["completed"]]],
    )
    conn.execute(
        "select pgbaton.mark_job_unknown_stopped(%s, %s)",
        [jobs["unknown_stopped"], tenant.its("error")],
    )
    conn.execute(
        "select pgbaton.report_progress(%s, %s, 5, %s)",
        [jobs["active"], tokens[jobs["active"]], tenant.its("stage")],
    )
    [(jobs["pending"],)] = conn.execute(
        "select pgbaton.enqueue_job(%s, %s, tags => %s)",
        [tenant.standard, Jsonb({"x": tenant.secret}), [tenant.its("tag")]],
    )
    conn.execute("select pgbaton.worker_heartbeat('shared', 3, %s)", [[tenant.its("tag")]])
    conn.execute("select pgbaton.worker_heartbeat(%s, 3)", [tenant.its("worker")])
    for worker in ("shared", tenant.its("worker")):
        conn.execute("select pgbaton.wait_for_jobs(%s, job_types => '{none}')", [worker])
    conn.execute("select pgbaton.subscribe(%s, '#')", [tenant.standard])
    conn.execute("select pgbaton.subscribe(%s, %s)", [tenant.standard, tenant.letter + ".#"])
    conn.execute(
        "select pgbaton.create_schedule(%s, %s, '0 0 1 1 *', payload => %s)",
        [tenant.its("schedule"), tenant.standard, Jsonb(tenant.secret)],
    )
    conn.execute("select pgbaton.pause_key(%s, %s)", [tenant.fifo, tenant.its("paused")])
    for run in ("run", tenant.its("run")):
        conn.execute("select pgbaton.spark_begin(%s, 1, %s)", [run, tenant.its("data")])
        conn.execute(
            "insert into pgbaton.enqueue_inbox (queue, payload, run_id, part, parts)"
            " values (%s, %s, %s, 0, 1)",
            [tenant.standard, Jsonb(tenant.secret), run],
        )
    conn.execute(
        "select pgbaton.spark_stage(%s, %s, 0, 1, %s, %s)",
        [tenant.its("staged"), tenant.attempt, tenant.standard, [Jsonb(tenant.secret)]],
    )
    conn.execute("reset session authorization")


@pytest.fixture(scope="module")
def tenants(server_dsn: str, template: str) -> Iterator[tuple[str, dict[str, Tenant]]]:
    name = f"{template}_tenants"
    both = {letter: Tenant(letter) for letter in "ab"}
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        dsn = make_conninfo(server_dsn, dbname=name)
        try:
            with psycopg.connect(dsn, autocommit=True) as conn:
                for place, tenant in enumerate(both.values(), 1):
                    tenant.name_roles()
                    settle(conn, tenant, place * 700_000_000)
                conn.execute("analyze")
            yield dsn, both
        finally:
            admin.execute(f"drop database {name} with (force)".encode())
            for tenant in both.values():
                if tenant.role:
                    admin.execute(sql.SQL("drop role {}").format(sql.Identifier(tenant.role)))


def values_at(victim: Tenant, offset: dict[str, Any]) -> dict[str, list[Any]]:
    """What an argument of that name, or name and type, is called with, to point at the victim's."""
    ids = list(victim.jobs.values())
    return {
        "queue": [victim.fifo, victim.standard],
        "queues": [[victim.fifo], [victim.standard]],
        "job_id": ids,
        "job_ids": [ids],
        "first_id": [min(ids)],
        "last_id": [max(ids)],
        "lease_token": victim.tokens,
        "worker_id": [victim.its("worker"), "shared"],
        "run_id": [victim.its("run"), victim.its("staged"), "run"],
        "attempt": [victim.attempt],
        "attempts": [[victim.attempt]],
        "expected": [1],
        "priority": [100],
        "key": [["path"], [victim.its("path")]],
        "prefix": [[], ["path"], [victim.its("path")]],
        "tags": [[], [victim.its("tag")]],
        "job_types": [[victim.its("type")]],
        "topic": ["news.today", f"{victim.letter}.x"],
        "topic_pattern": [f"{victim.letter}.#"],
        "dedup_id": [victim.its("active")],
        "name": [victim.its("schedule")],
        "singleton_key": [victim.its("active")],
        "payload": [Jsonb({})],
        "payloads": [[Jsonb({})]],
        "jobs": [Jsonb([{}]), Jsonb([{"dedup_id": victim.its("active")}])],
        "filter": [Jsonb({})],
        "after": [Jsonb({})],
        "after bigint[]": [ids, ids[:1]],
        "until": [Jsonb(offset)],
        "error_message": ["no"],
        "error_messages": [["no"] * len(ids)],
        "was_executing": [True],
        "reason": ["because"],
        "enabled": [True, False],
        "force": [True],
        "include_busy": [True],
        "timeout": ["0"],
        "ttl": ["0"],
        "cron": ["* * * * *"],
        "role": [victim.role],
        "action": ACTIONS,
        "part": [0],
        "parts": [2],
        "chunk_no": [1],
        "on_duplicate": ["skip"],
    }


Call = tuple[str, dict[str, Any]]


def calls_of(conn: psycopg.Connection[Any], values: dict[str, list[Any]]) -> list[Call]:
    """Each function with all it needs, and once more with each of the rest that has a value."""
    calls: list[Call] = []
    for name, names, types, defaults in conn.execute(
        "select p.proname, coalesce(p.proargnames[1:p.pronargs], '{}'),"
        " array(select format_type(t, null) from unnest(p.proargtypes::oid[]) as t),"
        " p.pronargdefaults"
        " from pg_proc as p where p.pronamespace = 'pgbaton'::regnamespace"
        " and p.proname !~ '^_' and p.prorettype <> 'trigger'::regtype order by 1"
    ):
        typed = dict(zip(names, types, strict=True))
        needed = names[: len(names) - defaults]
        missing = [n for n in needed if n not in values]
        assert not missing, f"values_at lacks {missing} of {name}"
        optional = [n for n in names[len(needed) :] if n in values]
        few = 1 if len(needed) > 5 else None  # of the many of spark_stage one each
        its = {n: values.get(f"{n} {typed[n]}", values.get(n, [])) for n in names}
        pools = [its[n][:few] for n in needed]
        choices = [dict(zip(needed, chosen, strict=True)) for chosen in itertools.product(*pools)]
        more = [c | {n: v} for n in optional for v in its[n] for c in choices[:2]]
        if "force" in optional and "queue" in typed:
            more += [c | {"queue": q, "force": True} for q in values["queue"] for c in choices[:1]]
        if "lease_token" in optional:
            more += [c | {"lease_token": t} for c in choices for t in values["lease_token"]]
        for arguments in choices + more:
            text = ", ".join(f'"{n}" => %({n})s::{typed[n]}' for n in arguments)
            calls.append((f"select * from pgbaton.{name}({text})", arguments))  # noqa: S608
    return calls


def queries() -> list[Call]:
    """Views, also with conditions that would raise or tell what they are shown."""
    conditions = {
        "live_jobs": ["true", "(payload ->> 'x')::date is null", "last_error::date is null"],
        "finished_jobs": ["true", "(payload ->> 'x')::date is null", "result::text::int = 1"],
        "jobs": ["true", "(payload ->> 'x')::date is null", "queue::date is null"],
        "long_blocked_keys": ["true", "singleton_key::date is null"],
        "enqueue_inbox": ["true"],
    }
    return [
        (f"select * from pgbaton.{view} where {condition}", {})  # noqa: S608
        for view, wanted in conditions.items()
        for condition in wanted
    ]


def inserts(victim: Tenant, own: Tenant) -> list[Call]:
    statement = (
        "insert into pgbaton.enqueue_inbox (queue, run_id, part, parts) values"
        " (%(queue)s, %(run_id)s, 0, %(parts)s)"
    )
    return [
        (statement, {"queue": queue, "run_id": run, "parts": parts})
        for queue in (victim.standard, own.standard)
        for run in (None, "run", victim.its("run"), victim.its("staged"))
        for parts in ((None,) if run is None else (1, 2))
    ]


def belongings(conn: psycopg.Connection[Any], victim: Tenant) -> dict[tuple[str, str], bool]:
    """All rows that are the victim's, and whether that is so because of their queue."""
    tables = conn.execute(
        "select c.relname, exists (select from pg_attribute as a"
        " where a.attrelid = c.oid and a.attname = 'queue_id' and not a.attisdropped)"
        " from pg_class as c where c.relnamespace = 'pgbaton'::regnamespace"
        " and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> all (%s)",
        [NOTES],
    ).fetchall()
    ofs = {
        table: "t.queue_id in (select id from queues)" if has_queue else "false"
        for table, has_queue in tables
    }
    parts = [
        f"select '{table}', t::text, {of_queue} from pgbaton.{table} as t"  # noqa: S608
        f" where position(%(secret)s in t::text) > 0 or {of_queue}"
        for table, of_queue in ofs.items()
    ]
    found = conn.execute(
        "with queues as materialized (select id from pgbaton.queue"  # noqa: S608
        f" where name in (%(fifo)s, %(standard)s)) {' union all '.join(parts)}".encode(),
        {"secret": victim.secret, "fifo": victim.fifo, "standard": victim.standard},
    )
    return {(table, row): of_queue for table, row, of_queue in found}


def changes(
    before: dict[tuple[str, str], bool], after: dict[tuple[str, str], bool]
) -> list[tuple[str, str]]:
    """Rows that were changed or are gone, and new ones of its queues."""
    return [row for row in before if row not in after] + [
        row for row, of_queue in after.items() if of_queue and row not in before
    ]


def said(values: dict[str, Any], text: str) -> str:
    """What came out without what went in."""
    for value in values.values():
        for part in value if isinstance(value, list) else [value]:
            plain = json.dumps(part.obj) if isinstance(part, Jsonb) else str(part)
            for echoed in (plain, plain.replace('"', '\\"')):
                if len(echoed) > 3:
                    text = text.replace(echoed, "")
    return text


class Attack:
    """Calls as one tenant, each undone, and looks what came out."""

    def __init__(self, conn: psycopg.Connection[Any], own: Tenant, victim: Tenant) -> None:
        self.conn, self.own, self.victim = conn, own, victim
        self.findings: list[str] = []
        self.notices: list[str] = []
        self.outcomes: dict[str, int] = {}
        self.before = belongings(conn, victim)
        conn.add_notice_handler(lambda d: self.notices.append(str(d.message_primary)))

    def make(self, call: Call, become: sql.Composable) -> None:
        statement, arguments = call
        self.notices.clear()
        state, text = "00000", ""
        with self.conn.transaction(force_rollback=True):
            try:
                with self.conn.transaction():
                    self.conn.execute(become)
                    cursor = self.conn.execute(statement.encode(), arguments)
                    rows = cursor.fetchall() if cursor.description else []
                    text = repr(rows)
                    self.conn.execute("set constraints all immediate")
                    self.conn.execute("reset role")
                    self.conn.execute("set local session authorization default")
            except psycopg.Error as error:
                state = error.sqlstate or "?"
                text = " ".join(str(getattr(error.diag, name)) for name in DIAGNOSTICS)
            [(wrote,)] = self.conn.execute("select pg_current_xact_id_if_assigned() is not null")
            after = belongings(self.conn, self.victim) if wrote else self.before
        self.outcomes[state] = self.outcomes.get(state, 0) + 1
        shown = f"{statement} {arguments}"
        rest = said(arguments, text + " ".join(self.notices))
        if self.victim.secret in rest:
            self.findings.append(f"tells: {shown}: {state} {text}")
        if any(str(job) in rest for job in self.victim.jobs.values()):
            self.findings.append(f"names a job: {shown}: {state} {text}")
        if state != "00000" and state not in REFUSALS:
            self.findings.append(f"raises: {shown}: {state} {text}")
        changed = changes(self.before, after)
        if changed and not any(f"pgbaton.{name}(" in statement for name in FOR_ALL):
            self.findings.append(f"changes {changed}: {shown}: {state} {text}")


def as_login(own: Tenant) -> sql.Composable:
    return sql.SQL("set local session authorization {}").format(sql.Identifier(own.role))


def as_operator(own: Tenant) -> sql.Composable:
    return as_login(own) + sql.SQL("; set local role pgbaton_operator")


@pytest.mark.parametrize(
    ("attacker", "victim", "become", "number"),
    [
        ("a", "b", as_operator, 150),
        pytest.param("a", "b", as_login, None, marks=pytest.mark.proof),
        pytest.param("b", "a", as_operator, None, marks=pytest.mark.proof),
    ],
)
def test_one_learns_and_changes_nothing_of_the_other(
    tenants: tuple[str, dict[str, Tenant]],
    attacker: str,
    victim: str,
    become: Callable[[Tenant], sql.Composable],
    number: int | None,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All of the calls, or a number of them that is drawn anew with each day."""
    dsn, both = tenants
    own, other = both[attacker], both[victim]
    with psycopg.connect(dsn, autocommit=True) as conn:
        [(offset,)] = conn.execute("select pgbaton.ended_jobs_offset()")
        calls = [
            *calls_of(conn, values_at(other, offset)), *queries(), *inserts(other, own)
        ]  # fmt: skip
        if number:
            calls = random.Random(date.today().toordinal()).sample(calls, number)  # noqa: S311
        attack = Attack(conn, own, other)
        for call in calls:
            attack.make(call, become(own))
    with capsys.disabled():
        names = {statement.split("pgbaton.")[1].split("(")[0].split()[0] for statement, _ in calls}
        print(f"\n{len(calls)} calls of {len(names)} functions and views: {attack.outcomes}")
    assert not attack.findings, "\n".join(attack.findings)


def test_a_run_of_one_swallows_no_row_of_the_other(
    tenants: tuple[str, dict[str, Tenant]],
) -> None:
    """Whatever its name, parts and data, and in which order they come."""
    dsn, both = tenants
    with psycopg.connect(dsn, autocommit=True) as conn:
        for parts, tenant in enumerate(both.values(), 1):
            conn.execute(
                sql.SQL("set session authorization {}").format(sql.Identifier(tenant.role))
            )
            conn.execute("select pgbaton.spark_begin('same', %s, %s)", [parts, tenant.letter])
            for _ in range(2):
                for part in range(parts):
                    conn.execute(
                        "insert into pgbaton.enqueue_inbox (queue, run_id, part, parts, payload)"
                        " values (%s, 'same', %s, %s, %s)",
                        [tenant.standard, part, parts, Jsonb(part)],
                    )
                attempt = str(uuid.uuid4())
                payloads = [Jsonb(n) for n in range(parts)]
                conn.execute(
                    "select pgbaton.spark_stage('at once', %s, 0, 1, %s, %s)",
                    [attempt, tenant.standard, payloads],
                )
                for _ in range(2):
                    conn.execute(
                        "select pgbaton.spark_commit('at once', %s::uuid[], %s)",
                        [[attempt], parts],
                    )
            assert conn.execute("select * from pgbaton.spark_run('same')").fetchall() == [
                (part, 1, 0) for part in range(parts)
            ]
            assert conn.execute("select * from pgbaton.spark_run('at once')").fetchall() == [
                (0, parts, 0)
            ]
            conn.execute("reset session authorization")


def test_names_of_workers_and_paths_are_each_ones_own(
    tenants: tuple[str, dict[str, Tenant]],
) -> None:
    dsn, both = tenants
    with psycopg.connect(dsn, autocommit=True) as conn:
        for tenant in both.values():
            conn.execute(
                sql.SQL("set session authorization {}").format(sql.Identifier(tenant.role))
            )
            workers = dict(conn.execute("select worker_id, tags from pgbaton.list_workers()"))
            assert workers["shared"] == [tenant.its("tag")]
            assert conn.execute("select pgbaton.kv_get('{path}')").fetchone() == (
                {"x": tenant.secret},
            )
            assert [row[0] for row in conn.execute("select key from pgbaton.kv_list('{}')")] == [
                ["path"], [tenant.its("path")]
            ]  # fmt: skip
            conn.execute("reset session authorization")
