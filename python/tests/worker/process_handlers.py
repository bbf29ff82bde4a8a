"""Handlers that run in a process of their own, which imports them from here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from pgbaton import Fail, RunningJob

KNOWN: ContextVar[int | None] = ContextVar("known")


def report_for_ever(job: RunningJob) -> None:
    while True:
        job.report_progress(77, "of another job")


def work(job: RunningJob) -> Any:
    """Does what the payload says."""
    what = job.payload
    if what == "pid":
        return os.getpid()
    if what == "raise":
        raise ValueError("no\0pe")
    if what == "exit":
        sys.exit(3)
    if what == "die":
        os._exit(7)
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "flood":
        return len(bytearray(4 << 30))
    if what == "hang":
        job.report_progress(50, "hanging")
        threading.Event().wait()
    if what == "leave a program":
        subprocess.Popen(["sleep", "60"], close_fds=False)
        job.report_progress(50, "hanging")
        threading.Event().wait()
    if what == "give up":
        only_here = ModuleType("only_here")
        sys.modules["only_here"] = only_here
        kind = type("GaveUp", (Fail,), {"__module__": "only_here"})
        vars(only_here)["GaveUp"] = kind
        raise kind("no such house")
    if what == "leave a thread":
        threading.Thread(target=report_for_ever, args=[job], daemon=True).start()
        return "x" * 1_000_000
    if what == "listen":
        threading.Event().wait(2.5)
    if what == "remember":
        return [KNOWN.get(None), KNOWN.set(job.id)][0]
    if what == "set":
        return {1, 2}
    return job.attempt
