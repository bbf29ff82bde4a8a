"""How a program that goes on is told to end."""

from __future__ import annotations

import select
import signal
import socket


class Stop:
    """Signals that ask for the end, SIGTERM and SIGINT if none are given.

    Not a threading.Event that a handler sets: set() takes a lock which the wait it interrupts may
    just hold, and a signal that comes as a wait begins is not seen before it ends. What arrives
    here is a byte that Python writes at once.
    """

    def __init__(self, *numbers: signal.Signals) -> None:
        self._asked, self._asking = socket.socketpair()
        self._asking.setblocking(False)
        signal.set_wakeup_fd(self._asking.fileno(), warn_on_full_buffer=False)
        for number in numbers or (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: None)

    def is_asked(self) -> bool:
        """Whether one came."""
        return self.wait(0)

    def wait(self, seconds: float | None = None) -> bool:
        """Waits until one comes, or so many seconds; says whether one came."""
        return bool(select.select([self._asked], [], [], seconds)[0])
