"""Upkeep goes on: what one step of run_maintenance meets costs that step alone.

The matrices come from the catalog: each table of the schema is locked by somebody, and each refuses
to be written. Which steps need a table is not listed here: a step is tried alone, and the locks
that it took are looked at.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from proof import record
from sessions import Clock, Session

Open = Callable[[], Session]
Poison = Callable[..., None]

STATUS = "select status, detail from pgbaton.health() where check_name = 'maintenance'"
TABLES = """
    select c.relname::text from pg_class as c
    where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p') order by 1
"""
DONE_OF = {"sweep": "recovered", "schedules": "scheduled", "dead letters": "dead_letters_expired"}
"""What the prepared database gives each of these to do: one."""


@pytest.fixture
def poison(db: Session) -> Iterator[Poison]:
    """Makes a trigger that refuses to do something to a table, or to some of its rows."""
    db.rows("""
        create function public.refuse() returns trigger language plpgsql as $$
        begin raise exception using errcode = tg_argv[0], message = 'poisoned'; end $$
    """)

    def refuse(code: str, what: str, when: str = "true") -> None:
        db.rows(
            f"create trigger poisoned before {what} for each row when ({when})"  # type: ignore[arg-type]
            f" execute function public.refuse('{code}')"
        )

    yield refuse
    db.rows("rollback; drop function public.refuse() cascade")


def steps(db: Session) -> list[str]:
    """The steps as run_maintenance lists them."""
    source = db.one("select prosrc from pg_proc where proname = 'run_maintenance'")
    listed = re.search(r"foreach v_step in array array\[(.*?)\] loop", source, re.DOTALL)
    assert listed
    return re.findall(r"'([^']+)'", re.sub(r"--.*", "", listed[1]))


def tables_of(db: Session, step: str) -> set[str]:
    """The tables that the step opens, written to or not."""
    db.begin()
    done = db.one("select pgbaton._try_rows(%s, pgbaton._now(), '{}')", step)
    assert done.get("failed", {}) == {}, done
    opened = db.rows("""
        select distinct l.relation::regclass::text from pg_locks as l
        inner join pg_class as c on c.oid = l.relation
        where l.pid = pg_backend_pid() and c.relnamespace = 'pgbaton'::regnamespace
    """)
    db.rollback()
    return {name.removeprefix("pgbaton.") for (name,) in opened}


@pytest.fixture
def neglected(db: Session, clock: Clock) -> Session:
    """A database in which each of many steps has one thing to do, and run_maintenance is due."""
    clock.skip_midnight()
    db.rows("select pgbaton.create_fifo_queue('q', lease => '1 minute')")
    for call in ("grant", "revoke"):  # so that somebody may be narrowed
        db.rows(f"select pgbaton.{call}_queue('pgbaton_monitor', 'q', 'monitor')")  # type: ignore[arg-type]
    db.rows(
        "select pgbaton.create_queue('mail', max_attempts => 1, lease => '1 minute',"
        " dead_letter_retention => '10 seconds')"
    )
    db.rows("select pgbaton.run_maintenance()")
    failing = db.enqueue("mail")
    db.rows("select pgbaton.fail_job(%s, 'broke', %s)", failing, db.claim("mail")[failing])
    db.rows("select pgbaton.create_schedule('minutely', 'mail', '* * * * *')")
    db.enqueue("q", "k", dedup_id="known")
    db.enqueue("q", "k")
    assert len(db.claim("q")) == 1
    db.rows("select pgbaton.worker_heartbeat('w')")
    clock.advance("12 minutes")
    return db


@pytest.fixture
def needs(neglected: Session) -> dict[str, set[str]]:
    found = {step: tables_of(neglected, step) for step in steps(neglected)}
    found["inbox"].add("inbox_row")  # its size is looked at under a lock that is let go
    return found


def check_done(done: dict[str, Any], table: str, needs: dict[str, set[str]]) -> int:
    """What does not need the table was done; returns how many steps that are."""
    hindered = {step for step, tables in needs.items() if table in tables}
    failed = done.get("failed", {})
    assert not set(failed) & (set(needs) - hindered), (table, failed)
    for step, counted in DONE_OF.items():
        if step not in hindered:
            assert done[counted] == 1, (table, step, done)
    return len(needs) - len(hindered)


def some(tables: list[str], full: bool) -> Iterator[str]:
    """All of them, or four by a seed; those whose lock costs most are in the full run."""
    yield from tables if full else random.Random(8).sample(tables, 4)  # noqa: S311


@pytest.mark.parametrize("full", [False, pytest.param(True, marks=pytest.mark.proof)])
def test_a_table_that_somebody_has_locked(
    neglected: Session, open_session: Open, needs: dict[str, set[str]], full: bool
) -> None:
    """As ALTER TABLE or VACUUM FULL do; the call returns within the timeout."""
    db, other = neglected, open_session()
    db.rows("set statement_timeout = '15s'")
    tables = [name for (name,) in db.rows(TABLES)]
    done_steps = failed_calls = 0
    for table in some(tables, full):
        other.begin()
        other.rows(f"lock table only pgbaton.{table} in access exclusive mode")  # type: ignore[arg-type]
        db.begin()
        done = db.one("select pgbaton.run_maintenance()")
        if table == "queue_grant":  # whether the caller is narrowed cannot be seen: nothing is told
            assert not set(done) - {"failed"}
        else:
            done_steps += check_done(done, table, needs)
        failed_calls += "failed" in done
        other.rollback()
        if failed := done.get("failed"):
            assert all(error[:5] == "55P03" for error in failed.values()), (table, failed)
            noted = db.one("select detail from pgbaton.health() where check_name = 'maintenance'")
            assert table == "upkeep_failure" or all(name in noted for name in list(failed)[:3])
        db.rollback()
    assert failed_calls
    print(f"{len(tables)} tables x {len(needs)} steps: {done_steps} were done beside a lock")
    if full:
        record("upkeep_beside_locks", tables=len(tables), steps=len(needs))


@pytest.mark.parametrize("table", ["baton_release", "queue_grant", "watermark"])
def test_what_tells_where_upkeep_stands_is_locked(
    neglected: Session, open_session: Open, table: str
) -> None:
    """Released keys, who may hear of what, and when upkeep ran: it is done all the same."""
    db, other = neglected, open_session()
    db.rows("set statement_timeout = '15s'")
    other.begin()
    other.rows(f"lock table only pgbaton.{table} in access exclusive mode")  # type: ignore[arg-type]
    done = db.one("select pgbaton.run_maintenance(once_a_minute => true)")
    assert "skipped" not in done
    assert {error[:5] for error in done.get("failed", {}).values()} <= {"55P03"}
    assert ("released keys" in done.get("failed", {})) == (table == "baton_release")
    other.rollback()
    again = db.one("select pgbaton.run_maintenance()")
    assert "failed" not in again


@pytest.mark.parametrize("code", ["P0001", "23505", "22P02", "XX000", "PB002"])
def test_a_table_that_refuses_to_be_written(
    neglected: Session, poison: Poison, needs: dict[str, set[str]], code: str
) -> None:
    db = neglected
    written = [
        name
        for (name,) in db.rows("""
            select c.relname::text from pg_class as c
            where c.relkind in ('r', 'p') and not c.relispartition
            and c.relnamespace = 'pgbaton'::regnamespace order by 1
        """)
    ]
    met = 0
    for table in written:
        db.begin()
        poison(code, f"insert or update or delete on pgbaton.{table}")
        done = db.one("select pgbaton.run_maintenance()")
        check_done(done, table, needs)
        if failed := done.get("failed"):
            met += 1
            assert all(error == f"{code}: poisoned" for error in failed.values()), failed
            if table != "upkeep_failure":
                names = "select string_agg(name, ', ') from pgbaton.upkeep_failure"
                assert set(failed) <= set(db.one(names).split(", "))
                [(status, detail)] = db.rows(STATUS)
                assert status == "warn"
                assert next(iter(failed)) in detail
        db.rollback()
    assert met >= 5


@pytest.mark.parametrize("code", ["57014", "25006", "40001", "ZZ001"])
def test_what_concerns_the_call_as_a_whole_is_raised(
    neglected: Session, poison: Poison, code: str
) -> None:
    db = neglected
    poison(code, "insert or update or delete on pgbaton.span")
    assert db.refusal("select pgbaton.run_maintenance()") == code
    assert db.rows("select from pgbaton.upkeep_failure") == []


@pytest.mark.parametrize("by", ["run_maintenance()", "claim_job_batch('w')"])
def test_one_job_that_cannot_be_taken_back(
    db: Session, clock: Clock, poison: Poison, by: str
) -> None:
    """Others are; it is tried again ten minutes later, and health() says so all the time."""
    clock.skip_midnight()
    db.rows("select pgbaton.create_fifo_queue('q', lease => '1 minute')")
    jobs = [db.enqueue("q", key) for key in "abc"]
    assert list(db.claim("q")) == jobs
    # The update that puts it off goes through, its recovery does not.
    poison("23514", "delete on pgbaton.span", f"old.lo = {jobs[1]}")
    clock.advance("2 minutes")
    db.rows(f"select pgbaton.{by}")  # type: ignore[arg-type]
    if by.startswith("run"):
        assert sorted(db.claim("q")) == [jobs[0], jobs[2]]
    assert f'ended leases "{jobs[1]}"' in db.rows(STATUS)[0][1]
    clock.advance("50 seconds")
    assert db.one("select pgbaton.run_maintenance()")["recovered"] == 0
    assert f'ended leases "{jobs[1]}"' in db.rows(STATUS)[0][1]
    db.rows("drop trigger poisoned on pgbaton.span")
    clock.advance("9 minutes 11 seconds")
    assert db.one("select pgbaton.run_maintenance()")["recovered"] == 3
    clock.advance("10 minutes")
    db.rows("select pgbaton.run_maintenance()")
    assert db.rows(STATUS)[0][0] == "ok"


def test_one_job_that_cannot_be_made_due(db: Session, clock: Clock, poison: Poison) -> None:
    clock.skip_midnight()
    db.rows("select pgbaton.create_queue('q', retry_delay => '1 minute')")
    jobs = [db.enqueue("q") for _ in range(3)]
    for job, token in db.claim("q").items():
        db.rows("select pgbaton.fail_job(%s, 'broke', %s)", job, token)
    clock.advance("2 minutes")
    poison("22003", "insert on pgbaton.ready_span", f"new.lo = {jobs[1]}")
    assert sorted(db.claim("q", lease="1 hour")) == [jobs[0], jobs[2]]
    assert f'due jobs "{jobs[1]}"' in db.one(
        "select detail from pgbaton.health() where check_name = 'maintenance' and status = 'warn'"
    )
    db.rows("drop trigger poisoned on pgbaton.ready_span")
    clock.advance("10 minutes")
    assert list(db.claim("q")) == [jobs[1]]


def test_one_schedule_with_an_unknown_time_zone(db: Session, clock: Clock) -> None:
    """It stays due, says why, and runs once its zone is known."""
    clock.skip_midnight()
    db.rows("select pgbaton.create_queue('q')")
    names = [f"s{n}" for n in range(5)]
    for name in names:
        db.rows("select pgbaton.create_schedule(%s, 'q', '* * * * *')", name)
    db.rows("update pgbaton.schedule set time_zone = 'Mars/Olympus' where name = 's2'")
    clock.advance("1 minute")
    done = db.one("select pgbaton.run_maintenance()")
    assert done["scheduled"] == 4
    assert list(done["failed"]) == ['schedule "s2"']
    assert done["failed"]['schedule "s2"'].startswith("22023")
    [(status, detail)] = db.rows(STATUS)
    assert status == "warn"
    assert 'schedule "s2"' in detail
    assert "Mars/Olympus" in detail
    error = "select last_error from pgbaton.list_schedules() where name = 's2'"
    assert "Mars/Olympus" in db.one(error)
    clock.advance("1 minute")
    assert db.one("select pgbaton.run_maintenance()")["scheduled"] == 4
    db.rows("update pgbaton.schedule set time_zone = 'UTC' where name = 's2'")
    done = db.one("select pgbaton.run_maintenance()")
    assert done["scheduled"] == 1
    assert "failed" not in done
    assert db.one(error) is None
    assert db.rows(STATUS)[0][0] == "ok"


def test_many_schedules_of_keys_that_a_producer_holds(
    db: Session, open_session: Open, clock: Clock
) -> None:
    """They wait for five of them at most; the others run, and these when the producer has ended."""
    clock.skip_midnight()
    db.rows("select pgbaton.create_fifo_queue('q')")
    for n in range(40):
        db.rows(
            "select pgbaton.create_schedule(%s, 'q', '* * * * *', singleton_key => %s)",
            f"s{n}",
            f"{n}",
        )
    db.rows("select pgbaton.create_queue('free')")
    db.rows("select pgbaton.create_schedule('free', 'free', '* * * * *')")
    producer = open_session()
    producer.begin()
    producer.enqueue_batch("q", 40, [f"{n}" for n in range(40)])
    clock.advance("1 minute")
    db.rows("set statement_timeout = '10s'")
    done = db.one("select pgbaton.run_maintenance()")
    assert done["scheduled"] == 1
    assert len(done["failed"]) == 40
    producer.commit()
    done = db.one("select pgbaton.run_maintenance()")
    assert (done["scheduled"], "failed" in done) == (40, False)


def test_a_narrowed_caller_hears_of_no_other_queue(
    db: Session, open_session: Open, clock: Clock
) -> None:
    db.rows("select pgbaton.create_queue('mine')")
    db.rows("select pgbaton.create_queue('secret')")
    db.rows("select pgbaton.create_schedule('hush', 'secret', '* * * * *')")
    db.rows("update pgbaton.schedule set time_zone = 'Mars/Hush'")
    db.rows("drop role if exists narrowed_worker")
    db.rows("create role narrowed_worker in role pgbaton_worker, pgbaton_monitor")
    try:
        for action in ("work", "monitor"):
            db.rows("select pgbaton.grant_queue('narrowed_worker', 'mine', %s)", action)
        clock.advance("1 minute")
        # The clock of tests is a table.
        db.rows("grant select on public.clock to narrowed_worker")
        narrowed = open_session()
        narrowed.rows("set session authorization narrowed_worker")
        done = narrowed.one("select pgbaton.run_maintenance()")
        assert done["failed"] == {"schedule": "22023"}
        detail = narrowed.one(
            "select detail from pgbaton.health() where check_name = 'maintenance'"
        )
        assert "schedule (22023)" in detail
        assert "ush" not in detail
        narrowed.close()
    finally:
        db.rows("drop owned by narrowed_worker; drop role narrowed_worker")


@pytest.fixture
def aged(db: Session, clock: Clock) -> Session:
    """Three days later there are rows to expire, to forget and to drop; one of each may be bad."""
    clock.skip_midnight()
    db.rows(
        "select pgbaton.create_queue('mail', max_attempts => 1, lease => '1 minute',"
        " retention => '1 day', dead_letter_retention => '1 day')"
    )
    db.rows("select pgbaton.create_fifo_queue('q', lease => '1 minute', retention => '1 day')")
    done = db.enqueue_batch("mail", 100)
    for token in {*db.claim("mail", 100).values()}:
        db.rows("select pgbaton.complete_jobs(%s, %s)", done, token)
    for name in ("good", "bad", "better"):
        db.enqueue("mail", dedup_id=name)
        db.rows("insert into pgbaton.enqueue_run values (%s, '{1}', '2000-01-01', 1)", name)
    for job, token in db.claim("mail").items():
        db.rows("select pgbaton.fail_job(%s, 'broke', %s)", job, token)
    db.enqueue("q", "k")
    db.claim("q")
    db.enqueue("q", "k")
    db.rows("select pgbaton.create_schedule('minutely', 'mail', '* * * * *')")
    clock.advance("3 days")
    return db


BAD_ROWS = {
    "dead letters": (
        "delete on pgbaton.span",
        "old.lo = (select job_id from pgbaton.dedup where dedup_id = 'bad')",
    ),
    "dedup ids": ("delete on pgbaton.dedup", "old.dedup_id = 'bad'"),
    "runs of Spark": ("delete on pgbaton.enqueue_run", "old.run_id = 'bad'"),
    "days": ("insert on pgbaton.job", "new.singleton_key = 'k'"),
}
"""One row of what each of these steps has to do, and what it does with it."""
LEFT = {
    "dead letters": "select count(*) from pgbaton.list_dead_jobs('mail')",
    "dedup ids": "select count(*) from pgbaton.dedup",
    "runs of Spark": "select count(*) from pgbaton.enqueue_run",
    "days": "select count(*) from pgbaton.job_history as h where h.state = 'completed'",
}


def maintained(db: Session, clock: Clock, is_done: Callable[[dict[str, Any]], bool]) -> Any:
    """What maintenance says when it was done: a day that autovacuum uses is left for later."""
    for _ in range(10):
        db.stop_autovacuum()
        done = db.one("select pgbaton.run_maintenance()")
        if is_done(done):
            break
        clock.advance("11 minutes")
    return done


@pytest.mark.parametrize("code", ["23514", "22P02", "XX001"])
@pytest.mark.parametrize("step", BAD_ROWS)
def test_one_bad_row_costs_that_row_alone(
    aged: Session, clock: Clock, poison: Poison, step: str, code: str
) -> None:
    db = aged
    what, which = BAD_ROWS[step]
    if "select" in which:  # a trigger's condition holds no query
        bad = db.one("select job_id from pgbaton.dedup where dedup_id = 'bad'")
        which = f"old.lo = {bad}"
    poison(code, what, which)
    for _ in range(2):
        done = maintained(db, clock, lambda done: "failed" in done)
        [(name, error)] = done["failed"].items()
        assert (name.partition(' "')[0], error) == (step, f"{code}: poisoned"), done
        [(status, detail)] = db.rows(STATUS)
        assert status == "warn"
        assert name in detail
        left = {name: db.one(query) for name, query in LEFT.items()}  # type: ignore[arg-type]
        assert left.pop(step) == (2 if step == "days" else 1)
        assert set(left.values()) == {0}
    db.rows("drop trigger poisoned on " + what.split()[-1])  # type: ignore[arg-type]
    clock.advance("11 minutes")
    assert "failed" not in db.one("select pgbaton.run_maintenance()")
    clock.advance("11 minutes")

    def is_clean(_: object) -> bool:
        return {db.one(query) for query in LEFT.values()} == {0}  # type: ignore[arg-type]

    maintained(db, clock, is_clean)
    assert is_clean(None)
    assert db.rows(STATUS)[0][0] == "ok"


def test_ten_thousand_blocked_keys_go_on(
    db: Session, open_session: Open, sound: Callable[[], None]
) -> None:
    """At once, each with its next job, in order, and nobody waits for the change."""
    count = 10_000
    db.rows("select pgbaton.create_fifo_queue('q', max_attempts => 1)")
    keys = [f"k{n}" for n in range(count)]
    for _ in range(2):
        db.enqueue_batch("q", count, keys)
    failed = []
    while claimed := db.claim("q", 1000):
        failed += list(claimed)
        for token in {*claimed.values()}:
            ids = [job for job in claimed if claimed[job] == token]
            db.rows("select pgbaton.fail_jobs(%s, %s, %s)", ids, ["broke"] * len(ids), token)
    assert len(failed) == count
    assert db.one("select count(*) from pgbaton.blocked_keys('q')") == count
    other = open_session()
    other.never_waits()
    db.begin()
    db.rows("select pgbaton.update_queue('q', on_exhausted => 'continue')")
    locks = db.one("select count(*) from pg_locks where pid = pg_backend_pid()")
    assert locks < 1000
    other.enqueue("q", "another")
    db.commit()
    assert db.one("select count(*) from pgbaton.blocked_keys('q')") == 0
    sound()
    went_on = []
    while claimed := db.claim("q", 1000):
        went_on += list(claimed)
        db.complete(claimed)
    assert len(went_on) == count + 1
    assert db.one("select count(*) from pgbaton.list_dead_jobs('q', 20000)") == count
    sound()
