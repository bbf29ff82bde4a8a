"""Who may do what: tokens, roles, origins, hosts."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from serving import Served, messages, serving

from pgbaton import Client
from pgbaton.http import Settings, SettingsError, read_tokens
from pgbaton.http._roles import pool_of
from pgbaton.http._server import listening


@pytest.fixture
def path(queue: str) -> str:
    return f"/{queue}/api/queue"


@pytest.mark.parametrize("given", [None, "Bearer", "Bearer wrong", "Basic shop", "shop"])
def test_without_a_known_token_nothing_is_answered(
    guarded: Served, path: str, given: str | None
) -> None:
    headers = {} if given is None else {"Authorization": given}
    for where in (f"{path}/stats", f"{path}/listen", "/metrics", "/ui/live", "/ui/jobs/1", "/no"):
        answer = guarded.ask("GET", where, headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
    assert guarded.ask("GET", "/", headers=headers).status_code == 200


def test_a_caller_has_the_rights_of_its_role_and_no_more(
    guarded: Served, client: Client, path: str, queue: str
) -> None:
    till, shop = guarded.of("till"), guarded.of("shop")
    message_id = till.post(f"{path}/enqueue", {"value": 1})["id"]
    for method, where in (
        ("GET", "poll"),
        ("GET", "listen"),
        ("GET", "stats"),
        ("GET", "dlq"),
        ("DELETE", "dlq"),
    ):
        assert till.status(method, f"{path}/{where}") == 403
    assert till.status("POST", f"{path}/ack", json={"id": message_id}) == 403
    assert till.status("GET", "/metrics") == 403
    assert till.status("GET", f"/{queue}/api/keys?prefix=x") == 403
    assert shop.get(f"{path}/poll")["message"]["id"] == message_id
    assert shop.post(f"{path}/ack", {"id": message_id}) == {"ok": True}
    with shop.listen(f"{path}/listen") as stream:
        client.enqueue_job(queue, "pushed")
        assert next(messages(stream))["value"] == "pushed"


@pytest.fixture
def granted(client: Client, roles: dict[str, str], queue: str) -> Iterator[str]:
    """The only queue of the caller `narrow`."""
    for action in ("enqueue", "work", "operate", "monitor"):
        client.grant_queue(roles["narrow"], queue, action)
    yield queue
    for action in ("enqueue", "work", "operate", "monitor"):
        client.revoke_queue(roles["narrow"], queue, action)


def test_grants_narrow_a_caller_to_its_queues(
    guarded: Served, client: Client, granted: str
) -> None:
    other = f"other{uuid.uuid4().hex[:8]}"
    client.create_queue(other)
    narrow = guarded.of("narrow")
    assert narrow.post(f"/{granted}/api/queue/enqueue", {"value": 1})["ok"]
    for method, where in (("GET", "poll"), ("GET", "listen"), ("GET", "stats"), ("GET", "dlq")):
        assert narrow.status(method, f"/{other}/api/queue/{where}") == 403
    assert narrow.status("POST", f"/{other}/api/queue/enqueue", json={"value": 1}) == 403
    after = {"value": 1, "options": {"after": [str(client.enqueue_job(other))]}}
    assert narrow.status("POST", f"/{granted}/api/queue/enqueue", json=after) == 404
    for name, may_see, may_set in ((granted, 200, 200), (other, 404, 403)):
        path = f"/{name}/api/queue/limits"
        assert narrow.ask("GET", path).status_code == may_see
        assert narrow.ask("PUT", path, json={"maxRunning": 1}).status_code == may_set


def test_a_token_is_lent_to_nobody_else(
    guarded: Served, client: Client, roles: dict[str, str]
) -> None:
    """By id alone a caller acknowledges what it got itself."""
    name = f"fifo{uuid.uuid4().hex[:8]}"
    client.create_fifo_queue(name)
    client.enqueue_job(name, singleton_key="k")
    got = guarded.of("shop").get(f"/{name}/api/queue/poll")["message"]["id"]
    ack = f"/{name}/api/queue/ack"
    assert guarded.of("narrow").status("POST", ack, json={"id": got}) == 409
    assert guarded.of("shop").post(ack, {"id": got}) == {"ok": True}


def test_a_path_names_its_queue(guarded: Served, client: Client, path: str, queue: str) -> None:
    shop = guarded.of("shop")
    client.enqueue_job(queue, max_attempts=1)
    [job] = client.claim_job_batch("w", [queue])
    client.fail_job(job.id, "no", job.lease_token)
    for method, where in (("GET", ""), ("DELETE", ""), ("POST", "/requeue")):
        assert shop.status(method, f"/keyval/api/queue/dlq/{job.id}{where}") == 404
    assert shop.get(f"{path}/dlq/{job.id}")["errorMessage"] == "no"


def test_pages_of_other_origins_may_not_call(gateway: Served, path: str) -> None:
    body = {"value": 1}
    for origin in ("https://evil.example", "null", "http://localhost:1"):
        where = f"{path}/enqueue"
        assert gateway.status("POST", where, json=body, headers={"Origin": origin}) == 403
    assert gateway.json("POST", f"{path}/enqueue", json=body, headers={"Origin": gateway.url})
    assert gateway.status("GET", f"{path}/stats", headers={"Host": "evil.example"}) == 421
    for site in ("cross-site", "same-site"):
        assert gateway.status("GET", f"{path}/poll", headers={"Sec-Fetch-Site": site}) == 403
        assert gateway.ask("GET", "/", headers={"Sec-Fetch-Site": site}).status_code == 200


def test_answers_carry_a_strict_policy(gateway: Served) -> None:
    headers = gateway.ask("GET", "/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


def test_a_role_that_the_gateway_may_not_become_is_found_at_the_start(
    server_dsn: str, gateway_dsn: str, tokens_file: Path
) -> None:
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        role = f"gateway_{uuid.uuid4().hex[:8]}"
        admin.execute(f"create role {role} login password 'p' in role pgbaton_worker".encode())
        try:
            dsn = psycopg.conninfo.make_conninfo(gateway_dsn, user=role, password="p")  # noqa: S106
            with pytest.raises(AssertionError, match="permission denied to set role"):  # noqa: SIM117
                with serving(dsn, "--tokens", str(tokens_file)):
                    pass
        finally:
            admin.execute(f"drop role {role}".encode())


def test_everyone_is_let_in_on_loopback_only() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pgbaton.cli", "serve", "--host", "0.0.0.0"],  # noqa: S104
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--tokens" in done.stderr


def test_a_port_that_is_taken_leaves_no_socket_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        before = set(Path("/proc/self/fd").iterdir())
        with pytest.raises(OSError, match="in use"):
            listening("127.0.0.1", taken.getsockname()[1])
        assert set(Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no caller"),
        ("x", "Expected"),
        ("[a]\nrole = 'r'\n", "needs sha256 and role"),
        ("[a]\nrole = 'r'\nsha256 = 'abc'\n", "64 hexadecimal digits"),
        ("[a]\nrole = 'r'\nsha256 = 1\n", "needs sha256 and role"),
        ("[a]\nrole = 'r'\nsha256 = '{0}'\ntoken = 'x'\n", "nothing else"),
        ("[a]\nrole = 'r'\nsha256 = '{0}'\n[b]\nrole = 'r'\nsha256 = '{0}'\n", "one token"),
    ],
)
def test_a_tokens_file_that_says_something_else(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text.format("0" * 64))
    with pytest.raises(SettingsError, match=said):
        read_tokens(file)


@pytest.mark.parametrize(("more", "seconds"), [({}, 25), ({"tcp_user_timeout": 7000}, 7)])
def test_a_database_that_vanished_is_noticed(
    gateway_dsn: str, more: dict[str, int], seconds: int
) -> None:
    """Without it, calls and streams would hang for a quarter of an hour, and so would the end."""

    async def timeout() -> int:
        async with (
            pool_of(Settings(make_conninfo(gateway_dsn, **more))) as pool,
            pool.connection() as connection,
        ):
            with socket.socket(fileno=os.dup(connection.fileno())) as found:
                return found.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)

    assert asyncio.run(timeout()) == seconds * 1000
