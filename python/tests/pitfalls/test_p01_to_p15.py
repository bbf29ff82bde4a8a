"""Rows P01 to P15, jobs that replace others or are moved: see docs/guarantees.md."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import LiteralString

import psycopg
import pytest
from calls import fail, run_all, state
from sessions import Clock, Session

Open = Callable[[], Session]
Sound = Callable[[], None]

PUT = """
    select job_id, outcome from pgbaton.enqueue_jobs('q', jsonb_build_array(jsonb_strip_nulls(
        jsonb_build_object(
            'payload', %(payload)s::text, 'dedup_id', %(id)s::text, 'singleton_key', %(key)s::text,
            'debounce', %(debounce)s::text, 'max_wait', %(max_wait)s::text,
            'on_duplicate', 'replace'
        )
    )))
"""
"""One job that replaces what it may: its id and what became of it."""

LIVE = "select payload #>> '{}' from pgbaton.jobs where state in ('pending', 'waiting') order by id"
POLICIES = ["standard", "fifo", "singleton", "short", "stately", "exclusive"]


def arguments(
    payload: str,
    policy: str = "standard",
    dedup_id: str | None = "d",
    debounce: str | None = None,
    max_wait: str | None = None,
) -> dict[str, str | None]:
    """Queues that limit what is queued go by the key, the others by the id."""
    by_key = policy in ("short", "stately", "exclusive")
    return {
        "payload": payload,
        "id": None if by_key else dedup_id,
        "key": None if policy == "standard" else "k",
        "debounce": debounce,
        "max_wait": max_wait,
    }


def put(
    db: Session, payload: str, policy: str = "standard", **options: str | None
) -> tuple[int, str]:
    [(job, outcome)] = db.rows(PUT, **arguments(payload, policy, **options))
    return job, outcome


def create(db: Session, policy: str = "standard", **options: str) -> None:
    given = "".join(f", {name} => '{value}'" for name, value in options.items())
    db.rows(f"select pgbaton.create_queue('q', '{policy}'{given})")


def live(db: Session) -> list[str]:
    return [row[0] for row in db.rows(LIVE)]


def resolution(db: Session, job: int) -> tuple[str, str | None, int | None]:
    return db.rows(
        "select state::text, resolution, (result ->> 'replaced_by')::bigint"
        " from pgbaton.job_outcomes(array[%s::bigint])",
        job,
    )[0]


# P01: replace meets a claim ------------------------------------------------------------------


@pytest.mark.parametrize("claim_end", ["commit", "rollback"])
@pytest.mark.parametrize("policy", POLICIES)
def test_p01_replace_waits_for_an_open_claim(
    db: Session, open_session: Open, sound: Sound, policy: str, claim_end: str
) -> None:
    create(db, policy)
    first, _ = put(db, "1", policy)
    worker, producer = open_session(), open_session()
    worker.begin()
    claimed = worker.claim("q")
    assert list(claimed) == [first]
    waiting = producer.start(PUT, **arguments("2", policy)).until_blocked(worker)
    worker.end(claim_end)
    [(second, outcome)] = waiting.rows()
    if claim_end == "rollback":
        assert (outcome, resolution(db, first)) == (
            "replaced",
            ("unscheduled", "replaced", second),
        )
        assert run_all(worker) == [second]
    elif policy == "exclusive":
        assert (second, outcome[:9]) == (None, "rejected:")
        assert worker.complete(claimed) == ["ok"]
    else:
        assert outcome == ("enqueued" if policy == "short" else "behind")
        assert worker.complete(claimed) == ["ok"]
        assert run_all(worker) == [second]
    sound()


@pytest.mark.parametrize("replace_end", ["commit", "rollback"])
@pytest.mark.parametrize("policy", POLICIES)
def test_p01_a_claim_passes_by_an_open_replace(
    db: Session, open_session: Open, sound: Sound, policy: str, replace_end: str
) -> None:
    create(db, policy)
    first, _ = put(db, "1", policy)
    worker, producer = open_session(), open_session()
    producer.begin()
    second, outcome = put(producer, "2", policy)
    assert outcome == "replaced"
    worker.never_waits()
    assert worker.claim("q") == {}
    producer.end(replace_end)
    assert run_all(worker) == [second if replace_end == "commit" else first]
    sound()


@pytest.mark.parametrize("policy", POLICIES)
def test_p01_replace_and_claim_side_by_side(
    db: Session, open_session: Open, sound: Sound, policy: str
) -> None:
    """Every replace has an answer, and the last payload runs, whoever was first."""
    create(db, policy)
    worker, producer = open_session(), open_session()
    rounds, ran, ended = 200, [], threading.Event()

    def work() -> None:
        while True:
            is_last = ended.is_set()
            claimed = worker.claim("q", 1)
            if claimed:
                assert worker.complete(claimed) == ["ok"]
                ran.extend(claimed)
            elif is_last:
                return

    thread = threading.Thread(target=work)
    thread.start()
    try:
        answers = [put(producer, str(n), policy) for n in range(rounds)]
    finally:
        ended.set()
        thread.join()
    jobs = [job for job, _ in answers if job is not None]
    assert all(
        outcome[:8] in ("enqueued", "replaced", "behind", "rejected") for _, outcome in answers
    )
    assert (policy == "exclusive") or len(jobs) == rounds
    gone = {job for job in jobs if resolution(db, job)[1] == "replaced"}
    assert sorted([*ran, *gone]) == jobs
    assert len(gone) == sum(outcome == "replaced" for _, outcome in answers)
    assert jobs[-1] in ran
    sound()


@pytest.mark.parametrize("isolation", ["repeatable read", "serializable"])
@pytest.mark.parametrize("policy", POLICIES)
def test_p01_an_older_snapshot_is_told_so(
    db: Session, open_session: Open, sound: Sound, policy: str, isolation: str
) -> None:
    create(db, policy)
    first, _ = put(db, "1", policy)
    producer = open_session()
    producer.begin_with_snapshot(isolation)
    claimed = db.claim("q")
    assert db.complete(claimed) == ["ok"]
    assert producer.start(PUT, **arguments("2", policy)).refusal() == "40001"
    producer.rollback()
    assert list(claimed) == [first]
    assert live(db) == []
    sound()


# P02, P03: the earlier job runs --------------------------------------------------------------


@pytest.mark.parametrize("policy", ["standard", "fifo", "singleton", "short", "stately"])
def test_p02_one_runs_and_one_waits(db: Session, sound: Sound, policy: str) -> None:
    create(db, policy)
    first, _ = put(db, "0", policy)
    claimed = db.claim("q")
    outcomes = [put(db, str(n), policy)[1] for n in range(1, 6)]
    assert outcomes == ["enqueued" if policy == "short" else "behind", *["replaced"] * 4]
    assert live(db) == ["5"]
    assert state(db, first) == "active"
    assert db.complete(claimed) == ["ok"]
    assert len(run_all(db)) == 1
    sound()


def test_p03_the_answer_says_which_it_was(db: Session, sound: Sound) -> None:
    create(db)
    assert put(db, "1")[1] == "enqueued"
    assert put(db, "2")[1] == "replaced"
    claimed = db.claim("q")
    assert put(db, "3")[1] == "behind"
    assert db.rows("select outcome from pgbaton.enqueue_jobs('q', '[{\"dedup_id\": \"d\"}]')") == [
        ("duplicate",)
    ]
    assert db.complete(claimed) == ["ok"]
    assert len(run_all(db)) == 1
    assert put(db, "4")[1] == "enqueued"
    db.rows("select pgbaton.create_queue('x', 'exclusive')")
    db.rows("select pgbaton.enqueue_job('x')")
    assert len(db.claim("x")) == 1
    [(outcome,)] = db.rows(
        "select outcome from pgbaton.enqueue_jobs('x', '[{\"on_duplicate\": \"replace\"}]')"
    )
    assert outcome.startswith("rejected:")
    sound()


# P04, P05: debounce --------------------------------------------------------------------------


def test_p04_one_run_after_the_last_of_a_burst(db: Session, clock: Clock, sound: Sound) -> None:
    create(db)
    outcomes = []
    for n in range(6):
        outcomes.append(put(db, str(n), debounce="5 s")[1])
        clock.advance("1 s")
        assert db.claim("q") == {}
    assert outcomes == ["enqueued", *["replaced"] * 5]
    clock.advance("3900 ms")
    assert db.claim("q") == {}
    clock.advance("100 ms")
    assert live(db) == ["5"]
    assert len(run_all(db)) == 1
    sound()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("max_wait", [None, "10 s"])
def test_p05_a_steady_stream(
    db: Session, clock: Clock, sound: Sound, policy: str, max_wait: str | None
) -> None:
    """Without a bound it runs when they stop, with one so long after the first at most."""
    create(db, policy)
    ran: list[int] = []
    for n in range(10):
        ran += [n] * len(run_all(db))
        put(db, str(n), policy, debounce="4 s", max_wait=max_wait)
        clock.advance("2 s")
    assert ran == ([] if max_wait is None else [5])
    clock.advance("2 s")
    assert live(db) == ["9"]
    assert len(run_all(db)) == 1
    sound()


def test_p05_a_bound_that_would_put_nothing_off_is_refused(db: Session) -> None:
    create(db)
    for max_wait in ("5 s", "4 s", "0 s", "-1 s"):
        call: LiteralString = (
            "select pgbaton.enqueue_job('q', dedup_id => 'd', on_duplicate => 'replace',"
            " debounce => '5 s', max_wait => %s)"
        )
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="is not above") as refused:
            db.rows(call, max_wait)
        assert "longer max_wait" in str(refused.value.diag.message_hint)
    assert db.rows("select from pgbaton.job") == []


# P06 to P09: to whom an id belongs -----------------------------------------------------------


def test_p06_an_id_belongs_to_the_last_job(db: Session, sound: Sound) -> None:
    create(db, max_attempts="1")
    first, _ = put(db, "1")
    assert fail(db, db.claim("q")) == "failed"
    second, outcome = put(db, "2")
    assert outcome == "enqueued"
    db.rows("select pgbaton.delete_job('q', %s)", first)
    third, outcome = put(db, "3")
    assert outcome == "replaced"
    assert resolution(db, second) == ("unscheduled", "replaced", third)
    assert db.one("select pgbaton.job_id_of('q', 'd')") == third
    sound()


def test_p07_each_that_is_superseded_ends_in_one_state(
    db: Session, clock: Clock, sound: Sound
) -> None:
    """A bound is one of time: there is none of the number of jobs that may be replaced."""
    create(db)
    jobs = [put(db, str(n), debounce="1 min")[0] for n in range(5)]
    clock.advance("1 min")
    assert run_all(db) == jobs[-1:]
    assert [resolution(db, job) for job in jobs] == [
        *[("unscheduled", "replaced", by) for by in jobs[1:]],
        ("completed", None, None),
    ]
    sound()


def test_p08_what_counts_as_an_earlier_job(db: Session, sound: Sound) -> None:
    """Error and skip know an id for the retention; replace looks at jobs that have not ended."""
    create(db)
    put(db, "1")
    first = run_all(db)
    assert db.enqueue("q", dedup_id="d", on_duplicate="skip") == first[0]
    call: LiteralString = "select pgbaton.enqueue_job('q', dedup_id => 'd')"
    assert db.refusal(call) == "PB006"
    assert put(db, "2")[1] == "enqueued"
    db.rows("select * from pgbaton.cancel_jobs(job_ids => array[pgbaton.job_id_of('q', 'd')])")
    assert put(db, "3")[1] == "enqueued"
    assert len(run_all(db)) == 1
    sound()


@pytest.mark.parametrize("how", ["fails", "loses its lease", "is released"])
@pytest.mark.parametrize("policy", ["standard", "fifo", "singleton", "short", "stately"])
def test_p09_a_retry_meets_the_waiting_twin(
    db: Session, clock: Clock, sound: Sound, policy: str, how: str
) -> None:
    create(db, policy, lease="1 min")
    first, _ = put(db, "1", policy)
    claimed = db.claim("q")
    second, _ = put(db, "2", policy)
    if how == "fails":
        assert fail(db, claimed, retry_in="0 s") == "retry"
    elif how == "is released":
        db.rows("select * from pgbaton.release_jobs(%s, %s)", [first], claimed[first])
    else:
        clock.advance("2 min")
    third, outcome = put(db, "3", policy)
    assert (outcome, resolution(db, second)[2]) == ("replaced", third)
    ran = run_all(db)
    assert sorted(ran) == [first, third]
    if policy == "fifo":
        assert ran == [first, third]
    sound()


# P10: an open enqueue of the same id ----------------------------------------------------------


@pytest.mark.parametrize("first_end", ["commit", "rollback"])
@pytest.mark.parametrize("is_known", [False, True], ids=["new", "known"])
@pytest.mark.parametrize("policy", POLICIES)
def test_p10_two_of_one_id_side_by_side(
    db: Session, open_session: Open, sound: Sound, policy: str, is_known: bool, first_end: str
) -> None:
    create(db, policy)
    if is_known:
        put(db, "0", policy)
    one, two = open_session(), open_session()
    one.begin()
    first, _ = put(one, "1", policy)
    waiting = two.start(PUT, **arguments("2", policy)).until_blocked(one)
    one.end(first_end)
    [(second, outcome)] = waiting.rows()
    assert outcome == ("replaced" if first_end == "commit" or is_known else "enqueued")
    if first_end == "commit":
        assert resolution(db, first) == ("unscheduled", "replaced", second)
    assert live(db) == ["2"]
    assert run_all(db) == [second]
    sound()


# P11: what is replaced ------------------------------------------------------------------------


def test_p11_all_is_as_the_new_call_says(db: Session, sound: Sound) -> None:
    """Its type too; the earlier job can be read as it was. The same id elsewhere is another."""
    create(db)
    db.rows("select pgbaton.create_queue('other')")
    elsewhere = db.enqueue("other", dedup_id="d", on_duplicate="replace")
    replacing = {"dedup_id": "d", "on_duplicate": "replace"}
    first = db.enqueue("q", "x", job_type="a", priority=200, tags=["t"], **replacing)
    second = db.enqueue("q", job_type="b", **replacing)
    fields: LiteralString = (
        "select job_type, priority, tags, singleton_key from pgbaton.get_job(%s)"
    )
    assert db.rows(fields, first) == [("a", 200, ["t"], "x")]
    assert db.rows(fields, second) == [("b", 100, [], None)]
    assert state(db, elsewhere) == "pending"
    sound()


# P12, P13: moved jobs -------------------------------------------------------------------------


def test_p12_after_each_move_the_order_is_the_documented_one(db: Session, sound: Sound) -> None:
    create(db, retry_delay="0 s", retry_backoff="false")
    low, middle, high = (db.enqueue("q", priority=priority) for priority in (1, 2, 3))
    later = db.enqueue("q", priority=2, delay="1 hour")
    assert db.one("select pgbaton.reschedule_job('q', %s)", later) == "ok"
    assert db.one("select pgbaton.change_priority('q', %s, 3)", low) == "ok"
    assert list(db.claim("q", 1)) == [low]  # by its enqueue it comes before those of priority 3
    claimed = db.claim("q", 1)
    assert list(claimed) == [high]
    assert fail(db, claimed, retry_in="0 s") == "retry"
    assert run_all(db) == [high, middle, later]
    sound()


def test_p12_a_job_that_replaces_has_the_place_of_the_first(db: Session, sound: Sound) -> None:
    create(db)
    put(db, "1")
    between = db.enqueue("q")
    replaced, _ = put(db, "2")
    assert run_all(db) == [replaced, between]
    put(db, "3")
    before = db.enqueue("q", priority=200)
    moved = db.enqueue("q", dedup_id="d", on_duplicate="replace", priority=200)
    assert run_all(db) == [moved, before]  # among those of its priority, too
    sound()


@pytest.mark.parametrize(
    "move",
    ["pgbaton.reschedule_job('q', %s, now() + '1 hour')", "pgbaton.change_priority('q', %s, 7)"],
)
@pytest.mark.parametrize("claim_end", ["commit", "rollback"])
def test_p13_a_move_meets_a_claim(
    db: Session, open_session: Open, sound: Sound, move: LiteralString, claim_end: str
) -> None:
    create(db)
    job = db.enqueue("q")
    worker, operator = open_session(), open_session()
    worker.begin()
    assert list(worker.claim("q")) == [job]
    waiting = operator.start("select " + move, job).until_blocked(worker)
    worker.end(claim_end)
    if claim_end == "commit":
        assert waiting.refusal() == "PB003"
        assert state(db, job) == "active"
    else:
        assert waiting.one() == "ok"
    sound()


BULK: dict[str, LiteralString] = {
    "reschedule": "select done, passed_over from pgbaton.act_on_jobs('reschedule',"
    " '{\"queue\": \"q\"}', run_at => '2100-01-01')",
    "prioritize": "select done, passed_over from pgbaton.act_on_jobs('prioritize',"
    ' \'{"queue": "q"}\', priority => 7)',
}
ROW: LiteralString = "select s.*, s.ctid from pgbaton.span as s where s.state = 'active'"


@pytest.mark.parametrize("action", BULK)
@pytest.mark.parametrize("policy", ["standard", "fifo", "singleton"])
@pytest.mark.parametrize("claim_end", ["commit", "rollback"])
def test_p13_a_move_of_all_that_match_meets_a_claim(
    db: Session, open_session: Open, sound: Sound, action: str, policy: str, claim_end: str
) -> None:
    """What was claimed before is passed over, and its row stays as it is, to the last bit."""
    create(db, policy)
    jobs = db.enqueue_batch("q", 3, None if policy == "standard" else ["k"] * 3)
    worker, operator = open_session(), open_session()
    worker.begin()
    claimed = worker.claim("q", 1)
    assert list(claimed) == jobs[:1]
    waiting = operator.start(BULK[action]).until_blocked(worker)
    held = worker.rows(ROW)
    worker.end(claim_end)
    if claim_end == "rollback":
        assert waiting.rows() == [(3, 0)]
    else:
        assert waiting.rows() == [(2, 1)]
        assert db.rows(ROW) == held
        assert worker.complete(claimed) == ["ok"]
    if action == "prioritize":
        assert run_all(db) == (jobs if claim_end == "rollback" else jobs[1:])
    else:
        assert db.claim("q") == {}
    sound()


@pytest.mark.parametrize("action", BULK)
@pytest.mark.parametrize("policy", ["standard", "fifo", "singleton"])
@pytest.mark.parametrize("move_end", ["commit", "rollback"])
def test_p13_a_claim_passes_by_an_open_move(
    db: Session, open_session: Open, sound: Sound, action: str, policy: str, move_end: str
) -> None:
    create(db, policy)
    jobs = db.enqueue_batch("q", 3, None if policy == "standard" else ["k"] * 3)
    worker, operator = open_session(), open_session()
    operator.begin()
    assert operator.rows(BULK[action]) == [(3, 0)]
    worker.never_waits()
    assert worker.claim("q") == {}
    operator.end(move_end)
    expected = [] if (action, move_end) == ("reschedule", "commit") else jobs
    assert run_all(worker) == expected
    sound()


MOVES: list[LiteralString] = [
    "select done from pgbaton.act_on_jobs('reschedule', '{\"queue\": \"q\"}', max_rows => 30)",
    "select done from pgbaton.act_on_jobs('prioritize',"
    ' \'{"queue": "q", "singleton_key": "k1"}\', priority => 300)',
    "select done from pgbaton.act_on_jobs('prioritize', '{\"queue\": \"q\"}', priority => 7)",
]


@pytest.mark.parametrize("policy", ["standard", "fifo", "singleton"])
def test_p13_jobs_are_moved_again_and_again_while_they_run(
    db: Session, open_session: Open, sound: Sound, policy: str
) -> None:
    """Each runs once, and those of a key in their order, whatever is moved meanwhile."""
    create(db, policy)
    keys = [f"k{n % 5}" for n in range(100)]
    jobs = db.enqueue_batch("q", 100, keys)
    key_of = dict(zip(jobs, keys, strict=True))
    operator, worker = open_session(), open_session()
    ran: list[int] = []
    moved, ended = [0], threading.Event()

    def move() -> None:
        while not ended.is_set():
            for call in MOVES:
                moved[0] += operator.one(call)

    moving = threading.Thread(target=move)
    moving.start()
    try:
        while len(ran) < len(jobs):
            claimed = worker.claim("q", 3)
            assert set(worker.complete(claimed)) <= {"ok"}
            ran += claimed
    finally:
        ended.set()
        moving.join(30)
    assert moved[0] > 0
    assert sorted(ran) == jobs
    if policy != "standard":
        for key in set(keys):
            mine = [job for job in ran if key_of[job] == key]
            assert mine == sorted(mine)
    sound()


def test_p13_a_running_job_is_never_replaced(db: Session, open_session: Open, sound: Sound) -> None:
    """Its row stays as it is, to the last bit; see P01 for the races."""
    create(db)
    put(db, "1")
    claimed = db.claim("q")
    row: LiteralString = "select * from pgbaton.span where state = 'active'"
    before = db.rows(row)
    put(db, "2")
    put(db, "3")
    assert db.rows(row) == before
    assert db.complete(claimed) == ["ok"]
    sound()


# P14, P15: many of one id ---------------------------------------------------------------------


def test_p14_sequences_are_wide_and_drawn_once_a_job(db: Session, sound: Sound) -> None:
    assert db.rows(
        "select c.relname from pg_sequence as s inner join pg_class as c on c.oid = s.seqrelid"
        " where c.relnamespace = 'pgbaton'::regnamespace and s.seqtypid <> 'bigint'::regtype"
        " and c.relname ~ 'job|position'"
    ) == []  # fmt: skip
    create(db)
    put(db, "0")
    place: LiteralString = "select last_value from pgbaton.position_seq"
    before = db.one(place)
    db.rows(
        "select pgbaton.enqueue_job('q', dedup_id => 'd', on_duplicate => 'replace')"
        " from generate_series(1, 1000)"
    )
    # Of each job one id (of the cache of the session: they follow one another), and no place.
    assert db.rows("select max(id) - min(id), count(*) from pgbaton.job") == [(1000, 1001)]
    assert db.one(place) == before
    sound()


@pytest.mark.parametrize("policy", ["standard", "fifo", "short", "exclusive"])
def test_p15_fifty_sessions_and_one_key(
    db: Session, open_session: Open, sound: Sound, policy: str
) -> None:
    create(db, policy)
    sessions = [open_session() for _ in range(50)]
    gate = open_session()
    gate.begin()
    put(gate, "gate", policy, debounce="1 hour")
    calls = [
        session.start(PUT, **arguments(str(n), policy, debounce="1 hour")).until_blocked()
        for n, session in enumerate(sessions)
    ]
    gate.commit()
    answers = [call.rows()[0] for call in calls]
    assert {outcome for _, outcome in answers} == {"replaced"}
    assert len(live(db)) == 1
    assert db.one("select count(*) from pgbaton.job_history") == 50
    sound()
