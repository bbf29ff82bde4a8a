"""What every request passes: who it is from, where it was sent from, how large it is."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgbaton.http._answers import BodyTooLarge, refusal
from pgbaton.http._routes import Route
from pgbaton.http._settings import Settings

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Gate:
    """Finds the caller, or refuses. What is open is asked of the routes, not of the path."""

    def __init__(self, app: ASGIApp, settings: Settings, open_routes: Sequence[Route]) -> None:
        self._app = app
        self._settings = settings
        self._open_routes = open_routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refuse(scope, Headers(scope=scope))
        await (refused or self._app)(scope, receive, with_headers(send))

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        settings = self._settings
        is_open = any(route.matches(scope)[0] is Match.FULL for route in self._open_routes)
        if settings.callers is None and not is_one_of(headers.get("host", ""), settings.hosts):
            return refusal(421, "this gateway is not called by that name")
        if not is_open and is_from_elsewhere(headers):
            return refusal(403, "a page of another origin may not call")
        if "transfer-encoding" in headers and "content-length" in headers:
            return refusal(400, "a body has one length: Content-Length or Transfer-Encoding")
        caller = settings.caller_of(bearer(headers))
        if caller is None and not is_open:
            no = refusal(401, "send Authorization: Bearer and a token that is known here")
            no.headers["WWW-Authenticate"] = "Bearer"
            return no
        if is_longer(headers.get("content-length", "0"), settings.max_body):
            return refusal(413, BodyTooLarge(settings.max_body).detail)
        scope.setdefault("state", {})["caller"] = caller
        return None


def with_headers(send: Send) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_more


def is_longer(length: str, most: int) -> bool:
    """By Content-Length; what a body has without one is counted when it is read."""
    return length.isascii() and length.isdigit() and (len(length) > 20 or int(length) > most)


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether a browser says that a page of another origin calls; its GETs carry no Origin."""
    host = headers.get("host") or None
    if any(host is None or host_of(origin) != host for origin in headers.getlist("origin")):
        return True
    sites = headers.getlist("sec-fetch-site")
    return any(site not in ("none", "same-origin") for site in sites)


def host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half of an IPv6 address
        return None


def is_one_of(host: str, names: tuple[str, ...]) -> bool:
    return host.lower() in names or host.rpartition(":")[0].lower() in names


def bearer(headers: Headers) -> bytes | None:
    """The token; none if it is not clear which."""
    given = headers.getlist("authorization")
    scheme, _, token = "".join(given[:1]).partition(" ")
    is_clear = len(given) == 1 and scheme.lower() == "bearer"
    return token.strip().encode("latin-1") or None if is_clear else None
