"""What every request passes: who it is from, where it was sent from, how large it is."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pgbaton.http._answers import BodyTooLarge, refusal
from pgbaton.http._settings import Settings

OPEN = ("/", "/openapi.json")
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
    """Finds the caller, or refuses."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        no = self._refuse(scope, headers)
        if no is not None:
            await no(scope, receive, with_headers(send))
        else:
            await self._app(scope, self._limited(receive), with_headers(send))

    def _refuse(self, scope: Scope, headers: Headers) -> Response | None:
        settings = self._settings
        host = headers.get("host", "")
        if settings.callers is None and not is_one_of(host, settings.hosts):
            return refusal(421, "this gateway is not called by that name")
        if is_from_elsewhere(headers) and not is_open(scope["path"]):
            return refusal(403, "a page of another origin may not call")
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length) > settings.max_body:
            return refusal(413, BodyTooLarge(settings.max_body).detail)
        caller = settings.caller_of(bearer(headers))
        if caller is None and not is_open(scope["path"]):
            no = refusal(401, "send Authorization: Bearer and a token that is known here")
            no.headers["WWW-Authenticate"] = "Bearer"
            return no
        scope.setdefault("state", {})["caller"] = caller
        return None

    def _limited(self, receive: Receive) -> Receive:
        """For bodies that do not say how long they are, or lie."""
        size = 0

        async def limited() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._settings.max_body:
                raise BodyTooLarge(self._settings.max_body)
            return message

        return limited


def with_headers(send: Send) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_more


def is_open(path: str) -> bool:
    """The page itself is no secret; what it shows is."""
    return path in OPEN or path.startswith("/static/")


def is_from_elsewhere(headers: Headers) -> bool:
    """Whether a browser says that a page of another origin calls; its GETs carry no Origin."""
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return True
    return headers.get("sec-fetch-site", "none") not in ("none", "same-origin")


def is_one_of(host: str, names: tuple[str, ...]) -> bool:
    return host.lower() in names or host.rpartition(":")[0].lower() in names


def bearer(headers: Headers) -> str | None:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" and token.strip() else None
