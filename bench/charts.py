"""Draws what bench/peers.py measured, for the README and docs/performance.md.

Every bar is a median of what is in build/bench-peers.json, those in which pgbaton is slower too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "docs"))

from drawing import picture, text
from peer_report import IN_ONE_CALL, OURS, Key, Results

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH, COLUMN, BARS_AT, BAR, GAP = 760, 380, 122, 15, 5
LONGEST = COLUMN - BARS_AT - 82  # leaves room for the figure
COLORS = {OURS: "#00796b", IN_ONE_CALL: "#4db6ac"}
OTHERS = "#b0bec5"


class Panel(NamedTuple):
    """Bars below a heading; they are as long as their values against the longest of the panel."""

    heading: str
    values: dict[str, float]

    @property
    def height(self) -> int:
        return 30 + len(self.values) * (BAR + GAP)

    def drawn(self, x: int, y: int) -> list[str]:
        parts = [text(x + 12, y + 16, self.heading, anchor="start", weight="bold")]
        most = max(self.values.values())
        ordered = sorted(self.values.items(), key=lambda item: -item[1])
        for place, (name, value) in enumerate(ordered):
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
                    f"{value:,.0f}",
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


def chart(title: str, panels: Sequence[Panel]) -> str:
    """The panels in two columns."""
    parts = [text(12, 24, title, anchor="start", size=14, weight="bold")]
    y = 36
    for first in range(0, len(panels), 2):
        row = panels[first : first + 2]
        for place, panel in enumerate(row):
            parts += panel.drawn(place * COLUMN, y)
        y += max(panel.height for panel in row) + 10
    return picture(title, WIDTH, y, parts)


def curves_of(results: Results, workload: str) -> dict[str, list[float]]:
    """The latencies of the first run of each queue over its time."""
    found = {
        name: results.runs[Key(workload, name)][0].get("latency_p95_ms_curve")
        for name in results.queues_of(workload)
    }
    return {name: curve for name, curve in found.items() if curve}


def curve_chart(title: str, curves: dict[str, list[float]]) -> str:
    """A line for each queue, from the begin of the run at the left to its end at the right."""
    left, right, top, bottom = 52, WIDTH - 150, 50, 250
    most = max(max(curve) for curve in curves.values())
    parts = [text(12, 24, title, anchor="start", size=14, weight="bold")]
    for share in (0, 0.5, 1):
        y = round(bottom - (bottom - top) * share)
        parts += [
            f'<line x1="{left}" y1="{y}" x2="{right}" y2="{y}" stroke="#eceff1"/>',
            text(left - 6, y + 4, f"{most * share:,.0f} ms", anchor="end", size=11),
        ]
    free = top  # below the last name, so that no two names overlap
    for name, curve in sorted(curves.items(), key=lambda item: -item[1][-1]):
        points = [
            (
                left + (right - left) * place / (len(curve) - 1),
                bottom - (bottom - top) * value / most,
            )
            for place, value in enumerate(curve)
        ]
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{COLORS.get(name, OTHERS)}"'
            f' stroke-width="{3 if name in COLORS else 2}"/>'
        )
        y = max(free, round(points[-1][1]))
        weight = "bold" if name in COLORS else "normal"
        label = f"{name} {curve[-1]:,.0f}"
        parts.append(text(right + 8, y + 4, label, anchor="start", size=11, weight=weight))
        free = y + 14
    parts.append(text(left, bottom + 20, "begin", anchor="start", size=11))
    parts.append(text(right, bottom + 20, "end of the run", anchor="end", size=11))
    return picture(title, WIDTH, max(bottom + 34, free + 10), parts)


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
    found = {}
    if drains:
        found["speed.svg"] = chart("Jobs a second, from bulk-enqueued jobs", drains)
    if others:
        found["speed-enqueue-keys.svg"] = chart("Jobs a second", others)
    if curves := curves_of(results, "held_snapshot"):
        found["speed-held.svg"] = curve_chart(
            "From enqueue to end under a held snapshot, p95", curves
        )
    return found


def write(results: Results) -> None:
    for name, drawing in drawings(results).items():
        (IMAGES / name).write_text(drawing, "utf-8")
