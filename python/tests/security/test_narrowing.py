"""What grant_queue narrows stays narrow, whoever logs in, sets a role or calls a function."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import psycopg
import pytest
from psycopg import sql
from sessions import Session

from pgbaton.embedded import temporary_server
from pgbaton.install import install

Open = Callable[[], Session]
GROUPS = ["pgbaton_producer", "pgbaton_worker", "pgbaton_monitor", "pgbaton_operator"]
# For each action a call that does it in the queue secret.
CALLS = {
    "enqueue": "select pgbaton.enqueue_job('secret')",
    "work": "select id from pgbaton.claim_job_batch('w', '{secret}')",
    "monitor": "select queue from pgbaton.live_stats('secret')",
    "operate": "select pgbaton.pause_queue('secret')",
}
ROLE_FOR = dict(zip(CALLS, GROUPS, strict=True))


class Roles:
    def __init__(self, db: Session) -> None:
        self.db = db
        self.names: list[str] = []

    def make(self, *members_of: str, options: str = "login") -> str:
        name = f"narrowing_{uuid.uuid4().hex[:8]}"
        self.names.append(name)
        self.do(f"create role {{}} {options}", name)
        for group in members_of:
            self.do("grant {} to {}", group, name)
        return name

    def grant(self, role: str, queue: str, *actions: str) -> str:
        for action in actions or tuple(CALLS):
            self.db.rows("select pgbaton.grant_queue(%s, %s, %s)", role, queue, action)
        return role

    def do(self, statement: str, *names: str) -> None:
        composed = sql.SQL(statement).format(*map(sql.Identifier, names))  # type: ignore[arg-type]
        self.db.conn.execute(composed)


@pytest.fixture
def roles(db: Session) -> Iterator[Roles]:
    db.rows("select pgbaton.create_queue('mail'), pgbaton.create_queue('secret')")
    db.rows("select pgbaton.enqueue_job('secret', '{\"card\": \"4111\"}')")
    roles = Roles(db)
    yield roles
    db.rows("drop schema if exists app cascade")
    for name in reversed(roles.names):
        roles.do("drop owned by {}", name)
        roles.do("drop role {}", name)


@pytest.fixture
def log_in(open_session: Open) -> Callable[..., Session]:
    def as_role(login: str, current: str | None = None) -> Session:
        session = open_session()
        session.conn.execute(sql.SQL("set session authorization {}").format(sql.Identifier(login)))
        if current:
            session.conn.execute(sql.SQL("set role {}").format(sql.Identifier(current)))
        return session

    return as_role


Log = Callable[..., Session]


@pytest.mark.parametrize("action", CALLS)
def test_set_role_does_not_leave_the_narrowing_of_the_login(
    roles: Roles, log_in: Log, action: str
) -> None:
    """Neither to a role of pgbaton nor to another one, from a role of its own or a group's."""
    group = roles.grant(roles.make(), "mail")
    free = roles.make(ROLE_FOR[action])
    for login in (
        roles.grant(roles.make(*GROUPS, free), "mail"), roles.make(group, *GROUPS, free)
    ):  # fmt: skip
        for current in (None, ROLE_FOR[action], "pgbaton_operator", free):
            session = log_in(login, current)
            assert session.refusal(CALLS[action]) == "PB009", current  # type: ignore[arg-type]
            assert session.refusal(CALLS[action].replace("secret", "mail")) is None, current  # type: ignore[arg-type]
    assert log_in(free).refusal(CALLS[action]) is None  # type: ignore[arg-type]


def test_who_is_narrowed_twice_may_do_what_both_may(roles: Roles, log_in: Log) -> None:
    one = roles.make("pgbaton_monitor")
    both = roles.make("pgbaton_monitor", one)
    roles.grant(one, "mail", "monitor")
    roles.grant(both, "secret", "monitor")
    queues = "select pgbaton.granted_queues()"
    assert log_in(one).rows(queues) == [("mail",)]
    assert log_in(both).rows(queues) == [("mail",), ("secret",)]
    assert log_in(both, one).rows(queues) == [("mail",)]
    other = roles.make("pgbaton_monitor")
    roles.grant(other, "mail", "work")
    roles.do("grant {} to {}", other, both)
    assert log_in(both, other).rows(queues) == []


@pytest.mark.parametrize("action", CALLS)
def test_a_function_of_somebody_lends_its_caller_nothing(
    roles: Roles, log_in: Log, db: Session, action: str
) -> None:
    """Whether its owner is narrowed or not: nobody can see in the call whose function it is."""
    narrowed = roles.grant(roles.make(*GROUPS), "mail")
    owners = {"narrowed": narrowed, "free": roles.make(*GROUPS)}
    db.rows("create schema app")
    db.rows("grant usage, create on schema app to public")
    for name, owner in owners.items():
        log_in(owner).conn.execute(
            f"create function app.{name}() returns setof text language sql security definer"  # noqa: S608
            f" as $$ select x::text from ({CALLS[action]}) as x $$".encode()
        )
    callers = {
        "nobody": (roles.make(), "PB009"),
        "narrowed": (narrowed, "PB009"),
        "other role": (roles.make(*[g for g in GROUPS[:3] if g != ROLE_FOR[action]]), "PB009"),
        "member": (roles.make(ROLE_FOR[action]), None),
    }
    for caller, (role, wanted) in callers.items():
        for name in owners:
            refusal = log_in(role).refusal(f"select app.{name}()")  # type: ignore[arg-type]
            assert refusal == wanted, (caller, name)
    assert db.refusal("select app.narrowed()") is None  # a superuser
    # Nobody is narrowed any more: who may execute the function may use it, as before.
    db.rows("delete from pgbaton.queue_grant")
    assert log_in(callers["nobody"][0]).refusal("select app.free()") is None


def test_each_call_of_nobody_through_a_function_is_nothing(
    roles: Roles, log_in: Log, db: Session
) -> None:
    """Calls that are about no queue: those that would say or keep something."""
    owner = roles.grant(roles.make(*GROUPS), "mail")
    nobody = roles.make()
    db.rows("create schema app")
    db.rows("grant usage, create on schema app to public")
    calls = [
        "pgbaton.create_queue('x')", "pgbaton.create_fifo_queue('x')", "pgbaton.health()",
        "pgbaton.worker_heartbeat('w')", "pgbaton.grant_queue('postgres', 'mail', 'work')",
        "pgbaton.spark_begin('r', 1)", "pgbaton.drop_queue('secret', true)",
    ]  # fmt: skip
    for number, call in enumerate(calls):
        log_in(owner).conn.execute(
            f"create function app.f{number}() returns setof text language sql security definer"  # noqa: S608
            f" as $$ select x::text from {call} as x $$".encode()
        )
        session = log_in(nobody)
        assert session.refusal(f"select app.f{number}()") == "PB009", call  # type: ignore[arg-type]


def test_to_administer_a_role_is_not_to_be_it(roles: Roles, log_in: Log, db: Session) -> None:
    """Who makes the roles of tenants gets them with the admin option since PostgreSQL 16."""
    admin = roles.make("pgbaton_operator", options="login createrole")
    tenant = roles.make("pgbaton_operator")
    if db.conn.info.server_version >= 160000:
        roles.do("grant {} to {} with admin true, inherit false, set false", tenant, admin)
    roles.grant(tenant, "mail")
    assert log_in(admin).refusal("select pgbaton.pause_queue('secret')") is None
    has_options = db.conn.info.server_version >= 160000
    roles.do("grant {} to {}" + " with set true" * has_options, tenant, admin)
    assert log_in(admin).refusal("select pgbaton.pause_queue('secret')") == "PB009"


def test_who_may_not_operate_holds_up_no_producer(roles: Roles, log_in: Log, db: Session) -> None:
    tenant = log_in(roles.grant(roles.make("pgbaton_operator"), "mail"))
    tenant.never_waits()
    db.begin()
    db.rows("select pgbaton.enqueue_job('secret')")
    for call in ("drop_queue('secret', true)", "set_fifo_mode('secret', true)"):
        assert tenant.refusal(f"select pgbaton.{call}") == "PB009"  # type: ignore[arg-type]
    db.rollback()


@pytest.mark.proof
def test_nothing_runs_in_autovacuum() -> None:
    """Which computes the index expressions of a tenant as a superuser, to us."""
    settings = {"autovacuum_naptime": "1", "autovacuum_analyze_threshold": "1"}
    with temporary_server(settings=settings) as server:
        install(server.dsn())
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            conn.execute("select pgbaton.create_queue('mail'), pgbaton.create_queue('secret')")
            conn.execute("select pgbaton.enqueue_job('secret')")
            conn.execute("create role shop login in role pgbaton_operator")
            conn.execute("grant create on schema public to shop")
            for action in CALLS:
                conn.execute("select pgbaton.grant_queue('shop', 'mail', %s)", [action])
            conn.execute("set session authorization shop")
            conn.execute("create table public.seen (what text)")
            conn.execute("create table public.bait (x integer)")
            conn.execute("""
                create function public.spy() returns void language plpgsql as $$ begin
                    insert into public.seen
                    select 'got ' || queue from pgbaton.claim_job_batch('w', '{secret}');
                exception when sqlstate 'PB009' then
                    insert into public.seen select sqlerrm;
                end $$;
                create function public.look(x integer) returns integer language plpgsql immutable
                as $$ begin perform public.spy(); return x; end $$""")
            conn.execute("create index on public.bait (public.look(x)) where x > 0")
            conn.execute("insert into public.bait values (1)")
            assert [what for (what,) in conn.execute("select what from public.seen")] == [
                'role shop may not work on queue "secret"'
            ]
            conn.execute("delete from public.seen")
            # From now on nobody but autovacuum computes it, until that commits what it did.
            give_up = time.monotonic() + 60
            seen: set[str] = set()
            while not seen and time.monotonic() < give_up:
                conn.execute("insert into public.bait select -n from generate_series(1, 100) as n")
                seen = {what for (what,) in conn.execute("select what from public.seen")}
                conn.execute("select pg_sleep(0.1)")
            assert seen == {"pgbaton does not run in autovacuum while grants narrow roles"}
