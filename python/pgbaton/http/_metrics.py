"""GET /metrics: those of pgbaton.metrics, with the rights of who asks, and its open streams."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector as BaseCollector
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from pgbaton.client import Client
from pgbaton.http._hub import Hub
from pgbaton.http._roles import set_role
from pgbaton.http._state import state_of
from pgbaton.metrics import Collector


class Streams(BaseCollector):
    """Open streams of this process and what they hold."""

    def __init__(self, hubs: list[Hub]) -> None:
        streams: dict[str, int] = {}
        held: dict[str, int] = {}
        for hub in hubs:
            streams[hub.queue] = streams.get(hub.queue, 0) + len(hub.streams)
            held[hub.queue] = held.get(hub.queue, 0) + sum(len(s.held) for s in hub.streams)
        self._counts = {"streams": streams, "held_messages": held}

    def collect(self) -> Iterator[Metric]:
        for name, by_queue in self._counts.items():
            family = GaugeMetricFamily(
                f"pgbaton_http_{name}", f"{name.replace('_', ' ').capitalize()}.", labels=["queue"]
            )
            for queue, count in by_queue.items():
                family.add_metric([queue], count)
            yield family


async def metrics(request: Request) -> Response:
    """GET /metrics"""
    state = state_of(request)
    hubs = [hub for (name, _), hub in state.gateway.hubs.items() if name == state.caller.name]
    text = await run_in_threadpool(exposition, state.settings.dsn, state.caller.role, Streams(hubs))
    return Response(text, media_type=CONTENT_TYPE_LATEST)


def exposition(dsn: str, role: str | None, streams: Streams) -> bytes:
    """Of a connection of its own, since the collector is not asynchronous."""
    registry = CollectorRegistry()
    registry.register(streams)
    try:
        connection = psycopg.connect(dsn, connect_timeout=5, client_encoding="UTF8")
    except psycopg.OperationalError:
        registry.register(Collector(Client(dsn)))  # says that it is down
        return generate_latest(registry)
    with connection:
        if role is not None:
            connection.execute(set_role(role))
        client = Client(connection=connection)
        client.live_stats()  # who may not look is told so
        registry.register(Collector(client))
        return generate_latest(registry)
