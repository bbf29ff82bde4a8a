"""_carve against a model that knows single jobs only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, LiteralString

import psycopg
import pytest
from hypothesis import example, given, note, settings
from hypothesis import strategies as st
from psycopg.rows import dict_row

TOKENS = [101, 102]
LIVE = ["waiting", "pending", "active", "retry", "unknown_retry", "cancelling", "failed"]
LEASED = ["active", "cancelling"]


@dataclass(frozen=True)
class Span:
    lo: int
    hi: int
    position: int
    state: str
    token: int | None
    key: str | None

    def pieces(self, wanted: set[int]) -> list[tuple[bool, Span]]:
        """The span cut into runs of jobs that are wanted and runs that are not."""
        runs: list[tuple[bool, Span]] = []
        for job in range(self.lo, self.hi + 1):
            is_wanted = job in wanted
            if runs and runs[-1][0] == is_wanted:
                runs[-1] = (is_wanted, self._part(runs[-1][1].lo, job))
            else:
                runs.append((is_wanted, self._part(job, job)))
        return runs

    def _part(self, lo: int, hi: int) -> Span:
        place = self.position + hi - self.hi
        return Span(lo, hi, place, self.state, self.token, self.key)


def takes(span: Span, states: list[str], is_fenced: bool, token: int | None) -> bool:
    if span.state not in states:
        return False
    if not is_fenced:
        return True
    return span.token == token if token else span.key is None


@st.composite
def layouts(draw: st.DrawFn) -> list[Span]:
    """Spans with gaps between them, in any order of position."""
    spans: list[Span] = []
    lo = draw(st.integers(1, 70))
    places = draw(st.permutations(range(1, 9)))
    for place in places[: draw(st.integers(0, 8))]:
        key = draw(st.sampled_from([None, None, None, "k"]))
        length = 1 if key else draw(st.sampled_from([1, 2, 3, 5, 20, 63, 64]))
        state = draw(st.sampled_from([*LIVE, "active", "active"]))
        token = draw(st.sampled_from(TOKENS)) if state in LEASED else None
        held = f"{key}{lo}" if key and state != "waiting" else None
        spans.append(Span(lo, lo + length - 1, place * 64, state, token, held))
        lo += length + draw(st.sampled_from([0, 0, 0, 1, 3, 64]))
    return spans


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Span], list[int], list[str], bool, int | None]:
    spans = draw(layouts())
    last = spans[-1].hi + 5 if spans else 10
    by_job = st.lists(st.integers(1, last), max_size=40)
    by_range = st.lists(st.tuples(st.integers(1, last), st.integers(1, 70)), max_size=4).map(
        lambda runs: [job for start, length in runs for job in range(start, start + length)]
    )
    jobs = draw(st.one_of(by_job, by_range))
    states = draw(st.one_of(st.just(LIVE), st.lists(st.sampled_from(LIVE), unique=True)))
    return spans, jobs, states, draw(st.booleans()), draw(st.sampled_from([*TOKENS, None]))


INSERT = """
    insert into pgbaton.span (
        lo, hi, position, state, lease_token, held_key, singleton_key, ready, day, queue_id,
        lane_id, attempt, extra_attempts, worker_id, lease_until, claimed_at, started_at, run_at,
        changed_at, key_position, slot
    )
    values (
        %s, %s, %s, %s, %s, %s, case when %s then 'key of one, or of those that wait' end,
        %s in ('pending', 'retry'), date '2030-01-01' + %s, %s % 7, %s % 5, %s % 3, %s % 4,
        'worker of ' || %s, 'epoch'::timestamptz + %s * interval '1 s',
        'epoch'::timestamptz + %s * interval '2 s', 'epoch'::timestamptz + %s * interval '3 s',
        'epoch'::timestamptz + %s * interval '4 s', 'epoch'::timestamptz + %s * interval '5 s', %s,
        case when %s <> 'waiting' then %s end
    )
""".replace(" % ", " %% ")


@pytest.mark.timeout(600)  # a failure is made as short as possible first, for five minutes at most
@settings(max_examples=300)
@given(cases())
@example(([Span(1, 64, 64, "active", 101, None)], [1, 64, 32, 32, 33], ["active"], True, 101))
@example(([Span(1, 64, 64, "active", 101, None)], list(range(1, 65)), ["active"], True, None))
@example(([Span(1, 64, 64, "active", 101, None)], [], ["active"], False, None))
def test_carve_takes_the_jobs_and_leaves_the_rest_as_it_was(
    shared: psycopg.Connection[Any],
    case: tuple[list[Span], list[int], list[str], bool, int | None],
) -> None:
    spans, jobs, states, is_fenced, token = case
    with shared.transaction(force_rollback=True):
        for s in spans:
            shared.execute(
                INSERT,
                [s.lo, s.hi, s.position, s.state, s.token, s.key]
                + [s.lo == s.hi or s.state == "waiting", s.state]
                + [s.lo] * 12
                + [s.state, s.lo],
            )
        before = other_columns(shared)
        shared.execute(
            "create temporary table carved on commit drop as"
            " select c.* from unnest(pgbaton._carve("
            "  %s, %s::text[]::pgbaton.job_state[], %s, %s)) as c",
            [jobs, states, is_fenced, token],
        )
        carved = spans_of(shared, "select * from carved")
        rest = spans_of(shared, "select * from pgbaton.span")
        note(f"carved {sorted(carved, key=str)}")
        note(f"left {sorted(rest, key=str)}")

        pieces = [
            (is_wanted and takes(span, states, is_fenced, token), part)
            for span in spans
            for is_wanted, part in (
                span.pieces(set(jobs)) if takes(span, states, is_fenced, token) else [(False, span)]
            )
        ]
        assert carved == {part for is_taken, part in pieces if is_taken}
        assert rest == {part for is_taken, part in pieces if not is_taken}

        # The caller puts them back: every job has all else as it was.
        shared.execute("insert into pgbaton.span select * from carved")
        assert other_columns(shared) == before


def spans_of(conn: psycopg.Connection[Any], query: LiteralString) -> set[Span]:
    rows = conn.cursor(row_factory=dict_row).execute(query).fetchall()
    return {
        Span(r["lo"], r["hi"], r["position"], r["state"], r["lease_token"], r["held_key"])
        for r in rows
    }


def other_columns(conn: psycopg.Connection[Any]) -> list[tuple[Any, ...]]:
    """Job by job, all columns but the bounds of the span; positions as those of the job."""
    return conn.execute("""
        select
            g.id, s.position + g.id - s.hi, s.key_position + g.id - s.lo,
            to_jsonb(s) - '{lo,hi,position,key_position}'::text[]
        from pgbaton.span as s cross join lateral generate_series(s.lo, s.hi) as g (id)
        order by g.id
    """).fetchall()
