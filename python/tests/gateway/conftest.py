"""One database and two gateways for all tests of HTTP: without tokens, and with."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from browser import CHROMIUM, FLAGS, opened
from playwright.sync_api import Browser, Page, sync_playwright
from serving import QUICK, Served, database, serving

from pgbaton import Client

ROLES = {
    "shop": "pgbaton_producer, pgbaton_worker, pgbaton_operator, pgbaton_monitor",
    "till": "pgbaton_producer",
    "narrow": "pgbaton_producer, pgbaton_worker, pgbaton_operator, pgbaton_monitor",
    "eye": "pgbaton_monitor",
}


@pytest.fixture(scope="session")
def gateway_dsn(server_dsn: str, template: str) -> Iterator[str]:
    with database(server_dsn, template, "http") as dsn:
        yield dsn


@pytest.fixture(scope="session")
def gateway(gateway_dsn: str) -> Iterator[Served]:
    with serving(gateway_dsn, "--queue", "keyval", *QUICK) as served:
        yield served


@pytest.fixture(scope="session")
def roles(server_dsn: str) -> Iterator[dict[str, str]]:
    """Database roles, by the names of the callers that have them."""
    suffix = uuid.uuid4().hex[:8]
    names = {caller: f"{caller}_{suffix}" for caller in ROLES}
    with psycopg.connect(server_dsn, autocommit=True) as admin:
        for caller, name in names.items():
            admin.execute(f"create role {name} in role {ROLES[caller]}".encode())
        yield names
        for name in names.values():
            admin.execute(f"drop role {name}".encode())


@pytest.fixture(scope="session")
def tokens_file(roles: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The token of each caller is its name."""
    path = tmp_path_factory.mktemp("http") / "tokens.toml"
    path.write_text(
        "\n".join(
            f'[{caller}]\nsha256 = "{hashlib.sha256(caller.encode()).hexdigest()}"\n'
            f'role = "{role}"\n'
            for caller, role in roles.items()
        )
    )
    return path


@pytest.fixture(scope="session")
def guarded(gateway_dsn: str, tokens_file: Path) -> Iterator[Served]:
    """A gateway that wants tokens."""
    options = ("--tokens", str(tokens_file), "--max-body", "10000")
    with serving(gateway_dsn, *options, *QUICK) as served:
        yield served


@pytest.fixture
def client(gateway_dsn: str) -> Iterator[Client]:
    with Client(gateway_dsn) as client:
        yield client


@pytest.fixture
def queue(client: Client) -> Iterator[str]:
    """A queue of the test's own, with b's settings."""
    name = f"q{uuid.uuid4().hex[:8]}"
    client.create_queue(
        name, lease="30 seconds", backoff_schedule=["1 s", "5 s", "10 s"], max_attempts=4
    )
    yield name
    client.drop_queue(name, force=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one module: while it is open it has an event loop, and other modules run their own."""
    assert Path(CHROMIUM).exists(), "apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser, gateway: Served) -> Iterator[Page]:
    yield from opened(browser, gateway)


@pytest.fixture
def orders(client: Client) -> Iterator[str]:
    """A FIFO queue of which one key has failed and another waits for its retry."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    client.create_fifo_queue(name, max_attempts=2)
    for key in ("broken", "slow"):
        client.enqueue_batch(name, [{"step": 1}, {"step": 2}], singleton_keys=[key, key])
    broken, slow = client.claim_job_batch("page-worker", [name])
    client.fail_job(broken.id, "printer on fire", broken.lease_token, retryable=False)
    client.fail_job(slow.id, "timeout", slow.lease_token, retry_in="1 hour")
    yield name
    client.drop_queue(name, force=True)
