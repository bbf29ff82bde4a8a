"""Writes docs/images/idea.svg: keys, batons and a job that failed, for the README."""

from __future__ import annotations

import sys
from pathlib import Path

from drawing import picture, text

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "docs" / "images" / "idea.svg"
COLORS = {
    "runs": "#b2dfdb",
    "waits": "#eceff1",
    "failed": "#ffcdd2",
    "may run": "#fff8e1",
}
# Each key with its jobs from the front on, and what becomes of the one in front.
LINES = [
    ("order-1", ["paid", "packed", "shipped"], "runs", "a worker has it"),
    ("order-2", ["paid", "refunded"], "failed", "retry_job or skip_job, then the next"),
    ("order-3", ["paid", "packed"], "may run", "the next claim takes it"),
    ("order-4", ["cancelled"], "runs", "another worker has it"),
]


def line(y: int, key: str, jobs: list[str], state: str, note: str) -> str:
    parts = [text(24, y + 22, key, anchor="start", weight="bold")]
    for number, job in enumerate(jobs):
        x = 110 + 120 * number
        color = COLORS[state if number == 0 else "waits"]
        parts += [
            f'<rect x="{x}" y="{y}" width="104" height="34" rx="5" fill="{color}"'
            ' stroke="#607d8b"/>',
            text(x + 52, y + 15, job),
            text(x + 52, y + 29, state if number == 0 else "waits", size=10),
        ]
        if number:
            parts.append(text(x - 8, y + 22, "←"))
    parts.append(f'<circle cx="104" cy="{y + 17}" r="7" fill="#ffb300" stroke="#5d4037"/>')
    parts.append(text(480, y + 22, note, anchor="start", size=12))
    return "\n".join(parts)


def drawing() -> str:
    parts = [line(48 + 48 * number, *row) for number, row in enumerate(LINES)]
    words = "The first job of a key holds its baton, the yellow dot. Keys do not wait for others."
    head = text(24, 28, words, anchor="start")
    return picture("Keys, batons and a job that failed", 740, 252, [head, *parts])


def main() -> int:
    if sys.argv[1:] == ["--check"]:
        return int(PICTURE.read_text("utf-8") != drawing())
    PICTURE.write_text(drawing(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
