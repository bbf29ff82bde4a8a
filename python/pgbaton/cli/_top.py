"""top: a live screen, with keys to act."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Annotated

import typer
from rich.live import Live

from pgbaton.cli._io import Dsn, client_of, out
from pgbaton.cli._screen import Screen

NAMES = {"\x1b[A": "up", "\x1b[B": "down", "\t": "tab", "\x03": "q"}


def top(
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2,
    once: Annotated[
        bool, typer.Option("--once", help="Print one frame, as wide as COLUMNS says, and end.")
    ] = False,
    dsn: Dsn = "",
) -> None:
    """Watch queues, blocked keys and workers, and repair them; one frame without a terminal."""
    with client_of(dsn) as client:
        screen = Screen(client, every)
        client.live_stats()  # what is wrong from the start ends the command
        screen.refresh()
        if once or not (sys.stdin.isatty() and sys.stdout.isatty()):
            out(fits_columns=True).print(screen.render())
            return
        with keyboard() as descriptor, Live(screen=True, auto_refresh=False) as live:
            next_look = monotonic() + every
            while not screen.is_done:
                live.update(screen.render(live.console.height), refresh=True)
                for key in pressed(descriptor, next_look - monotonic()):
                    screen.press(key)
                if monotonic() >= next_look:
                    screen.refresh()
                    next_look = monotonic() + every


@contextmanager
def keyboard() -> Iterator[int]:
    """Each key at once and unseen; as it was afterwards."""
    import termios  # not everywhere
    import tty

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield descriptor
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def pressed(descriptor: int, seconds: float) -> list[str]:
    """The keys that come within so many seconds; q when the terminal is gone."""
    if not select.select([descriptor], [], [], max(0, seconds))[0]:
        return []
    return keys_in(os.read(descriptor, 64).decode(errors="replace")) or ["q"]


def keys_in(text: str) -> list[str]:
    """Names of keys for what a terminal sends."""
    keys = []
    while text:
        size = 3 if text.startswith("\x1b[") else 1
        keys.append(NAMES.get(text[:size], text[:size].lower()))
        text = text[size:]
    return keys
