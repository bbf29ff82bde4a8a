"""What a call reads is bounded by what it is about, whatever the planner knows.

Autovacuum analyzes tables and partitions, never their parents. So each call is made on databases
with such statistics, with none, with those of an empty and of a nearly empty database. Counted are
the blocks of pgbaton's tables and indexes, and the rows that went through the plans of all
statements within the call: pairs that a hash join makes and throws away cost no block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
import recipes
import world
from psycopg import sql
from world import Sizes

FORCED = 0  # with plan_cache_mode = force_generic_plan
FEW_EXECUTIONS = [FORCED, 1]
# The sixth of a prepared statement is the first that may use a generic plan.
ALL_EXECUTIONS = [FORCED, 1, 2, 3, 4, 5, 6, 7]


@dataclass(frozen=True)
class Cost:
    rows: int
    blocks: int
    worst: str


class Counter:
    """Counts what the statements of a transaction do. Needs a superuser, for auto_explain."""

    def __init__(self, conn: psycopg.Connection[Any]) -> None:
        self.conn = conn
        conn.prepare_threshold = None
        self.plans: list[str] = []
        conn.add_notice_handler(self.note)
        for setting in (
            "load 'auto_explain'",
            "set auto_explain.log_analyze = on",
            "set auto_explain.log_timing = off",
            "set auto_explain.log_nested_statements = on",
            "set auto_explain.log_format = json",
            "set auto_explain.log_level = notice",
            "set client_min_messages = notice",
            "set statement_timeout = '200s'",
            # What a parallel worker reads is not counted in the session.
            "set max_parallel_workers_per_gather = 0",
        ):
            conn.execute(setting)

    def note(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        message = diagnostic.message_primary or ""
        if "plan:" in message:
            self.plans.append(message.partition("plan:")[2])

    @contextmanager
    def counted(self, found: list[Cost]) -> Iterator[None]:
        self.plans.clear()
        before = self.blocks()
        self.conn.execute("set auto_explain.log_min_duration = 0")
        yield
        self.conn.execute("set auto_explain.log_min_duration = -1")
        blocks = self.blocks() - before
        rows = [(rows_of(plan["Plan"]), plan) for plan in map(json.loads, self.plans)]
        most, worst = max(rows, key=lambda r: r[0], default=(0, {}))
        what = f"{most} in {' '.join(worst['Query Text'].split())[:90]}" if worst else ""
        found += [Cost(sum(count for count, _ in rows), blocks, what)]

    def blocks(self) -> int:
        return self.conn.execute(
            "select sum(pg_stat_get_xact_blocks_fetched(c.oid))::bigint from pg_class as c"
            " where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'i')"
        ).fetchone()[0]


def rows_of(node: dict[str, Any]) -> int:
    """All that came out of a node and those below it, and what they threw away."""
    own = node["Actual Rows"] + sum(
        node.get(f"Rows Removed by {what}", 0)
        for what in ("Filter", "Join Filter", "Index Recheck")
    )
    below = sum(rows_of(child) for child in node.get("Plans", []))
    return int(own * node["Actual Loops"]) + below


def calls() -> dict[str, recipes.Call]:
    return {
        **recipes.FUNCTIONS,
        **recipes.FURTHER,
        **recipes.VIEWS,
        **recipes.FURTHER_VIEWS,
    }


def given(conn: psycopg.Connection[Any]) -> dict[str, str]:
    values = {name: conn.execute(query).fetchone()[0] for name, query in recipes.GIVEN.items()}
    return {
        name: json.dumps(value)
        if isinstance(value, dict)
        else str(value)
        if isinstance(value, int)
        else sql.Literal(value).as_string(conn)
        for name, value in values.items()
    }


def completed(statement: str, values: dict[str, str]) -> str:
    return re.sub("<([a-z_]+)>", lambda match: values[match[1]], statement)


def measured(
    counter: Counter, statements: dict[str, str], executions: list[int]
) -> dict[tuple[str, int], Cost]:
    """Each statement is executed in a transaction of its own that is rolled back."""
    conn = counter.conn
    found: dict[tuple[str, int], Cost] = {}
    for name, statement in statements.items():
        conn.execute(f"prepare call as {statement}")
        for execution in executions:
            mode = "force_generic_plan" if execution == FORCED else "auto"
            conn.execute(f"set plan_cache_mode = {mode}")
            conn.execute("begin")
            costs: list[Cost] = []
            try:
                with counter.counted(costs):
                    conn.execute("execute call")
            except psycopg.errors.QueryCanceled:
                costs = [Cost(10**9, 10**9, "still running")]
            conn.execute("rollback")
            found[name, execution] = costs[0]
            if execution == FORCED:
                conn.execute("discard plans")
        conn.execute("deallocate call")
    return found


def limits(conn: psycopg.Connection[Any], kind: str) -> dict[str, int]:
    def limit(call: recipes.Call) -> int | str:
        return (
            call.about if call.nearly_empty is None or kind != "nearly_empty" else call.nearly_empty
        )

    return {
        name: about if isinstance(about, int) else conn.execute(about).fetchone()[0]
        for name, about in ((name, limit(call)) for name, call in calls().items())
    }


def too_much(found: dict[tuple[str, int], Cost], about: dict[str, int]) -> list[str]:
    return [
        f"{name}, execution {execution}, about {about[name]}: {cost}"
        for (name, execution), cost in found.items()
        if cost.rows > 1_000 + 50 * about[name] or cost.blocks > 1_000 + 50 * about[name]
    ]


class Databases:
    """One for each kind of statistics, filled alike."""

    def __init__(self, make: Callable[..., str], template: str, sizes: Sizes) -> None:
        self.make, self.template, self.sizes = make, template, sizes

    def start(self) -> psycopg.Connection[Any]:
        conn = psycopg.connect(self.make(self.template), autocommit=True)
        world.start(conn)
        return conn

    def autovacuum(self) -> psycopg.Connection[Any]:
        conn = self.start()
        world.fill(conn, self.sizes)
        world.analyze_as_autovacuum(conn)
        return conn

    def none(self) -> psycopg.Connection[Any]:
        conn = self.start()
        world.fill(conn, self.sizes)
        return conn

    def empty(self) -> psycopg.Connection[Any]:
        conn = self.start()
        conn.execute("analyze")
        world.fill(conn, self.sizes)
        return conn

    def nearly_empty(self) -> psycopg.Connection[Any]:
        conn = self.start()
        world.fill(conn, Sizes(60, 6, 6, 30, 12, 6))
        conn.execute("vacuum analyze")
        world.fill(conn, self.sizes)
        return conn


KINDS = ["autovacuum", "none", "empty", "nearly_empty"]
SMALL = Sizes(4_500, dead=450, lanes=60, keys=300, blocked=60, waiting=900)
SIZES = {
    "many of all": Sizes(12_000, dead=1_200, lanes=300, keys=900, blocked=150, waiting=2_400),
    "history": Sizes(300_000, dead=300, lanes=30, keys=300, blocked=30, waiting=300),
    "dead letters": Sizes(300_000, dead=15_000, lanes=30, keys=3_000, blocked=1_500, waiting=9_000),
    "keys and lanes": Sizes(
        300_000, dead=300, lanes=6_000, keys=30_000, blocked=300, waiting=120_000
    ),
}


@pytest.mark.parametrize("kind", ["autovacuum", "empty"])
def test_each_call(make_database: Callable[..., str], template: str, kind: str) -> None:
    check(Databases(make_database, template, SMALL), kind, FEW_EXECUTIONS)


@pytest.mark.proof
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_call_often(
    make_database: Callable[..., str], template: str, kind: str, sizes: str
) -> None:
    executions = ALL_EXECUTIONS if sizes == "many of all" else FEW_EXECUTIONS
    check(Databases(make_database, template, SIZES[sizes]), kind, executions)


def check(databases: Databases, kind: str, executions: list[int]) -> None:
    with getattr(databases, kind)() as conn:
        values = given(conn)
        statements = {name: completed(call.statement, values) for name, call in calls().items()}
        found = measured(Counter(conn), statements, executions)
        print(f"{kind}: {len(statements)} calls, {len(found)} executions")
        assert not (bad := too_much(found, limits(conn, kind))), "\n".join(bad)


def test_each_function_and_view_has_a_call(conn: psycopg.Connection[Any]) -> None:
    there = conn.execute(
        "select p.proname::text from pg_proc as p"
        " where p.pronamespace = 'pgbaton'::regnamespace and p.proname !~ '^_'"
    ).fetchall()
    assert {name for (name,) in there} == {*recipes.FUNCTIONS, *recipes.NOT_CONCERNED}
    there = conn.execute(
        "select c.relname::text from pg_class as c"
        " where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'v'"
        " and c.relacl is not null"  # those that somebody may read
    ).fetchall()
    assert {name for (name,) in there} == {*recipes.VIEWS}


def test_what_reads_more_than_it_returns_says_so(conn: psycopg.Connection[Any]) -> None:
    for name, call in recipes.FUNCTIONS.items():
        if call.says_what_it_reads:
            (comment,) = conn.execute(
                "select obj_description(p.oid) from pg_proc as p"
                " where p.pronamespace = 'pgbaton'::regnamespace and p.proname = %s",
                [name],
            ).fetchone()
            assert re.search(r"\breads\s", comment.lower()), f"{name}: {comment}"
    for name, call in recipes.VIEWS.items():
        if call.nearly_empty is not None:
            (comment,) = conn.execute(
                "select obj_description(%s::regclass, 'pg_class')", [f"pgbaton.{name}"]
            ).fetchone()
            assert re.search(r"\breads\s", comment.lower()), f"{name}: {comment}"
