"""serve: queues over HTTP, and the page."""

from __future__ import annotations

import logging
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

import typer

from pgbaton._extras import extra
from pgbaton.cli._errors import USAGE, fail, listening, say
from pgbaton.cli._io import Dsn


def serve(
    queue: Annotated[
        list[str] | None,
        typer.Option(
            "--queue",
            help="Make this queue if it is missing; repeat the option for several.",
        ),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="File with the SHA-256 and the database role of each token."),
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on.")] = 8000,
    lock_duration: Annotated[
        int,
        typer.Option(
            min=1, help="For a queue that is made: milliseconds for which a message is locked."
        ),
    ] = 30_000,
    backoff_schedule: Annotated[
        str, typer.Option(help="For a queue that is made: milliseconds before each retry.")
    ] = "1000,5000,10000",
    cleanup_interval: Annotated[
        int, typer.Option(min=0, help="Milliseconds between two runs of maintenance; 0: none.")
    ] = 60_000,
    max_body: Annotated[int, typer.Option(min=1, help="Bytes that a request may have.")] = 1 << 20,
    request_timeout: Annotated[
        float, typer.Option(min=0.1, help="Seconds within which a request arrives, head and body.")
    ] = 30,
    connections: Annotated[
        int,
        typer.Option(min=1, help="Connections to the database at most, beside one that listens."),
    ] = 10,
    ping: Annotated[
        float,
        typer.Option(min=0.1, help="Seconds without a message after which a stream sends a ping."),
    ] = 15,
    refresh: Annotated[
        float, typer.Option(min=0.1, help="Seconds between two looks for the page.")
    ] = 2,
    dsn: Dsn = "",
) -> None:
    """Serve queues over HTTP and SSE, and a page to watch and repair them, until it is stopped."""
    with extra("http"):
        from pgbaton.http import Settings, read_tokens
        from pgbaton.http._server import prepare
        from pgbaton.http._server import serve as run
        from pgbaton.http._settings import LOOPBACK
    if tokens is None and not is_loopback(host):
        fail(
            f"without --tokens everyone who reaches {host} would have the rights of the database",
            "Pass --tokens, or listen on 127.0.0.1.",
            USAGE,
        )
    logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for noisy in ("psycopg.pool", "pgbaton.worker"):
        logging.getLogger(noisy).setLevel("WARNING")
    settings = Settings(
        dsn,
        read_tokens(tokens) if tokens is not None else None,
        hosts=(*LOOPBACK, host),
        cleanup_interval=timedelta(milliseconds=cleanup_interval),
        max_body=max_body,
        request_timeout=request_timeout,
        connections=connections,
        ping=ping,
        refresh=refresh,
    )
    schedule = [milliseconds(part) for part in backoff_schedule.split(",") if part.strip()]
    for name in prepare(settings, queue or [], timedelta(milliseconds=lock_duration), schedule):
        say(f"made queue {name}")
    with listening(host, port):
        run(settings, host, port, say)


def milliseconds(text: str) -> timedelta:
    if not text.strip().isdecimal():
        raise typer.BadParameter(f"{text.strip()!r} is not a number of milliseconds")
    return timedelta(milliseconds=int(text))


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
