"""Lists that fit a terminal: what matters least is left out, names wrap, long lists scroll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

GAP = 2
SHORTEST_NAME = 20


@dataclass(frozen=True)
class Column:
    """`rank`: the higher, the sooner it is left out; 0 stays. `grows`: it takes what is left."""

    name: str
    rank: int = 0
    is_left: bool = False
    grows: bool = False


@dataclass(frozen=True)
class Listing:
    """Rows under columns, of which the first has the name of each row, which may be long."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    around: int = 0
    """The row that is always seen."""
    is_selected: bool = False

    def heights(self, console: Console, width: int) -> list[int]:
        """How many lines each row takes."""
        room = self._widths(self._fitting(width), width)[0]
        return [len(Text(row[0]).wrap(console, room, overflow="fold")) for row in self.rows]

    def table(self, console: Console, width: int, room: int) -> Table:
        """The part of it within so many columns of text and lines, the heads not counted."""
        shown = self._fitting(width)
        widths = self._widths(shown, width)
        first, last = self._window(self.heights(console, width), room)
        table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, GAP, 0, 0))
        for place, n in enumerate(shown):
            column = self.columns[n]
            head = column.name
            if n == 0 and last - first < len(self.rows):
                head += f" {first + 1}-{last} of {len(self.rows)}"
            table.add_column(
                Text(head, no_wrap=True),
                justify="left" if column.is_left or n == 0 else "right",
                width=widths[place],
                overflow="fold" if n == 0 else "ellipsis",
                no_wrap=n > 0,
            )
        for number, row in list(enumerate(self.rows))[first:last]:
            is_selected = self.is_selected and number == self.around
            table.add_row(*(Text(row[n]) for n in shown), style="reverse" if is_selected else "")
        return table

    def _natural(self, n: int) -> int:
        return max(cell_len(text) for text in [self.columns[n].name, *(r[n] for r in self.rows)])

    def _least(self, n: int) -> int:
        if self.columns[n].grows:
            return cell_len(self.columns[n].name)
        return min(self._natural(n), SHORTEST_NAME) if n == 0 else self._natural(n)

    def _fitting(self, width: int) -> list[int]:
        """Which columns fit."""
        shown = list(range(len(self.columns)))
        while sum(self._least(n) + GAP for n in shown) - GAP > width:
            droppable = [n for n in shown if self.columns[n].rank > 0]
            if not droppable:
                break
            shown.remove(max(droppable, key=lambda n: self.columns[n].rank))
        return shown

    def _widths(self, shown: list[int], width: int) -> list[int]:
        widths = {n: self._least(n) for n in shown}
        for n in [0, *(n for n in shown if self.columns[n].grows)]:
            spare = width - sum(widths.values()) - GAP * (len(shown) - 1)
            widths[n] += max(min(spare, self._natural(n) - widths[n]), 0)
        widths[0] = max(1, min(widths[0], width))
        return list(widths.values())

    def _window(self, heights: list[int], room: int) -> tuple[int, int]:
        """From and to which row, around the one that is always seen."""
        if not heights:
            return 0, 0
        first = last = min(self.around, len(heights) - 1)
        last += 1
        used = heights[first]
        while True:
            if first > 0 and used + heights[first - 1] <= room and first >= last - self.around:
                first -= 1
                used += heights[first]
            elif last < len(heights) and used + heights[last] <= room:
                used += heights[last]
                last += 1
            elif first > 0 and used + heights[first - 1] <= room:
                first -= 1
                used += heights[first]
            else:
                return first, last


@dataclass(frozen=True)
class Frame:
    """Lists below each other, between a head and a foot, within the height of a terminal."""

    head: Text
    listings: Sequence[Listing | Text]
    """A text stands where a list is empty."""
    foot: Sequence[Text]
    height: int | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        rooms = self._rooms(console, width)
        yield self.head
        for listing, room in zip(self.listings, rooms, strict=True):
            yield listing if isinstance(listing, Text) else listing.table(console, width, room)
            yield Text("")
        yield from self.foot

    def _rooms(self, console: Console, width: int) -> list[int]:
        """Lines for the rows of each list: as many as it needs, or its share."""
        needed = [
            0 if isinstance(listing, Text) else sum(listing.heights(console, width))
            for listing in self.listings
        ]
        if self.height is None:
            return needed
        others = [self.head, *self.foot, *(one for one in self.listings if isinstance(one, Text))]
        left = self.height - len(self.listings)  # an empty line below each
        left -= sum(len(text.wrap(console, width)) for text in others)
        left -= sum(not isinstance(listing, Text) for listing in self.listings)  # the heads
        rooms = [0] * len(needed)
        while left > 0 and rooms != needed:
            for n, need in enumerate(needed):
                if rooms[n] < need and left > 0:
                    rooms[n] += 1
                    left -= 1
        return [max(1, room) for room in rooms]
