"""The routes of the application, each with paths and requests that reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from pgbaton.http import Settings, gateway
from pgbaton.http._routes import Route

OPEN = {"/", "/static/{name}", "/openapi.json", "/healthz", "/readyz"}
"""What docs/http.md says that everybody may have."""


def all_routes() -> list[Route]:
    found = [route for route in gateway(Settings("")).routes if isinstance(route, Route)]
    assert len(found) == len(gateway(Settings("")).routes)
    return found


@dataclass(frozen=True)
class Target:
    """A method and the path of a route."""

    route: Route
    method: str
    path: str

    @property
    def is_open(self) -> bool:
        return self.route.path in OPEN and self.method in ("GET", "HEAD")

    @property
    def is_endless(self) -> bool:
        return self.method == "GET" and self.route.path.endswith(("/listen", "/live"))


def path_of(route: Route, **parameters: object) -> str:
    """Each parameter as browsers write it; one that is new here has to be given."""
    names = {"name": "page.css", "action": "retry"} | parameters
    segments = route.path.split("/")
    return "/".join(
        quote(str(names[part[1:-1]]), safe="") if part.startswith("{") else part
        for part in segments
    )


def targets(parameters: Mapping[str, object], *more_methods: str) -> Iterator[Target]:
    """Each route with each of its methods, and with these."""
    for route in all_routes():
        for method in sorted((route.methods or set()) | set(more_methods)):
            yield Target(route, method, path_of(route, **parameters))
