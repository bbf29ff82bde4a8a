"""Debian's Chromium, without anything that it would want from a network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Locator, Page, Route, expect
from serving import Served

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def opened(browser: Browser, served: Served, **options: Any) -> Iterator[Page]:
    """A page that must neither complain nor ask another server for anything."""
    context = browser.new_context(**options)
    context.set_default_timeout(20_000)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda asked: asked.url.startswith(served.url) or complaints.append(asked.url)
    )
    page.goto(served.url)
    yield page
    page.close()
    context.close()
    refused = "the server responded with a status of"  # what Chromium says of any 4xx
    assert not [text for text in complaints if refused not in text]


VIEWS = {
    "queues": "Home",
    "blocked": "Blocked keys",
    "dead": "Dead letters",
    "jobs": "Jobs",
    "schedules": "Schedules",
    "workers": "Workers",
    "latency": "Latency",
    "audit": "Audit",
}


def go(page: Page, section: str) -> Locator:
    """The section, to which a link leads unless it is shown already."""
    found = page.locator(f"#{section}")
    if not found.is_visible():
        links = page.get_by_role("navigation").get_by_role("link", name=VIEWS[section], exact=True)
        links.click()
    expect(found).to_be_visible()
    return found


def row(page: Page, section: str, text: str) -> Locator:
    return go(page, section).locator("tbody tr").filter(has_text=text)


def show_job(page: Page, job_id: int) -> Locator:
    """The job, by the field in the header."""
    page.get_by_label("Job id").fill(str(job_id))
    page.locator("#find").get_by_role("button", name="Show", exact=True).click()
    expect(page.locator("#job-title")).to_have_text(f"Job {job_id}")
    return page.locator("#job-detail")


class Held:
    """Keeps back the first request that fits; the others go on."""

    def __init__(self, page: Page, pattern: str | re.Pattern[str], after: int = 0) -> None:
        self._page = page
        self._pass = after
        self._route: Route | None = None
        page.route(pattern, self._take)

    def _take(self, route: Route) -> None:
        if self._pass > 0 or self._route is not None:
            self._pass -= 1
            route.continue_()
        else:
            self._route = route

    def is_there(self) -> Route:
        """Once it was asked."""
        while self._route is None:
            self._page.wait_for_timeout(10)
        return self._route

    def let_go(self) -> None:
        """Until the page has taken the answer."""
        route = self.is_there()
        with self._page.expect_response(route.request.url):
            route.continue_()
        self._page.evaluate("() => new Promise((done) => setTimeout(done))")
