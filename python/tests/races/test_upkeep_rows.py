"""Upkeep goes on: one row that cannot be handled costs that row, whatever is bad about it.

Nothing here lists what a step does with which table: each row that the upkeep of a neglected
database writes is seen by a trigger, and then each kind of them is refused, left out or locked
for one row. The others must be written as before.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from proof import record
from sessions import Clock, Session

Open = Callable[[], Session]
Cell = tuple[str, str, str]
"""A table, what is done to it, and the row, named by what does not change from run to run."""

SEEN = """
    create sequence public.met;
    create table public.written (place bigint generated always as identity, tbl text, op text, row_name text);
    create function public.row_name(tbl text, r jsonb) returns text language sql immutable as $$
        select case
            when tbl ~ '^job(_2|_def|$)' then r ->> 'payload'
            when r ->> 'singleton_key' <> '' and tbl <> 'dedup' then concat_ws(' ', r ->> 'queue_id', r ->> 'singleton_key')
            else (
                select string_agg(r ->> k.name, ' ' order by k.place) from unnest(array[
                    'queue_id', 'job_id', 'dedup_id', 'run_id', 'worker_id', 'attempt', 'chunk_no', 'name',
                    'parent_id', 'lo', 'kind', 'lane_id'
                ]) with ordinality as k (name, place)
            )
        end
    $$;
    create function public.meet() returns trigger language plpgsql as $$
    declare
        v_table text := regexp_replace(tg_table_name, '_(20[0-9]{6}|default|old)$', '');
        v_row text := public.row_name(v_table, case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end);
        v_bad jsonb := nullif(current_setting('test.bad', true), '')::jsonb;
    begin
        if tg_when = 'AFTER' then
            insert into public.written (tbl, op, row_name) values (v_table, tg_op, v_row);
        elsif v_bad ->> 'tbl' = v_table and v_bad ->> 'op' = tg_op and v_bad ->> 'row' = v_row then
            perform nextval('public.met');  -- stays when the row's subtransaction is undone
            if v_bad ->> 'how' = 'left out' then
                return null;
            end if;
            raise exception using errcode = v_bad ->> 'how', message = 'a bad row';
        end if;
        return case when tg_op = 'DELETE' then old else new end;
    end
    $$;
"""  # noqa: E501
EACH_TABLE = """
    select format('create trigger %s %s insert or update or delete on pgbaton.%I'
        ' for each row execute function public.meet()', t.name, t.moment, c.relname)
    from pg_class as c, (values ('a_met', 'before'), ('z_seen', 'after')) as t (name, moment)
    where c.relnamespace = 'pgbaton'::regnamespace and c.relkind in ('r', 'p')
        and not c.relispartition and c.relname <> 'upkeep_failure'
"""
THREE = ("one", "bad", "two")
ONLY_MARKS = {
    "watermark": "places to begin a scan from; the full sweep of every ten minutes needs none",
    "rewind": "as watermarks: what is lost is found by the next full sweep",
}


def days(db: Session, clock: Clock) -> None:
    """Three days, each with jobs that are done and one that is kept."""
    for day in range(3):
        db.rows("select pgbaton.run_maintenance()")
        done = db.enqueue_batch("mail", 30)
        for token in {*db.claim("mail", 30).values()}:
            db.rows("select pgbaton.complete_jobs(%s, %s)", done, token)
        db.rows("select pgbaton.enqueue_job('later', %s, run_at => '2100-01-01')", f'"kept {day}"')
        clock.advance("1 day")


@pytest.fixture
def neglected(db: Session, clock: Clock) -> Iterator[Session]:
    """Three rows of everything that the upkeep looks after."""
    clock.skip_midnight()
    db.rows("""
        select pgbaton.create_queue('mail', max_attempts => 1, lease => '1 minute',
            retention => '1 hour', dead_letter_retention => '1 day'),
            pgbaton.create_queue('later', retention => '1 hour'),
            pgbaton.create_queue('retried', retry_delay => '1 minute', lease => '1 hour'),
            pgbaton.create_fifo_queue('q', lease => '1 minute', max_attempts => 1),
            pgbaton.create_fifo_queue('sent'), pgbaton.create_fifo_queue('rated'),
            pgbaton.create_queue('busy1'), pgbaton.create_queue('busy2'),
            pgbaton.create_queue('busy3')
    """)
    db.rows(
        "select pgbaton.set_queue_limits('rated', key_rate_count => 1,"
        " key_rate_interval => '1 minute')"
    )
    days(db, clock)
    for n, name in enumerate(THREE):
        db.enqueue("mail", dedup_id=name)
        db.rows("insert into pgbaton.enqueue_run values (%s, '{1}', '2000-01-01', 1)", name)
        db.rows("select pgbaton.spark_begin(%s, 1)", f"run {name}")
        db.rows(
            "select pgbaton.spark_stage(%s, %s, 0, 0, 'later', array[%s]::jsonb[])",
            f"run {name}",
            f"00000000-0000-0000-0000-00000000000{n}",
            f'"staged {name}"',
        )
        db.rows("select pgbaton.worker_heartbeat(%s)", name)
        db.rows("select pgbaton.wait_for_jobs(%s, '{busy1}')", name)
        db.rows(
            "insert into pgbaton.key_block"
            " select q.id, v.key, v.job, %s, %s, v.ended, 'failed', 1, 1 from pgbaton.queue as q,"
            " (values (%s, -1 - %s, '2000-01-01'::timestamptz), (%s, -11 - %s, null))"
            " as v (key, job, ended) where q.name = 'q'",
            *["2000-01-01"] * 2, f"old {name}", n, f"ended {name}", n,
        )  # fmt: skip
        db.rows(
            "insert into pgbaton.lease_loss"
            " select q.id, 1 from pgbaton.queue as q, generate_series(1, 101) where q.name = %s",
            f"busy{n + 1}",
        )
        db.rows(
            "select pgbaton.create_schedule(%s, 'sent', '0 * * * *', payload => %s,"
            " singleton_key => %s)",
            name,
            f'"sent {name}"',
            f"sent {name}",
        )
    for queue in ("mail", "retried", "rated", "q"):
        for name in THREE if queue != "mail" else ():
            db.enqueue(queue, name if queue != "retried" else None)
        claimed = db.claim(queue)
        assert len(claimed) == 3, queue
        for job, token in claimed.items():
            if queue != "rated":
                db.rows("select pgbaton.fail_job(%s, 'broke', %s)", job, token)
    for name in THREE:  # their leases end, and keys lose their holder
        db.enqueue("q", f"running {name}")
    assert len(db.claim("q")) == 3
    for name in THREE:
        db.enqueue("q", f"lost {name}")
        db.enqueue("q", f"lost {name}")
    db.rows("delete from pgbaton.span where held_key ~ '^lost'")
    db.rows("truncate pgbaton.baton_release")
    clock.advance("5 days")
    db.rows("set client_min_messages = warning")
    db.conn.execute(SEEN)
    for (statement,) in db.conn.execute(EACH_TABLE).fetchall():
        db.conn.execute(statement)
    yield db
    db.rows("rollback")
    db.rows("set test.bad = ''; drop table public.written; drop sequence public.met")  # type: ignore[arg-type]
    db.rows("drop function public.row_name, public.meet cascade")


def written(db: Session, bad: str = "") -> tuple[Counter[Cell], dict[str, Any], bool, Any]:
    """What run_maintenance writes; it is undone."""
    db.stop_autovacuum()  # not within: a transaction goes on to see who ran at its first look
    db.begin()
    try:
        db.rows("select set_config('test.bad', %s, true), setval('public.met', 1, false)", bad)
        done = db.one("select pgbaton.run_maintenance()")
        rows = db.rows("select tbl, op, row_name from public.written")
        health = db.rows(
            "select status, detail from pgbaton.health() where check_name = 'maintenance'"
        )
        was_met = db.one("select is_called from public.met")
        return Counter(rows), done.get("failed", {}), was_met, health
    finally:
        db.rollback()


def too_few(before: Counter[Cell], after: Counter[Cell]) -> list[str]:
    """Of what was done to three rows or more it must be done to all but a third."""
    least = Counter[tuple[str, str]]()
    seen = Counter[tuple[str, str]]()
    for counts, into in ((before, least), (after, seen)):
        for (table, op, _), count in counts.items():
            into[table, op] += count
    return [
        f"{op} of {table}: {seen[table, op]} of {count}"
        for (table, op), count in least.items()
        if count >= 3 and table not in ONLY_MARKS and seen[table, op] < count * 2 // 3
    ]


def cells(before: Counter[Cell], *, all_of_them: bool) -> list[Cell]:
    """Of each table and operation with several rows the middle one, or three of them."""
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in before:
        # One row for all jobs of a queue that were lost, when there is none to put together.
        is_shared = cell[0] == "lease_loss" and (cell[0], "DELETE", cell[2]) not in before
        if cell[2] is not None and cell[0] not in ONLY_MARKS and not is_shared:
            groups.setdefault(cell[:2], []).append(cell)
    several = [group for group in groups.values() if len(group) >= 3]
    if all_of_them:
        return [group[n] for group in several for n in (0, len(group) // 2, -1)]
    return [group[len(group) // 2] for group in several]


HOW = ["P0001", "23514", "22003", "left out"]
WITHOUT_ROWS = {
    "sleepers": "moves numbers together; who is gone is a step of its own",
    "sweep": "tries its parts by themselves",
    "clock": "only after the clock was set back: test_clock_set_back.py",
    "schedules": "tries each by itself",
    "note of the time": "one row",
    "inbox": "empties a table as a whole",
}


def test_every_step_handles_its_rows_by_themselves(neglected: Session) -> None:
    """Which steps there are, run_maintenance says; what rows they have, the neglected database."""
    db = neglected
    source = db.one("select prosrc from pg_proc where proname = 'run_maintenance'")
    listed = source.partition("foreach v_step in array array[")[2].partition("] loop")[0]
    steps = re.findall(r"'([^']+)'", re.sub(r"--.*", "", listed))
    assert len(steps) > 15
    db.begin()
    for step in steps:
        found = db.one("select pgbaton._try_step(%s, pgbaton._now())", step)
        assert not found.get("failed"), (step, found)
        assert len(found.get("rows", [])) >= (1 if step == "rates of keys" else 3) or (
            step in WITHOUT_ROWS and "rows" not in found
        ), (step, found)
    db.rollback()


FULL = [False, pytest.param(True, marks=[pytest.mark.proof, pytest.mark.timeout(1800)])]


@pytest.mark.parametrize("full", FULL)
def test_one_bad_row_of_each_kind(neglected: Session, full: bool) -> None:
    before, failed, _, _ = written(neglected)
    assert failed == {}
    ways = ["P0001", "left out"] if full else HOW
    chosen = [(cell, how) for cell in cells(before, all_of_them=full) for how in ways]
    if not full:
        chosen = random.Random(15).sample(chosen, 24)  # noqa: S311
    wrong, met = [], 0
    for (table, op, name), how in chosen:
        bad = json.dumps({"tbl": table, "op": op, "row": name, "how": how})
        after, failed, was_met, health = written(neglected, bad)
        met += was_met
        wrong += [f"{table} {op} {name} {how}: {what}" for what in too_few(before, after)]
        if was_met and how != "left out":
            named = all(' "' in one for one in failed)
            if not (failed and named and health[0][0] == "warn"):
                wrong.append(f"{table} {op} {name} {how}: failed is {failed}")
    print(f"{len(chosen)} bad rows, {met} were met")
    assert met > len(chosen) * 2 // 3
    assert not wrong, "\n".join(wrong)
    if full:
        record("upkeep_bad_rows", bad_rows=len(chosen))


@pytest.mark.parametrize("full", FULL)
def test_one_row_that_somebody_has_locked(
    neglected: Session, open_session: Open, full: bool
) -> None:
    """As a prepared transaction may for days."""
    db, other = neglected, open_session()
    before, _, _, _ = written(db)
    chosen = [cell for cell in cells(before, all_of_them=full) if cell[1] != "INSERT"]
    wrong, locked = [], 0
    for table, op, name in chosen:
        other.begin()
        locked += len(
            other.rows(
                f"select 1 from pgbaton.{table} as t"  # type: ignore[arg-type]  # noqa: S608
                " where public.row_name(%s, to_jsonb(t)) = %s for update",
                table,
                name,
            )
        )
        after, _, _, _ = written(db)
        other.rollback()
        wrong += [f"{table} {op} {name}: {what}" for what in too_few(before, after)]
    print(f"{len(chosen)} rows that are locked")
    assert locked > len(chosen) // 2
    assert not wrong, "\n".join(wrong)
    if full:
        record("upkeep_locked_rows", locked_rows=len(chosen))


EVENT = """
    create function public.refuse_table() returns event_trigger language plpgsql as $$
    begin
        if exists (select from {objects}() as o where o.object_identity ~ '{name}$') then
            raise exception using errcode = 'P0001', message = 'a bad table';
        end if;
    end
    $$;
    create event trigger refuse_table on {event} execute function public.refuse_table();
"""


@pytest.mark.parametrize("event", ["ddl_command_end", "sql_drop"])
def test_one_table_that_cannot_be_made_or_dropped(neglected: Session, event: str) -> None:
    """An event trigger of somebody refuses it; the other days come and go."""
    db = neglected
    db.begin()
    done = db.one("select pgbaton.run_maintenance()")
    added, dropped = done["partitions_added"], done["days_dropped"]
    assert added > 1
    assert dropped >= 3  # those of this test, and what others have left
    db.rollback()
    db.begin()
    wanted = db.one("select to_char(pgbaton._day(pgbaton._now()) + 2, 'YYYYMMDD')")
    name, objects = f"job_history_{wanted}", "pg_event_trigger_ddl_commands"
    if event == "sql_drop":  # a day that goes is renamed first, so each of them is met
        name, objects = "job_report_old", "pg_event_trigger_dropped_objects"
    db.conn.execute(EVENT.format(objects=objects, name=name, event=event))
    done = db.one("select pgbaton.run_maintenance()")
    db.rollback()
    failed = list(done["failed"])
    if event == "sql_drop":
        assert [one.partition(' "')[0] for one in failed] == ["days"] * dropped
        assert (done["partitions_added"], done["days_dropped"]) == (added, 0)
    else:
        assert failed == [f'partitions "{name}"']
        assert (done["partitions_added"], done["days_dropped"]) == (added - 1, dropped)


def test_one_key_that_cannot_be_handed_on(neglected: Session) -> None:
    """Claims go on beside it, whether they tend or pass released keys on by themselves."""
    db = neglected
    db.rows(
        "insert into pgbaton.baton_release (queue_id, singleton_key)"
        " select s.queue_id, s.singleton_key from only pgbaton.span as s"
        " where s.singleton_key ~ '^lost' group by 1, 2"
    )
    bad = db.one(
        "select jsonb_build_object('tbl', 'span', 'op', 'UPDATE', 'how', 'P0001',"
        " 'row', s.queue_id || ' lost bad')::text from only pgbaton.span as s"
        " where s.singleton_key = 'lost bad'"
    )
    db.rows("select set_config('test.bad', %s, false)", bad)
    keys: set[str] = set()
    for _ in range(3):
        claimed = db.rows("select singleton_key from pgbaton.claim_job_batch('w', '{q}')")
        keys |= {key for (key,) in claimed if key.startswith("lost")}
    assert keys == {"lost one", "lost two"}
    [(status, detail)] = db.rows(
        "select status, detail from pgbaton.health() where check_name = 'maintenance'"
    )
    assert status == "warn"
    assert "lost bad" in detail
