"""pgbaton report: one file, which a browser shows and which runs nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import psycopg
import pytest
from commands import Command, fail_one

from pgbaton import Client
from pgbaton.cli import _report

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e\"' &amp; <b>"


class Tags(HTMLParser):
    """Which tags there are, each closed in its order, and the texts between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def test_the_state_of_now_in_one_file(run: Command, client: Client, tmp_path: Path) -> None:
    failed = fail_one(client, key=HOSTILE)
    client.create_queue("empty")
    client.create_queue("paused")
    client.pause_queue("paused")
    client.enqueue_job("mail", {"secret": "payload"})
    client.create_schedule("nightly", "mail", "0 3 * * *")
    client.worker_heartbeat("<worker>", capacity=3)
    [job] = client.claim_job_batch("worker", ["mail"])
    client.fail_job(job.id, HOSTILE, job.lease_token)
    path = tmp_path / "now.html"
    assert run("report", "--out", path).stderr == f"wrote {path}\n"
    page = path.read_text(encoding="utf-8")
    tags = Tags(page)
    assert tags.open == []
    for text in (str(failed), str(job.id), "printer on fire", "<worker>", "nightly",
                 "<script>alert(1)</script>", "paused (paused)", "failed jobs"):  # fmt: skip
        assert text in tags.text, text
    assert "payload" not in tags.text.replace("Payloads", "")
    assert "empty" not in tags.text
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert tags.text.index("Health") < tags.text.index("bad") < tags.text.index("ok")

    # Nothing in it runs or is fetched, and its own style is allowed by its digest.
    assert not tags.seen & {"script", "link", "img", "iframe", "a", "form", "b"}
    assert not {name for name in tags.attributes if name.startswith("on") or name == "style"}
    [style] = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page


def test_a_report_on_stdout_of_what_is_much(
    run: Command, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_report, "MOST_ROWS", 2)
    dead = [fail_one(client, "mail", None) for _ in range(4)]
    page = run.out("report", "--out", "-")
    assert page.startswith("<!doctype html>")
    assert "Only the first 2 are shown." in page
    assert f">{dead[3]}<" in page
    assert f">{dead[1]}<" not in page
    assert page.count("<p>None.</p>") == 3


def test_a_role_that_only_monitors_says_what_it_may_not_see(client: Client, dsn: str) -> None:
    fail_one(client)
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute("set role pgbaton_monitor")
        now = conn.execute("select now()").fetchone()
        assert now is not None
        page = _report.page_of(Client(connection=conn), now[0])
    assert page.count("This role may not see them.") == 2
    assert "printer on fire" in page


def test_a_report_on_stdout_is_utf_8_in_every_locale(client: Client, dsn: str) -> None:
    queue = "\N{CJK UNIFIED IDEOGRAPH-65E5}\N{LATIN SMALL LETTER E WITH ACUTE}"
    client.create_queue(queue)
    client.enqueue_job(queue)
    page = subprocess.run(
        [sys.executable, "-m", "pgbaton.cli", "report", "--out", "-", "--dsn", dsn],
        env={**os.environ, "PYTHONIOENCODING": "latin-1"}, stdout=subprocess.PIPE, check=True,
    ).stdout  # fmt: skip
    assert f"<td>{queue}</td>" in page.decode()
