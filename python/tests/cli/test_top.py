"""pgbaton top: what its keys do, and the program in a terminal of its own."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import psycopg
import pytest
from commands import Command, fail_one
from rich.cells import cell_len
from rich.console import Console

from pgbaton import Client, JobState, JobTotal
from pgbaton.cli._listing import Column, Listing
from pgbaton.cli._screen import Rates, Screen
from pgbaton.cli._top import keys_in


@pytest.fixture
def screen(client: Client) -> Screen:
    screen = Screen(client, every=0)
    screen.refresh()
    return screen


def frame(screen: Screen, height: int | None = None) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(screen.render(height))
    return console.export_text()


def press(screen: Screen, *keys: str) -> str:
    for key in keys:
        screen.press(key)
    return frame(screen)


def test_a_blocked_key_is_retried_and_skipped(client: Client, screen: Screen) -> None:
    one, other = fail_one(client, key="a"), fail_one(client, key="b")
    screen.refresh()
    assert "select a blocked key first" in press(screen, "r")
    assert f"retry job {one} of key a in orders? y/n" in press(screen, "tab", "r")
    assert client.get_job(one).state is JobState.FAILED
    assert "nothing was changed" in press(screen, "n")
    assert f"job {one} runs again" in press(screen, "r", "y")
    assert client.get_job(one).state is JobState.RETRY

    assert f"skip job {other}" in press(screen, "s")
    assert f"job {other} is skipped" in press(screen, "y")
    assert client.get_job(other).resolution == "skipped"


def test_a_queue_is_paused_and_resumed(client: Client, screen: Screen) -> None:
    assert "pause queue orders? y/n" in press(screen, "j", "j", "j", "k", "j", "p")
    assert "orders (paused)" in press(screen, "y")
    assert [q.is_paused for q in client.list_queues()] == [False, True]
    assert "(paused)" not in press(screen, "p", "y")


def test_queues_that_do_something_come_first_and_the_selected_row_stays(client: Client) -> None:
    for n in range(50):
        client.create_queue(f"idle-{n}")
    client.enqueue_job("mail")
    screen = Screen(client, every=0)
    screen.refresh()
    assert "mail" in frame(screen, 24)
    assert "idle-0" in frame(screen, 24)
    press(screen, "down")
    client.enqueue_job("idle-7")
    screen.refresh()
    assert "pause queue idle-0? y/n" in press(screen, "p")


def test_who_only_monitors_is_told_that_it_cannot_see_blocked_keys(
    client: Client, dsn: str
) -> None:
    fail_one(client)
    with Client(f"{dsn} options='-c role=pgbaton_monitor'") as eye:
        screen = Screen(eye, every=0)
        screen.refresh()
        seen = frame(screen)
    assert "no key is blocked" not in seen
    assert "blocked keys: permission denied for function blocked_keys" in seen
    assert "orders" in seen


def test_a_look_that_failed_is_forgotten_after_one_that_did_not(
    client: Client, screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as lost:
        lost.setattr(client, "live_stats", lambda: client.get_job(-1))
        screen.refresh()
        assert "job -1 does not exist" in frame(screen)
    screen.refresh()
    assert "job -1 does not exist" not in frame(screen)


def test_what_the_server_refuses_is_shown(client: Client, screen: Screen) -> None:
    job_id = fail_one(client)
    screen.refresh()
    press(screen, "tab", "s")
    client.skip_job("orders", job_id)
    assert "(PB003)" in press(screen, "y")
    assert not screen.is_done
    client.close()
    with pytest.raises(psycopg.InterfaceError):
        client.live_stats()
    screen.refresh()
    assert "the client is closed" in frame(screen)
    press(screen, "q")
    assert screen.is_done


def test_a_role_that_only_monitors_sees_queues_and_workers(client: Client, dsn: str) -> None:
    client.worker_heartbeat("w1", capacity=4)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("set role pgbaton_monitor")
        screen = Screen(Client(connection=conn), every=0)
        screen.refresh()
        seen = frame(screen)
    assert "(42501)" in seen
    assert "orders" in seen
    assert "w1" in seen


def test_long_lines_show_the_part_around_the_selected_row(client: Client, screen: Screen) -> None:
    for n in range(40):
        client.create_queue(f"queue {n:02}")
    screen.refresh()
    assert "queue 39" in frame(screen)
    small = frame(screen, height=40)
    assert "mail" in small
    assert "queue 39" not in small
    press(screen, *["down"] * 60)
    assert "queue 39" in frame(screen, height=40)
    assert "mail" not in frame(screen, height=40)


def total(at: datetime, completed: int) -> JobTotal:
    nothing = dict.fromkeys(["enqueued", "failed", "stopped", "unscheduled", "unknown_stopped"], 0)
    return JobTotal(
        queue="q", counted_at=at, completed=completed, failed_attempts=0, bounds=[], run_jobs=[],
        run_seconds=0, blocked_jobs=[], blocked_seconds=0, lease_losses=0,
        wait_jobs=[], wait_seconds=0, **nothing,
    )  # fmt: skip


def test_rates_are_those_of_the_last_minute() -> None:
    start = datetime(2030, 1, 1, tzinfo=UTC)
    rates = Rates()
    assert rates.of("q", "completed") is None
    rates.add([total(start, 1000)])
    rates.add([total(start, 1000)])
    assert rates.of("q", "completed") is None
    rates.add([total(start + timedelta(seconds=10), 1050)])
    assert rates.of("q", "completed") == 5
    assert rates.of("other", "completed") is None
    for second in range(20, 200, 10):
        rates.add([total(start + timedelta(seconds=second), 1050)])
    assert rates.of("q", "completed") == 0


def test_keys_of_a_terminal() -> None:
    assert keys_in("\x1b[A\x1b[Bjq\tR\x03") == ["up", "down", "j", "q", "tab", "r", "q"]
    assert keys_in("") == []


# In a terminal ---------------------------------------------------------------------------------

Expect = Callable[[str], str]


@pytest.fixture
def terminal(client: Client, dsn: str) -> Iterator[tuple[subprocess.Popen[bytes], int, Expect]]:
    """The program, its terminal, and a function that reads until it has seen a text."""
    ours, its = pty.openpty()
    program = subprocess.Popen(
        [str(Path(sys.executable).with_name("pgbaton")), "top", "--every", "60"],
        stdin=its, stdout=its, stderr=its, start_new_session=True,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "160", "LINES": "50"},
    )  # fmt: skip
    os.close(its)

    def expect(text: str) -> str:
        seen = ""
        until = monotonic() + 60
        while text not in seen:
            assert select.select([ours], [], [], until - monotonic())[0], f"no {text!r} in {seen!r}"
            seen += os.read(ours, 65536).decode(errors="replace")
        return seen

    yield program, ours, expect
    program.kill()
    program.wait()
    os.close(ours)


def test_the_program_acts_on_keys_and_quits(
    client: Client, terminal: tuple[subprocess.Popen[bytes], int, Expect]
) -> None:
    program, keyboard, expect = terminal
    expect("q quit")
    os.write(keyboard, b"p")
    expect("pause queue mail? y/n")
    os.write(keyboard, b"y")
    expect("mail (paused)")
    assert client.list_queues()[0].is_paused
    os.write(keyboard, b"q")
    expect("\x1b[?1049l")  # the screen is as it was
    assert program.wait(60) == 0


LONG = "a queue whose name has fifty-five bytes, which is a lot"


@pytest.mark.parametrize("width", [40, 80, 120, 200])
@pytest.mark.parametrize("height", [24, 50])
def test_a_frame_is_complete_in_a_small_terminal(
    client: Client, screen: Screen, width: int, height: int
) -> None:
    for n in range(51):
        client.create_queue(f"{n:02} {LONG}")
    for n in range(30):
        fail_one(client, key=f"key {n:02} 漢字 {LONG}")
    for n in range(9):
        client.worker_heartbeat(f"worker {n} {LONG}", capacity=4)
    screen.refresh()
    console = Console(width=width, height=height)
    for selected in (0, 10, 49, 52):
        press(screen, *["up"] * 60, *["down"] * selected)
        lines = [
            "".join(segment.text for segment in line).rstrip()
            for line in console.render_lines(screen.render(height), pad=False)
        ]
        assert len(lines) <= height
        assert max(map(cell_len, lines)) <= width
        text = "\n".join(lines)
        assert "quit" in text
        assert all(word in text for word in ("queue", "ready", "failed", "key 00", "worker 0"))
        # The one that does something is the first.
        assert {0: "orders", 52: "mail"}.get(selected, f"{selected - 1:02} a queue") in text
        assert re.search(r"queue \d+-\d+ of 53", text)
        # What matters least is what is left out.
        assert ("done/s" in text) == (width >= 120)
        assert ("scheduled" in text) == (width >= 120)
        if width >= 80:
            assert all(word in text for word in ("blocked", "running", "oldest", "printer"[:3]))


def test_one_frame_fits_columns(run: Command, client: Client, monkeypatch: Any) -> None:
    client.create_queue(LONG)
    whole = run.out("top", "--once")
    assert LONG in whole
    assert "done/s" in whole
    monkeypatch.setenv("COLUMNS", "60")
    narrow = run.out("top", "--once")
    assert max(map(len, narrow.splitlines())) <= 60
    assert "ready" in narrow


def test_a_list_without_room_shows_the_selected_row() -> None:
    rows = [[f"row {n} " + "x" * 50, "1"] for n in range(9)]
    listing = Listing([Column("name"), Column("n", 1)], rows, around=5, is_selected=True)
    console = Console(width=24, height=9)
    lines = console.render_lines(listing.table(console, 24, 1), pad=False)
    text = "\n".join("".join(s.text for s in line) for line in lines)
    assert "row 5" in text
    assert "row 4" not in text
