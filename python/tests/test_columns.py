"""A new column of live jobs, or a new policy, is not forgotten where it has to be named."""

from __future__ import annotations

import re

from pgbaton import _assemble

ROOT = _assemble.source_root()
SCHEMA = (ROOT / "sql" / "schema" / "20_tables.sql").read_text("utf-8")
INSERT = re.compile(r"insert into (pgbaton\.(?:ready_|leased_)?span) \(([\w\s,]+)\)")

LEASE = {"lease_token", "lease_until", "worker_id"}
RAN = {"attempt", "changed_at", "claimed_at", "extra_attempts", "started_at"}
KEY = {"held_key", "key_position", "policy", "slot"}
# Who writes a new row of live jobs, and the columns that its jobs never have. A new column is
# either written there or added to the line, after a thought.
NEVER = {
    "_add_plain_job": LEASE | RAN | KEY | {"run_at", "singleton_key"},
    "_fail": LEASE - {"worker_id"} | {"held_key", "run_at", "slot"},
    "_lease": KEY | {"changed_at"},
    "_lease, of jobs enqueued one by one": KEY | RAN - {"attempt", "claimed_at"}
    | {"run_at", "singleton_key"},
    "_line_up_keyed": LEASE | RAN,
    "_line_up_plain": LEASE | RAN | KEY,
    "_make_due": KEY | {"lease_until"},
    "_promote": LEASE | RAN | {"held_key", "slot"},
    "claim_job_batch": KEY | {"changed_at"},
}  # fmt: skip


def columns_of_span() -> set[str]:
    [body] = re.findall(r"create table pgbaton\.span \((.*?)^\)", SCHEMA, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"^    (\w+) ", body, re.MULTILINE))


def left_out() -> dict[str, set[frozenset[str]]]:
    found: dict[str, set[frozenset[str]]] = {}
    for file in _assemble.function_files(ROOT):
        for _, names in INSERT.findall(file.read_text("utf-8")):
            missing = columns_of_span() - set(re.findall(r"\w+", names))
            found.setdefault(file.stem, set()).add(frozenset(missing))
    return found


def test_who_writes_live_jobs_names_every_column_or_says_why_not() -> None:
    wanted: dict[str, set[frozenset[str]]] = {}
    for name, columns in NEVER.items():
        wanted.setdefault(name.split(",")[0], set()).add(frozenset(columns))
    assert left_out() == wanted


def test_every_policy_has_its_story() -> None:
    types = (ROOT / "sql" / "schema" / "10_types.sql").read_text("utf-8")
    [body] = re.findall(r"create type pgbaton\.queue_policy as enum \((.*?)\)", types, re.DOTALL)
    policies = set(re.findall(r"'(\w+)'", body)) - {"standard", "fifo"}
    files = {path.stem for path in (ROOT / "pgtap" / "scenarios").glob("policy_*.pg")}
    assert files == {f"policy_{name}" for name in policies}
    operations = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    assert [name for name in policies if f"`{name}`" not in operations] == []
