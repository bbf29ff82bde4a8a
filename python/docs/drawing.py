"""Boxes and arrows as SVG, for the pictures of the docs: no program, no font and no network."""

from __future__ import annotations

import html
from dataclasses import dataclass

HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
    ' aria-label="{title}" font-family="sans-serif" font-size="13">\n'
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0 8 4 0 8z" fill="#37474f"/></marker></defs>\n'
    '<rect width="{width}" height="{height}" rx="6" fill="#fff" stroke="#cfd8dc"/>'
)


@dataclass(frozen=True)
class Box:
    """A box with a title and lines below it."""

    x: int
    y: int
    title: str
    lines: tuple[str, ...] = ()
    fill: str = "#e0f2f1"
    width: int = 140

    @property
    def height(self) -> int:
        return 32 + 17 * len(self.lines)

    def drawn(self) -> str:
        middle = self.x + self.width // 2
        shape = (
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="5"'
            f' fill="{self.fill}" stroke="#00796b"/>'
        )
        below = [
            text(self.x + 8, self.y + 37 + 17 * number, line, anchor="start", size=12)
            for number, line in enumerate(self.lines)
        ]
        title = text(middle, self.y + 21, self.title, weight="bold")
        return "\n".join([shape, title, *below])


def text(
    x: int, y: int, words: str, *, anchor: str = "middle", size: int = 13, weight: str = "normal"
) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
        f' fill="#263238">{html.escape(words)}</text>'
    )


def arrow(
    points: list[tuple[int, int]],
    words: str = "",
    *,
    at: tuple[int, int] | None = None,
    dashed: bool = False,
) -> str:
    """A line through the points with a tip at the last one; words stand at its middle, or there."""
    path = " ".join(f"{x},{y}" for x, y in points)
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    line = (
        f'<polyline points="{path}" fill="none" stroke="#37474f" stroke-width="1.3"{dashes}'
        ' marker-end="url(#tip)"/>'
    )
    if not words:
        return line
    (ax, ay), (bx, by) = points[0], points[-1]
    x, y = at or ((ax + bx) // 2, (ay + by) // 2 - 5)
    return line + "\n" + text(x, y, words, size=11)


def picture(title: str, width: int, height: int, parts: list[str]) -> str:
    head = HEAD.format(width=width, height=height, title=html.escape(title))
    return "\n".join([head, *parts, "</svg>\n"])
