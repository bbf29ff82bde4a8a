"""Takes docs/images/page-*.png: the page of `pgbaton serve` over a server of its own at work.

It needs Debian's chromium. The charts show what it enqueues and completes for a minute and a half.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, sync_playwright

from pgbaton import Client
from pgbaton.embedded import temporary_server
from pgbaton.install import install

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "python" / "tests" / "gateway"))
SECONDS = 60


def main() -> None:
    from browser import CHROMIUM, FLAGS
    from serving import serving

    IMAGES.mkdir(exist_ok=True)
    with temporary_server() as server:
        install(server.dsn())
        with Client(server.dsn()) as client:
            fill(client)
        stop = threading.Event()
        load = threading.Thread(target=work, args=[server.dsn(), stop])
        with serving(server.dsn()) as served, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
            load.start()
            picture(browser, served.url)
            stop.set()
            load.join()
            browser.close()


def fill(client: Client) -> None:
    """A queue that is busy, one that is paused, one with keys in trouble."""
    client.create_queue("mail", max_attempts=2, retry_backoff=False, retry_delay="1 minute")
    client.create_queue("reports")
    client.create_fifo_queue("orders", max_attempts=2)
    client.enqueue_batch("reports", range(40))
    client.pause_queue("reports")
    steps = [{"event": "paid", "amount": 49.9}, {"event": "packed"}, {"event": "shipped"}]
    for order in ("order 17", "order 18", "order 21"):
        client.enqueue_batch("orders", steps, singleton_keys=[order] * len(steps))
    broken, slow, _ = client.claim_job_batch("shop-1/4711", ["orders"])
    client.fail_job(broken.id, "card declined: insufficient funds", broken.lease_token, False)
    client.fail_job(slow.id, "timeout after 30 s", slow.lease_token, retry_in="5 minutes")
    client.enqueue_batch("mail", [{"to": "nobody@example.com", "template": "welcome"}] * 2)
    for job in client.claim_job_batch("shop-1/4712", ["mail"]):
        client.fail_job(job.id, "550 mailbox unavailable", job.lease_token, False)


def work(dsn: str, stop: threading.Event) -> None:
    """Enqueues in waves, and completes at one pace."""
    started = time.monotonic()
    with Client(dsn) as client:
        while not stop.wait(0.25):
            at = time.monotonic() - started
            amount = int(40 + 35 * math.sin(at / 9))
            client.enqueue_batch("mail", [{"to": "someone@example.com"}] * amount)
            client.worker_heartbeat("shop-1/4712", capacity=64)
            client.worker_heartbeat("shop-1/4711", capacity=10)
            jobs = client.claim_job_batch("shop-1/4712", ["mail"], batch_size=46)
            if jobs:
                client.complete_jobs([job.id for job in jobs[3:]], jobs[0].lease_token)
                client.release_jobs([job.id for job in jobs[:3]], jobs[0].lease_token)


def picture(browser: Browser, url: str) -> None:
    """Light, dark and narrow, all of the same minutes."""
    kinds: list[tuple[str, Literal["light", "dark"], int, int]] = [
        ("light", "light", 1280, 700),
        ("dark", "dark", 1280, 700),
        ("narrow", "light", 400, 900),
    ]
    pages = []
    for name, scheme, width, height in kinds:
        context = browser.new_context(
            color_scheme=scheme, viewport={"width": width, "height": height}, locale="en-GB"
        )
        page = context.new_page()
        page.goto(url)
        pages.append((name, page))
    time.sleep(SECONDS)
    for name, page in pages:
        page.screenshot(path=IMAGES / f"page-{name}.png")
    _, wide = pages[0]
    wide.goto(f"{url}/#job/41")
    wide.get_by_role("heading", name="Job 41").wait_for()
    wide.locator("#job").screenshot(path=IMAGES / "page-job.png")


if __name__ == "__main__":
    main()
