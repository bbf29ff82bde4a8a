"""metrics: the exporter for Prometheus."""

from __future__ import annotations

from typing import Annotated

import typer

from pgbaton._extras import extra
from pgbaton.cli._errors import listening, say
from pgbaton.cli._io import Dsn, client_of
from pgbaton.cli._stop import Stop


def metrics(
    once: Annotated[bool, typer.Option("--once", help="Print them and end.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to serve /metrics.")] = 9187,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    keys: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many FIFO keys to name, those with the longest lines; each is a series.",
        ),
    ] = 0,
    max_age: Annotated[
        float, typer.Option(min=0, help="Seconds for which a count of ended jobs is used again.")
    ] = 60,
    dsn: Dsn = "",
) -> None:
    """Serve metrics for Prometheus until it is stopped, or print them once."""
    with extra("metrics"):
        from prometheus_client import CollectorRegistry, generate_latest, start_http_server

        from pgbaton.metrics import Collector
    registry = CollectorRegistry()
    with client_of(dsn) as client:
        collector = Collector(client, keys=keys, max_age=max_age)
        if once:
            collector.read()  # an error of the database is the command's, not a metric
            registry.register(collector)
            print(generate_latest(registry).decode(), end="")
            return
        registry.register(collector)
        with listening(host, port):
            server, thread = start_http_server(port, host, registry)
        say(f"http://{host}:{server.server_port}/metrics")
        stop = Stop()
        stop.wait()
        server.shutdown()
        thread.join()
