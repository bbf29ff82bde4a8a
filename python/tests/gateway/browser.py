"""Debian's Chromium, without anything that it would want from a network."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect
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
    "job": "Job",
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
    section = go(page, "job")
    section.get_by_label("Id", exact=True).fill(str(job_id))
    section.get_by_role("button", name="Show", exact=True).click()
    return page.locator("#job-detail")
