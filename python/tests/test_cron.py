"""Cron expressions compared with cronsim, which follows Debian's cron.

cronsim decides, with two exceptions, each of them spelled out here:
- It looks for fixed times on the clock alone, so a start inside the hour that comes twice can make
  it return a time that is over. The first of its answers after the start counts.
- With * as minute or hour it goes by hours and by midnights, which loses its way where the clocks
  change by half an hour (Lord Howe) or at midnight (Sao Paulo). There every minute is looked at.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import psycopg
import pytest
from cronsim import CronSim, CronSimError

ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
    "Asia/Kolkata",
    "Africa/Casablanca",
    "UTC",
]
WHERE_CRONSIM_IS_LOST = {"Australia/Lord_Howe", "America/Sao_Paulo"}
FIRST, LAST = datetime(2015, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
HOUR = timedelta(hours=1)


def field(rng: random.Random, low: int, high: int, names: list[str] | None = None) -> str:
    def one(value: int) -> str:
        if names and value - low < len(names) and rng.random() < 0.4:
            name = names[value - low]
            return rng.choice([name, name.lower(), name.capitalize()])
        return str(value)

    kind = rng.choice(["number", "number", "list", "range", "step", "range step", "from step"])
    first, last = sorted(rng.sample(range(low, high + 1), 2))
    step = rng.randint(1, max(2, (high - low) // 2))
    match kind:
        case "number":
            return one(first)
        case "list":
            some = [one(rng.randint(low, high)) for _ in range(rng.randint(1, 3))]
            return ",".join([*some, f"{one(first)}-{one(last)}"])
        case "range":
            return f"{one(first)}-{one(last)}"
        case "step":
            return f"*/{step}"
        case "range step":
            return f"{one(first)}-{one(last)}/{step}"
    return f"{first}/{step}"


def expression(rng: random.Random) -> str:
    def maybe(chance: float, *limits: Any) -> str:
        return field(rng, *limits) if rng.random() < chance else "*"

    return " ".join(
        [
            maybe(0.8, 0, 59),
            # The small hours are those in which the clocks change.
            str(rng.randint(0, 3)) if rng.random() < 0.3 else maybe(0.6, 0, 23),
            maybe(0.3, 1, 31),
            maybe(0.2, 1, 12, MONTHS),
            maybe(0.3, 0, 7, WEEKDAYS),
        ]
    )


def changes(zone: ZoneInfo) -> list[datetime]:
    """The instants at which the clocks of a zone change, to the half hour."""
    found = []
    at = FIRST
    while at < LAST:
        if at.astimezone(zone).utcoffset() != (at + 24 * HOUR).astimezone(zone).utcoffset():
            edge = at
            while at.astimezone(zone).utcoffset() == edge.astimezone(zone).utcoffset():
                edge += HOUR / 2
            found.append(edge)
        at += 24 * HOUR
    return found


def starts(rng: random.Random, zone: str) -> Iterator[datetime]:
    edges = changes(ZoneInfo(zone))
    while True:
        if edges and rng.random() < 0.7:
            reach = rng.choice([1, 3, 30]) * 3600
            at = rng.choice(edges) + timedelta(seconds=rng.randint(-reach, reach))
        else:
            at = FIRST + (LAST - FIRST) * rng.random()
        # On the minute, on the second or in between.
        yield rng.choice(
            [
                at.replace(second=0, microsecond=0),
                at.replace(microsecond=0),
                at.replace(microsecond=1),
            ]
        )


def by_cronsim(cron: str, zone: str, start: datetime) -> datetime:
    for found in CronSim(cron, start.astimezone(ZoneInfo(zone))):
        instant = found.astimezone(UTC)
        if instant > start:
            return instant
    raise AssertionError(f"{cron} never comes true")


def by_minutes(cron: str, zone: str, start: datetime, until: datetime) -> datetime | None:
    """The first minute after start, up to until, at which the clock shows what the cron says."""
    spec = CronSim(cron, start)
    at = start.replace(second=0, microsecond=0)
    while (at := at + HOUR / 60) <= until:
        clock = at.astimezone(ZoneInfo(zone))
        if (
            clock.minute in spec.minutes
            and clock.hour in spec.hours
            and clock.month in spec.months
            and spec.match_day(clock.date())
        ):
            return at
    return None


def next_times(conn: psycopg.Connection[Any], cases: list[tuple[str, str, datetime]]) -> list[Any]:
    rows = conn.execute(
        """
        select pgbaton._cron_next(c.cron, c.zone, c.start)
        from unnest(%s::text[], %s::text[], %s::timestamptz[]) with ordinality
            as c (cron, zone, start, n)
        order by c.n
        """,
        [list(column) for column in zip(*cases, strict=True)],
    )
    return [found and found.astimezone(UTC) for (found,) in rows]


@pytest.mark.parametrize("zone", ZONES)
def test_the_next_time_is_that_of_cronsim(conn: psycopg.Connection[Any], zone: str) -> None:
    rng = random.Random(f"cron in {zone}")  # noqa: S311
    start = starts(rng, zone)
    cases: list[tuple[str, str, datetime]] = []
    expected = []
    while len(cases) < 320:
        cron, at = expression(rng), next(start)
        try:
            expected.append(by_cronsim(cron, zone, at))
        except CronSimError:
            continue  # 31 February
        cases.append((cron, zone, at))

    differing = [
        (case, theirs, ours)
        for case, theirs, ours in zip(cases, expected, next_times(conn, cases), strict=True)
        if theirs != ours
    ]
    for (cron, _, at), theirs, ours in differing:
        what = f"{cron!r} in {zone} after {at}: cronsim says {theirs}, pgbaton {ours}"
        minute, hour, *_ = cron.split()
        assert zone in WHERE_CRONSIM_IS_LOST, what
        assert minute[0] == "*" or hour[0] == "*", what
        assert by_minutes(cron, zone, at, max(theirs, ours)) == ours, what


# minute and hour of every day, zone, start, next time, what it shows
CLOCK_CHANGES = """
30 2 | Europe/Berlin | 2026-03-29 00:00+01 | 2026-03-29 03:00+02 | left out: right after the gap
15,45 2 | Europe/Berlin | 2026-03-29 03:00+02 | 2026-03-30 02:15+02 | two that are left out: once
*/30 2 | Europe/Berlin | 2026-03-29 00:00+01 | 2026-03-30 02:00+02 | left out, with *: not that day
30 2 | Europe/Berlin | 2026-10-25 00:00+02 | 2026-10-25 02:30+02 | comes twice: the first
30 2 | Europe/Berlin | 2026-10-25 02:30+02 | 2026-10-26 02:30+01 | and not again
30 2 | Europe/Berlin | 2026-10-25 02:10+01 | 2026-10-26 02:30+01 | nor from within the second
30 2 | Europe/Berlin | 2026-10-25 02:10+02 | 2026-10-25 02:30+02 | from within the first
*/30 2 | Europe/Berlin | 2026-10-25 02:30+02 | 2026-10-25 02:00+01 | comes twice, with *: both
30 0 | America/Sao_Paulo | 2018-11-03 12:00-03 | 2018-11-04 01:00-02 | a gap at midnight
*/30 0 | America/Sao_Paulo | 2018-11-03 12:00-03 | 2018-11-05 00:00-02 | with *
30 23 | America/Sao_Paulo | 2018-02-17 12:00-02 | 2018-02-17 23:30-02 | the hour before midnight
15 2 | Australia/Lord_Howe | 2026-10-03 12:00+10:30 | 2026-10-04 02:30+11 | half an hour is left out
45 1 | Australia/Lord_Howe | 2026-04-04 12:00+11 | 2026-04-05 01:45+11 | half an hour comes twice
45 * | Australia/Lord_Howe | 2026-04-05 01:45+11 | 2026-04-05 01:45+10:30 | with *, both
0 12 | Pacific/Apia | 2011-12-29 13:00-10 | 2011-12-31 00:00+14 | a day that never was
"""


def test_when_the_clocks_change(conn: psycopg.Connection[Any]) -> None:
    rows = [[cell.strip() for cell in row.split("|")] for row in CLOCK_CHANGES.split("\n")[1:-1]]
    cases = [
        (f"{cron} * * *", zone, datetime.fromisoformat(start)) for cron, zone, start, _, _ in rows
    ]
    for (*_, expected, why), found in zip(rows, next_times(conn, cases), strict=True):
        assert found == datetime.fromisoformat(expected), why


def test_the_session_has_no_say(conn: psycopg.Connection[Any]) -> None:
    """Zones whose midnight or day is missing, where a date has no instant of its own."""
    cases = [
        ("0 12 * * *", "UTC", datetime(2011, 12, 29, 13, tzinfo=UTC)),
        ("0 12 * * *", "UTC", datetime(2018, 11, 3, 13, tzinfo=UTC)),
    ]
    expected = [start + 23 * HOUR for _, _, start in cases]
    for zone in ("UTC", "Pacific/Apia", "America/Sao_Paulo"):
        conn.execute("select set_config('timezone', %s, false)", [zone])
        assert next_times(conn, cases) == expected, zone
