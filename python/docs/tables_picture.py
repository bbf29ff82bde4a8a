"""Writes docs/images/tables.svg: the tables that a job passes, for ARCHITECTURE.md."""

from __future__ import annotations

import sys
from pathlib import Path

from drawing import Box, arrow, picture

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "tables.svg"

WAITS, SETTINGS, ENDED = "#e0f2f1", "#fff8e1", "#eceff1"
# Each table with the columns that say what it is for; a test compares them with sql/schema.
TABLES = {
    "queue": Box(30, 30, "queue", ("name, policy", "max_attempts, lease", "is_paused"), SETTINGS),
    "lane": Box(30, 160, "lane", ("queue_id", "priority, job_type", "tags"), SETTINGS),
    "job": Box(250, 160, "job", ("id, lane_id", "singleton_key", "payload, day"), WAITS),
    "span": Box(
        480, 30, "span", ("lo, hi: the jobs", "state, position", "held_key"), WAITS, width=150
    ),
    "ready_span": Box(720, 30, "ready_span", ("claimable,", "no key"), WAITS),
    "leased_span": Box(720, 110, "leased_span", ("with a worker,", "no key"), WAITS),
    "job_history": Box(
        480, 200, "job_history", ("lo, hi: the jobs", "state, finished_at"), ENDED, width=150
    ),
    "job_report": Box(480, 290, "job_report", ("last_error, result",), ENDED, width=150),
    "job_error": Box(250, 290, "job_error", ("one per attempt",), ENDED),
    "baton_release": Box(720, 200, "baton_release", ("queue_id", "singleton_key"), WAITS),
    "watermark": Box(30, 290, "watermark", ("kind, value",), SETTINGS),
}
ARROWS = [
    arrow([(100, 160), (100, 113)], "of a", at=(118, 142)),
    arrow([(250, 200), (170, 200)], "of a", at=(210, 195)),
    arrow([(480, 75), (330, 160)], "lo..hi: live", at=(370, 112)),
    arrow([(480, 225), (390, 212)], "lo..hi: ended", at=(432, 234)),
    arrow([(480, 300), (390, 236)], "", at=None),
    arrow([(320, 290), (320, 243)]),
    arrow([(720, 60), (630, 60)], "inherits", at=(675, 55)),
    arrow([(720, 130), (630, 95)], "inherits", at=(682, 130)),
    arrow([(555, 113), (555, 200)], "ends", at=(574, 160), dashed=True),
    arrow([(720, 225), (630, 108)], "the next claim gives the key on", at=(790, 284), dashed=True),
    arrow([(100, 290), (100, 243)], "how far claims got", at=(156, 272)),
]


def drawing() -> str:
    boxes = [box.drawn() for box in TABLES.values()]
    return picture("The tables that a job passes", 890, 370, ARROWS + boxes)


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return int(PICTURE.read_text("utf-8") != drawing())
    PICTURE.write_text(drawing(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
