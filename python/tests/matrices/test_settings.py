"""Each call that writes in a session whose settings are not the usual ones: as in any other.

What a session, a role or a database may set without rights of its own: how functions are compiled,
texts parsed, statements planned, transactions begun. Time zones and formats of dates are in
pgtap/time/session_settings.pg.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from sessions import Session
from test_old_snapshots import Matrix
from writing_calls import calls

Open = Callable[[], Session]
Call = tuple[str, str]

POLICIES = ["fifo", "standard", "singleton", "stately"]
GROUPS: dict[str, dict[str, str]] = {
    "compiled": {"plpgsql.extra_errors": "all", "plpgsql.extra_warnings": "all"},
    "parsed": {
        "transform_null_equals": "on",
        "standard_conforming_strings": "off",
        "escape_string_warning": "off",
        "backslash_quote": "off",
        "quote_all_identifiers": "on",
        "array_nulls": "off",
        "bytea_output": "escape",
        "check_function_bodies": "off",
        "row_security": "off",
    },
    "planned": {
        "plan_cache_mode": "force_custom_plan",
        "enable_indexscan": "off",
        "enable_indexonlyscan": "off",
        "enable_bitmapscan": "off",
        "enable_nestloop": "off",
        "enable_partition_pruning": "off",
        "enable_material": "off",
        "enable_sort": "off",
        "join_collapse_limit": "1",
        "from_collapse_limit": "1",
        "geqo_threshold": "2",
        "cursor_tuple_fraction": "1",
        "work_mem": "64kB",
        "constraint_exclusion": "on",
    },
    "in parallel": {
        "debug_parallel_query": "on",
        "parallel_setup_cost": "0",
        "parallel_tuple_cost": "0",
        "min_parallel_table_scan_size": "0",
        "min_parallel_index_scan_size": "0",
    },
    "begun": {
        "default_transaction_isolation": "serializable",
        "default_transaction_deferrable": "on",
        "client_min_messages": "debug5",
        "lock_timeout": "30s",
        "idle_in_transaction_session_timeout": "60s",
    },
}


OLD_NAMES = {"debug_parallel_query": "force_parallel_mode"}  # before 16


def outcome(matrix: Matrix, session: Session, call: Call, policy: str) -> tuple[str, Any]:
    """The SQLSTATE, and of each key what is completed afterwards, in order if that is promised."""
    scene = matrix.arrange(policy)
    state = matrix.call(session, call, scene, "5")
    done: dict[str, list[Any]] = {}
    for key, payload in matrix.db.one(
        "call public.drain(%s, null)", [scene["queue"], scene["beside"]]
    ):
        done.setdefault(key or "", []).append(payload)
    if policy != "fifo":
        done = {key: sorted(payloads, key=str) for key, payloads in done.items()}
    return state, done


def compare(matrix: Matrix, odd: Session, group: str, chosen: list[tuple[Call, str]]) -> None:
    is_old = matrix.db.conn.info.server_version < 160000
    for name, value in GROUPS[group].items():
        name = OLD_NAMES.get(name, name) if is_old else name
        odd.rows("select set_config(%s, %s, false)", name, value)
    wrong = []
    for call, policy in chosen:
        try:
            usual = outcome(matrix, matrix.a, call, policy)
            found = outcome(matrix, odd, call, policy)
        except (AssertionError, psycopg.Error) as error:
            wrong.append(f"{policy}: {call[0]}: {str(error)[:300]}")
            matrix.clear()
            continue
        if found != usual:
            wrong.append(f"{policy}: {call[0]}: {found} instead of {usual}")
    print(f"{group}: {len(chosen)} calls, {len(wrong)} differ")
    assert not wrong, "\n".join(wrong[:40])


@pytest.mark.parametrize("group", GROUPS)
def test_some_calls_do_the_same(matrix: Matrix, open_session: Open, group: str) -> None:
    differed = [call for call in calls() if call[0].startswith("set_queue_limits")]
    chosen = [(call, "fifo") for call in differed + random.Random(group).sample(calls(), 30)]
    compare(matrix, open_session(), group, chosen)


@pytest.mark.proof
@pytest.mark.timeout(600)
@pytest.mark.parametrize("group", GROUPS)
def test_each_call_does_the_same(matrix: Matrix, open_session: Open, group: str) -> None:
    chosen = [(call, policy) for call in calls() for policy in POLICIES]
    compare(matrix, open_session(), group, chosen)
