"""Draws what bench/peers.py measured: a picture for the README and two for docs/performance.md.

Every bar is a median of the run in build/bench-peers.json, those in which pgbaton is slower too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "docs"))

from drawing import picture, text
from peer_report import IN_ONE_CALL, OURS, Results

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH, COLUMN, BARS_AT, BAR, GAP = 760, 380, 122, 15, 5
LONGEST = COLUMN - BARS_AT - 82  # leaves room for the figure
COLORS = {OURS: "#00796b", IN_ONE_CALL: "#4db6ac"}
OTHERS = "#b0bec5"


class Panel(NamedTuple):
    """Bars below a heading; they are as long as their values against the longest of the panel."""

    heading: str
    values: dict[str, float]
    digits: int = 0

    @property
    def height(self) -> int:
        return 30 + len(self.values) * (BAR + GAP)

    def drawn(self, x: int, y: int, *, is_smallest_first: bool = False) -> list[str]:
        parts = [text(x + 12, y + 16, self.heading, anchor="start", weight="bold")]
        most = max(self.values.values())
        ordered = sorted(self.values.items(), key=lambda item: item[1])
        for place, (name, value) in enumerate(ordered if is_smallest_first else ordered[::-1]):
            top = y + 26 + place * (BAR + GAP)
            length = max(1, round(LONGEST * value / most))
            weight = "bold" if name in COLORS else "normal"
            parts += [
                text(x + BARS_AT - 6, top + 12, name, anchor="end", size=11, weight=weight),
                f'<rect x="{x + BARS_AT}" y="{top}" width="{length}" height="{BAR}"'
                f' fill="{COLORS.get(name, OTHERS)}"/>',
                text(
                    x + BARS_AT + length + 5,
                    top + 12,
                    f"{value:,.{self.digits}f}",
                    anchor="start",
                    size=11,
                ),
            ]
        return parts


def rates(results: Results, workload: str) -> dict[str, float]:
    """Jobs a second of each queue that did something in this workload."""
    found = {
        name: results.median(workload, name, "jobs_per_s") for name in results.queues_of(workload)
    }
    return {name: rate for name, rate in found.items() if rate}


def panels_of(results: Results, workloads: Sequence[tuple[str, str]]) -> list[Panel]:
    """A panel for each workload that was measured."""
    found = [Panel(heading, rates(results, name)) for name, heading in workloads]
    return [panel for panel in found if panel.values]


def chart(title: str, panels: Sequence[Panel], *, is_smallest_first: bool = False) -> str:
    """The panels in two columns."""
    parts = [text(12, 24, title, anchor="start", size=14, weight="bold")]
    y = 36
    for first in range(0, len(panels), 2):
        row = panels[first : first + 2]
        for place, panel in enumerate(row):
            parts += panel.drawn(place * COLUMN, y, is_smallest_first=is_smallest_first)
        y += max(panel.height for panel in row) + 10
    return picture(title, WIDTH, y, parts)


def held_panels(results: Results) -> list[Panel]:
    """The p95 latencies under a held snapshot: of the first and of the last stretch."""
    names = results.queues_of("held_snapshot")
    panels = []
    for stretch in ("first", "last"):
        figure = f"latency_p95_ms_{stretch}_stretch"
        found = {name: results.median("held_snapshot", name, figure) for name in names}
        values = {name: value for name, value in found.items() if value}
        if values:
            panels.append(Panel(f"p95 in the {stretch} seconds, ms", values, 1))
    return panels


def drawings(results: Results) -> dict[str, str]:
    """The pictures by file name, as far as their workloads were measured."""
    drains = panels_of(
        results,
        [(f"drain_b{size}", f"claimed and completed, {size} a call") for size in (1, 10, 100, 500)],
    )
    others = panels_of(
        results,
        [
            ("enqueue_one", "enqueued one by one"),
            ("enqueue_bulk", "enqueued in bulk"),
            ("keyed_10k_x_10", "10,000 keys, in order per key"),
            ("ack_singly", "acknowledged one by one"),
        ],
    )
    found = {
        "speed.svg": ("Jobs a second, from bulk-enqueued jobs", drains, False),
        "speed-enqueue-keys.svg": ("Jobs a second", others, False),
        "speed-held.svg": (
            "2,000 jobs a second under a held snapshot: enqueue to end",
            held_panels(results),
            True,
        ),
    }
    return {
        name: chart(title, panels, is_smallest_first=smallest)
        for name, (title, panels, smallest) in found.items()
        if panels
    }


def write(results: Results) -> None:
    for name, drawing in drawings(results).items():
        (IMAGES / name).write_text(drawing, "utf-8")
