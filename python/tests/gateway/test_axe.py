"""axe-core finds nothing wrong in any view, light or dark, wide or narrow, or in what opens there.

It comes from the npm registry (make build/axe) and goes into the page from outside: the policy of
the page lets in no script but its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from browser import VIEWS, go, opened, row, show_job
from playwright.sync_api import Browser, Page, expect
from serving import Served, database, serving

from pgbaton import Client, _assemble

AXE = _assemble.source_root() / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"color_scheme": "light", "viewport": {"width": 375, "height": 667}},
}
PAYLOAD = {"order": 17, "price": 1e300, "to": {"name": "Ann", "tags": ["a", None, True]}, "no": []}


@dataclass(frozen=True)
class Desk:
    """A gateway, and jobs that have much to show."""

    served: Served
    dead: int
    waiting: int
    running: int
    ended: int


@pytest.fixture(scope="module")
def desk(server_dsn: str, template: str) -> Iterator[Desk]:
    assert AXE.is_file(), "no axe-core: run make build/axe"
    with database(server_dsn, template, "axe") as dsn, Client(dsn) as client:
        client.create_fifo_queue("orders", max_attempts=2, backoff_schedule=["0 s"])
        client.create_queue("mail", max_attempts=2)
        client.create_queue("idle")
        client.set_queue_limits("mail", max_running=4, rate_count=60, rate_interval="1 minute")
        dead = dead_letter(client)
        client.enqueue_batch("mail", [PAYLOAD] * 3, job_type="letter", tags=["eu"])
        running, ended = client.claim_job_batch("worker <b>1</b>", ["mail"], batch_size=2)
        client.report_progress(running.id, running.lease_token, 40, current_stage="sending")
        client.complete_job(ended.id, {"sent": True}, lease_token=ended.lease_token)
        waiting = client.enqueue_job("mail", PAYLOAD, after=[dead])
        client.claim_job_batch("worker 2", ["mail"], batch_size=1)  # looks at what waits
        client.enqueue_batch("orders", [1, 2], ["paused", "paused"])
        client.pause_key("orders", "paused")
        client.create_schedule("nightly", "mail", "0 3 * * *")
        client.create_schedule("hourly", "mail", "0 * * * *")
        client.pause_schedule("hourly")
        client.pause_queue("idle")
        with serving(dsn, "--cleanup-interval", "0", "--refresh", "0.5") as served:
            yield Desk(served, dead, waiting, running.id, ended.id)


def dead_letter(client: Client) -> int:
    """It has failed twice and blocks its key; another key waits for its retry."""
    [first, _, later, _] = client.enqueue_batch(
        "orders", [PAYLOAD] * 4, ["ann", "ann", "bob", "bob"], headers={"trace": "1"}
    )
    for _ in range(2):
        for job in client.claim_job_batch("packer", ["orders"], batch_size=2):
            wait = {"retry_in": "1 hour"} if job.id == later else {}
            wrong = {"error_message": "printer on fire", "error_stack": "Traceback\n  line 7"}
            client.fail_job(job.id, lease_token=job.lease_token, **wrong, **wait)
    return first


@pytest.fixture(params=LOOKS)
def page(browser: Browser, desk: Desk, request: pytest.FixtureRequest) -> Iterator[Page]:
    yield from opened(browser, desk.served, **LOOKS[request.param])


def unfold(page: Page) -> None:
    page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")


def violations(page: Page) -> list[str]:
    """What axe says is wrong with what is shown, by its rules and by its best practices."""
    if not page.evaluate("typeof window.axe === 'object'"):
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = page.evaluate("async () => (await axe.run()).violations")
    return [
        f"{rule['id']}: {rule['help']}: {node['html'][:200]} {node['failureSummary']}"
        for rule in found
        for node in rule["nodes"]
    ]


def test_it_finds_what_is_wrong(page: Page) -> None:
    page.evaluate("document.querySelector('nav').append(document.createElement('button'))")
    assert any("button-name" in found for found in violations(page))


def test_every_view(page: Page) -> None:
    expect(row(page, "queues", "mail")).to_be_visible()
    found = {}
    for section in VIEWS:
        go(page, section)
        if section == "jobs":
            page.get_by_label("State").select_option("failed")
            page.locator("#search").get_by_role("button", name="Search").click()
            expect(page.locator("#bulk")).to_be_visible()
        if section != "queues":
            expect(page.locator(f"#{section} tbody tr").first).to_be_visible(timeout=20_000)
        unfold(page)
        found[section] = violations(page)
    assert found == {section: [] for section in VIEWS}


@pytest.mark.parametrize("which", ["dead", "waiting", "running", "ended"])
def test_a_job_with_all_that_opens(page: Page, desk: Desk, which: str) -> None:
    detail = show_job(page, getattr(desk, which))
    expect(detail.get_by_role("heading", name="Payload")).to_be_visible()
    unfold(page)
    assert violations(page) == []


def test_questions_and_answers(page: Page) -> None:
    line = row(page, "queues", "mail")
    line.get_by_role("button", name="Limits of queue mail").click()
    expect(page.get_by_role("dialog", name="Limits of queue mail")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")
    row(page, "dead", "printer on fire").get_by_role("button", name="Skip").click()
    expect(page.get_by_role("dialog").get_by_label("Reason")).to_be_visible()
    assert violations(page) == []
    page.keyboard.press("Escape")


def test_what_is_said(page: Page, desk: Desk) -> None:
    go(page, "queues")
    for is_bad in (False, True):
        page.evaluate(
            "async (isBad) => (await import('/static/dom.js')).say('Something was done.', isBad)",
            is_bad,
        )
        expect(page.locator("#said")).to_have_text("Something was done.")
        assert violations(page) == []
    page.locator("#work").evaluate("work => { work.hidden = false; }")
    page.locator("#work-text").evaluate("text => { text.textContent = 'Counted: 17'; }")
    assert violations(page) == []
    detail = show_job(page, 999_999_999)
    expect(detail).to_contain_text("999999999")
    assert violations(page) == []


@pytest.mark.parametrize("look", LOOKS)
def test_signing_in(browser: Browser, guarded: Served, look: str) -> None:
    for page in opened(browser, guarded, **LOOKS[look]):
        page.get_by_label("Token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_have_text("That token is not known here.")
        assert violations(page) == []
