"""Draws docs/top.svg: a frame of `pgbaton top` over a server of its own with some work in it."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console

from pgbaton import Client
from pgbaton.cli._screen import Screen
from pgbaton.embedded import temporary_server
from pgbaton.install import install

PICTURE = Path(__file__).resolve().parents[2] / "docs" / "top.svg"


def main() -> None:
    with temporary_server() as server:
        install(server.dsn())
        with Client(server.dsn()) as client:
            fill(client)
            screen = Screen(client, every=0)
            screen.refresh()
            screen.press("tab")
            screen.press("r")
            PICTURE.write_text(drawn(screen))


def fill(client: Client) -> None:
    """Two queues with work, two blocked keys, three workers."""
    client.create_queue("mail", retry_backoff=False, retry_delay="1 hour")
    client.create_queue("reports")
    client.create_fifo_queue("orders", max_attempts=2)
    client.enqueue_batch("mail", range(1812))
    client.enqueue_batch("reports", range(40))
    client.pause_queue("reports")
    steps = ["paid", "packed", "shipped"]
    for order in ("order 17", "order 18", "order 21"):
        client.enqueue_batch("orders", steps, singleton_keys=[order] * len(steps))
    broken, slow, _ = client.claim_job_batch("shop-1/4711", ["orders"])
    client.fail_job(broken.id, "card declined: insufficient funds", broken.lease_token, False)
    client.fail_job(slow.id, "timeout after 30 s", slow.lease_token, retry_in="5 minutes")
    [*sent] = client.claim_job_batch("shop-1/4712", ["mail"], batch_size=24)
    client.fail_job(sent[0].id, "mailbox full", sent[0].lease_token)
    client.claim_job_batch("shop-2/991", ["mail"], batch_size=7)
    client.worker_heartbeat("shop-1/4711", capacity=10)
    client.worker_heartbeat("shop-1/4712", capacity=32)


def drawn(screen: Screen) -> str:
    console = Console(width=118, record=True, file=io.StringIO())
    console.print(screen.render())
    picture = console.export_svg(title="pgbaton top")
    # No font from the network.
    return re.sub(r"@font-face \{.*?\}\s*", "", picture, flags=re.DOTALL) + "\n"


if __name__ == "__main__":
    main()
