"""Routes by the segments of a path as they were sent: a name may hold whatever %XX can say."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from starlette import routing
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

Endpoint = Callable[[Request], Awaitable[Response]]
FIRST = "{queue}"
"""A parameter that stands first takes every segment that the rest of its route leaves."""


class Route(routing.Route):
    """A route that says what may be known of it without a caller, and what its GET does.

    Args:
        path (str): segments, of which those in braces are parameters.
        endpoint (Endpoint): what answers.
        methods (Sequence[str]): GET brings HEAD.
        is_open (bool): it is no secret, and no page of another origin does harm with it.
        acts (bool): its GET takes messages, writes or never ends: a HEAD does not run it.
    """

    def __init__(
        self,
        path: str,
        endpoint: Endpoint,
        methods: Sequence[str] = ("GET",),
        *,
        is_open: bool = False,
        acts: bool = False,
    ) -> None:
        super().__init__(path, without_head(endpoint) if acts else endpoint, methods=methods)
        self.is_open = is_open
        self._wanted = path.split("/")[1:]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http":
            return Match.NONE, {}
        parameters = self._parameters(sent(scope))
        if parameters is None:
            return Match.NONE, {}
        is_known = scope["method"] in (self.methods or ())
        return (
            Match.FULL if is_known else Match.PARTIAL,
            {"endpoint": self.endpoint, "path_params": parameters},
        )

    def _parameters(self, segments: Sequence[str]) -> dict[str, Any] | None:
        more = len(segments) - len(self._wanted)
        if more < 0 or (more > 0 and self._wanted[0] != FIRST):
            return None
        found = ["/".join(segments[: more + 1]), *segments[more + 1 :]]
        parameters = {}
        for name, value in zip(self._wanted, found, strict=True):
            if name.startswith("{"):
                parameters[name[1:-1]] = value
            elif name != value:
                return None
        return parameters


def without_head(endpoint: Endpoint) -> Endpoint:
    """HEAD asks whether there is such a thing, and not for it."""

    async def answer(request: Request) -> Response:
        return Response() if request.method == "HEAD" else await endpoint(request)

    return answer


def sent(scope: Scope) -> Sequence[str]:
    """The segments of the path below the root path; none if that is no path or no UTF-8."""
    raw = scope.get("raw_path") or quote(scope["path"]).encode()
    return segments_of(raw.partition(b"?")[0], scope.get("root_path", ""))


@lru_cache(1000)
def segments_of(raw: bytes, root: str) -> Sequence[str]:
    try:
        first, *segments = (unquote(part, errors="strict") for part in raw.decode().split("/"))
    except UnicodeDecodeError:
        return ()
    below = root.split("/")[1:]
    if segments[: len(below)] == below:
        segments = segments[len(below) :]
    return segments if first == "" else ()
