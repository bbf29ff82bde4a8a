"""Each route of the application, whatever there will be: who may call, and what may not change."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

import httpx
import psycopg
import pytest
from app_routes import OPEN, all_routes, path_of, targets
from serving import QUICK, Served, database, serving

from pgbaton import Client

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW")
NO_TOKENS: list[list[tuple[str, str | bytes]]] = [
    [],
    [("Authorization", "Bearer wrong")],
    [("Authorization", "")],
    [("Authorization", "Bearer")],
    [("Authorization", "shop")],
    [("Authorization", "Basic c2hvcDpzaG9w")],
    [("Authorization", "Bearershop")],
    [("Authorization", "Bearer\tshop")],
    [("Authorization", 'Bearer "shop"')],
    [("Authorization", "Bearer shop, Bearer shop")],
    [("Authorization", "Bearer shop shop")],
    [("Authorization", "Bearer shop"), ("Authorization", "Bearer shop")],
    [("Authorization", "Basic x"), ("Authorization", "Bearer shop")],
    [("Authorization", b"Bearer \xff\xfe\xed\xa0\x80")],
    [("Authorization", "Bearer " + "x" * 10_000)],
    [("Cookie", "token=shop")],
    [("X-Authorization", "Bearer shop")],
]
"""Ways to have no token that is known here."""

ELSEWHERE = [
    ("Origin", "https://evil.example"),
    ("Origin", "null"),
    ("Origin", ""),
    ("Sec-Fetch-Site", "cross-site"),
    ("Sec-Fetch-Site", "same-site"),
]

TABLES = """
    select format(
        'select %L, md5(string_agg(t::text, chr(10) order by t::text)) from %s as t',
        c.relname, c.oid::regclass
    )
    from pg_class as c
    where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'r'
    union all
    select format('select %L, last_value::text || is_called from %s', c.relname, c.oid::regclass)
    from pg_class as c
    where c.relnamespace = 'pgbaton'::regnamespace and c.relkind = 'S'
"""


@dataclass
class World:
    """A database in which each call would have something to do, and gateways of its own."""

    dsn: str
    open: Served
    guarded: Served
    queue: str
    dead: dict[str, int]
    """One of each queue."""

    def contents(self) -> dict[str, str]:
        """A digest of each table and sequence."""
        with psycopg.connect(self.dsn) as conn:
            looks = [sql for (sql,) in conn.execute(TABLES).fetchall()]
            return dict(conn.execute(" union all ".join(looks)).fetchall())

    @property
    def parameters(self) -> dict[str, object]:
        return {"queue": self.queue, "id": self.dead[self.queue]}


@pytest.fixture(scope="module")
def world(server_dsn: str, template: str, tokens_file: object) -> Iterator[World]:
    with database(server_dsn, template, "routes") as dsn:
        with Client(dsn) as client:
            client.create_fifo_queue("fifo/1", max_attempts=1)
            for key in ("blocked", "running", "free"):
                client.enqueue_batch("fifo/1", [1, 2], [key, key])
            failed, *_ = client.claim_job_batch("w", batch_size=2)
            client.fail_job(failed.id, "no", failed.lease_token)
            client.create_queue("mail", max_attempts=2, retry_delay="0")
            client.enqueue_job("mail", keys_if_undelivered=[["k"]], max_attempts=1)
            [job] = client.claim_job_batch("w", ["mail"])
            client.fail_job(job.id, "no", job.lease_token)
            client.enqueue_job("mail", delay="1 ms")
            client.enqueue_job("mail")
            client.claim_job_batch("w", ["mail"], lease="1 ms")
            client.worker_heartbeat("w")
            client.create_schedule("s", "mail", "* * * * *")
        with (
            serving(dsn, *QUICK) as open_to_all,
            serving(dsn, "--tokens", str(tokens_file), *QUICK) as guarded,
        ):
            dead = {"fifo/1": failed.id, "mail": job.id}
            yield World(dsn, open_to_all, guarded, "fifo/1", dead)


def ask(
    served: Served, method: str, path: str, headers: list[tuple[str, str | bytes]]
) -> httpx.Response:
    """As it is written: httpx adds nothing that matters here."""
    return served.http.request(
        method, served.url + path, headers=[(name, as_bytes(value)) for name, value in headers]
    )


def as_bytes(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


# Tokens ----------------------------------------------------------------------------------------


def test_only_what_is_no_secret_is_open() -> None:
    assert {route.path for route in all_routes() if route.is_open} == OPEN


def test_no_route_is_answered_without_a_token_that_is_known(world: World) -> None:
    before = world.contents()
    count = 0
    for target in targets(world.parameters, *METHODS):
        own = target.method in (target.route.methods or ())
        for headers in NO_TOKENS if own else NO_TOKENS[:2]:
            answer = ask(world.guarded, target.method, target.path, headers)
            wanted = 200 if target.is_open else 401
            assert answer.status_code == wanted, (target, headers)
            if wanted == 401:
                assert answer.headers["www-authenticate"] == "Bearer"
            count += 1
    assert world.contents() == before
    print(f"{count} requests without a known token")


def test_paths_that_are_no_route_say_nothing_either(world: World) -> None:
    for path in ("/no", "/static", "/static/page.css/", "/ui", "/openapi.json/", "//"):
        for method in METHODS:
            assert ask(world.guarded, method, path, []).status_code == 401


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
def test_each_route_is_answered_with_a_known_token(world: World, scheme: str) -> None:
    for target in targets({"queue": world.queue, "id": 999_999_999}):
        headers = {"Authorization": f"{scheme} shop"}
        if target.is_endless:
            with world.guarded.listen(target.path, headers=headers) as stream:
                next(stream)
            continue
        status = world.guarded.ask(target.method, target.path, headers=headers).status_code
        if target.method in ("POST", "PUT") and not target.path.endswith("/requeue"):
            assert status == 415, target  # it wants a body
        else:
            assert status == (404 if "{id}" in target.route.path else 200), target


def test_pages_of_other_origins_reach_no_route(world: World) -> None:
    before = world.contents()
    for target in targets(world.parameters, *METHODS):
        own = target.method in (target.route.methods or ())
        for name, value in ELSEWHERE if own else ELSEWHERE[:1]:
            status = ask(world.open, target.method, target.path, [(name, value)]).status_code
            assert status == (200 if target.is_open else 403), (target, name, value)
        elsewhere = [("Host", "evil.example")]
        assert ask(world.open, target.method, target.path, elsewhere).status_code == 421
    assert world.contents() == before


# What changes nothing --------------------------------------------------------------------------


def test_the_digest_sees_what_calls_change(world: World) -> None:
    shop = world.guarded.of("shop")
    before = world.contents()
    assert world.contents() == before
    shop.post("/mail/api/queue/enqueue", {"value": 1})
    after = world.contents()
    assert after != before
    assert shop.get("/mail/api/queue/poll")["message"] is not None
    assert world.contents() != after


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_who_only_asks_what_there_is_changes_nothing(world: World, method: str) -> None:
    """No message is taken, nobody lies down to sleep, nothing is counted or recovered."""
    before = world.contents()
    asked = 0
    for served in (world.open, world.guarded.of("shop")):
        for queue, message in (*world.dead.items(), ("no", 1)):
            for target in targets({"queue": queue, "id": message}, method):
                if target.method == method:
                    answer = served.ask(method, target.path)
                    assert answer.status_code in (200, 404, 405), target
                    if method == "HEAD":
                        assert answer.content == b""
                    asked += 1
    assert world.contents() == before
    assert asked == 6 * len(all_routes())


# Names that look like other routes -------------------------------------------------------------


def first_segments() -> list[str]:
    return sorted({route.path.split("/")[1] for route in all_routes()} - {"", "{queue}"})


LOOKALIKES = [
    *first_segments(),
    *(path_of(route, queue="q", id=1)[1:] for route in all_routes() if route.path != "/"),
    "health",
    "api",
    "static/",
    "/static/page.css",
    "%73tatic",
    "static/page.css?",
    "static#",
    "...",
    "a/../static",
    "~",
    ";static",
    "a b+c",
    "ü/静的",
]
SHORT = [name for name in LOOKALIKES if len(name.encode()) <= 63]


def spellings(name: str) -> set[str]:
    """Ways to write a name in a path, with and without slashes as they are."""
    return {
        quote(name, safe=""),
        "".join(f"%{byte:02x}" for byte in name.encode()),
        *([quote(name)] if "//" not in f"/{name}/" and "/../" not in name else []),
    }


def test_the_names_are_those_of_the_routes() -> None:
    assert {"static", "metrics", "ui", "openapi.json"} <= set(SHORT)


@pytest.mark.parametrize("name", SHORT)
def test_a_queue_called_like_a_route_is_guarded_like_any(world: World, name: str) -> None:
    with Client(world.dsn) as client:
        client.create_queue(name)
    shop = world.guarded.of("shop")
    for spelling in spellings(name):
        path = f"/{spelling}/api/queue"
        body = {"value": spelling}
        for served, headers, wanted in (
            (world.guarded, {}, 401),
            (world.open, {"Origin": "https://evil.example"}, 403),
            (world.open, {"Host": "evil.example"}, 421),
        ):
            for method, where in (("GET", "poll"), ("HEAD", "listen"), ("POST", "enqueue")):
                answer = served.ask(method, f"{path}/{where}", headers=headers)
                assert answer.status_code == wanted
        assert shop.get(f"{path}/stats")["total"] == 0
        message_id = shop.post(f"{path}/enqueue", body)["id"]
        got = shop.get(f"{path}/poll")["message"]
        assert (got["id"], got["value"]) == (message_id, spelling)
        assert shop.post(f"{path}/ack", {"id": message_id}) == {"ok": True}


@pytest.mark.parametrize(
    "target",
    [
        "/static/../mail/api/queue/poll",
        "/static/%2e%2e/mail/api/queue/poll",
        "/static/page.css/../../mail/api/queue/poll",
        "//mail/api/queue/poll",
        "/static//mail/api/queue/poll",
        "/static/page.css/mail/api/queue/poll",
        "/static%2Fpage.css",
        "/static/page.css%2F..%2F..%2Fmail/api/queue/poll",
        "/static/page.css;/mail/api/queue/poll",
        "/static\\page.css",
        "/%ff/api/queue/poll",
        "/mail/api/queue/poll%00",
        "/./mail/api/queue/poll",
        "/mail/api/queue/poll/",
        "/mail/api/queue/poll?x=/static/page.css",
        "/mail/api/queue/poll#/static/page.css",
        "*",
        "http://localhost/static/page.css",
        "http://localhost/mail/api/queue/poll",
    ],
)
def test_no_way_of_writing_a_path_leads_around_the_gate(world: World, target: str) -> None:
    """As they come over the wire: libraries tidy paths up."""
    before = world.contents()
    parts = urlsplit(world.guarded.url)
    for method in ("GET", "HEAD", "POST", "OPTIONS"):
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=30)
        connection.putrequest(method, target, skip_accept_encoding=True)
        connection.endheaders()
        assert connection.getresponse().status in (400, 401)
        connection.close()
    assert world.contents() == before
