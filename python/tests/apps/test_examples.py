"""The applications of examples/ work as their pages say."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import httpx
import pytest
from test_joined_connections import url

from pgbaton import Client, _assemble

pytestmark = pytest.mark.timeout(300)  # of programs that import frameworks and mypy

ROOT = _assemble.source_root()
EXAMPLES = ROOT / "examples"
PACKAGE = ROOT / "python"
SHOP = EXAMPLES / "django_shop"
MAIL = "to ada@example.com: we have your order 1"


@pytest.fixture
def environment(make_database: Callable[..., str]) -> dict[str, str]:
    """With an empty database."""
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    # Not what pytest-xdist says of this process.
    ours = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return {**ours, "DATABASE_URL": url(make_database()), "PYTHONPATH": path}


@pytest.fixture
def run(environment: dict[str, str]) -> Callable[..., str]:
    """Runs a program of Python to its end."""

    def run(*command: str, cwd: Path = EXAMPLES) -> str:
        done = subprocess.run(
            [sys.executable, *command],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=250,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    return run


@pytest.fixture
def running(environment: dict[str, str], tmp_path: Path) -> Callable[..., Any]:
    """Has a program of Python run meanwhile; it must end well when it is asked to."""

    @contextmanager
    def running(*command: str, cwd: Path = EXAMPLES, ends: int = 0) -> Iterator[Path]:
        output = tmp_path / f"{len(list(tmp_path.iterdir()))}.log"
        with output.open("w") as file:
            program = subprocess.Popen(
                [sys.executable, "-u", *command],
                cwd=cwd,
                env=environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        try:
            yield output
            assert program.poll() is None, output.read_text()
            program.send_signal(signal.SIGTERM)
            assert program.wait(30) == ends, output.read_text()
        finally:
            program.kill()
            program.wait()

    return running


def until(what: Callable[[], bool], output: Path) -> None:
    give_up = monotonic() + 60
    while not what():
        assert monotonic() < give_up, output.read_text()
        sleep(0.05)


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def answers(address: str) -> bool:
    try:
        httpx.get(address)
    except httpx.TransportError:
        return False
    return True


def test_sqlalchemy(run: Callable[..., str], running: Any, environment: dict[str, str]) -> None:
    run("sqlalchemy_app.py", "setup")
    run("sqlalchemy_app.py", "setup")  # once more does no harm
    assert run("sqlalchemy_app.py", "order", "ada@example.com") == "order 1\n"
    with (
        running("sqlalchemy_app.py", "worker") as output,
        Client(environment["DATABASE_URL"]) as client,
    ):
        until(lambda: client.queue_stats("mail")[0].completed == 1, output)
        assert MAIL in output.read_text()


def test_fastapi(run: Callable[..., str], running: Any) -> None:
    run("fastapi_app.py", "setup")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    serve = ("-m", "uvicorn", "fastapi_app:app", "--port", str(port))
    # uvicorn ends by the signal that it was sent.
    with running(*serve, ends=-signal.SIGTERM) as served, running("fastapi_app.py", "worker") as w:
        until(lambda: answers(address), served)
        placed = httpx.post(f"{address}/orders", json={"email": "ada@example.com"})
        assert placed.status_code == 201, served.read_text()
        job = f"{address}/jobs/{placed.json()['job_id']}"
        until(lambda: httpx.get(job).json() == {"state": "completed"}, w)
        assert MAIL in w.read_text()
        missing = httpx.get(f"{address}/jobs/999999")
        assert (missing.status_code, missing.json()) == (
            404,
            {"detail": "job 999999 does not exist"},
        )


def test_flask(run: Callable[..., str], running: Any) -> None:
    flask = ("-m", "flask", "--app", "flask_app")
    run(*flask, "setup")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    serve = (*flask, "run", "--port", str(port))
    with running(*serve, ends=-signal.SIGTERM) as served, running(*flask, "worker") as worker:
        until(lambda: answers(address), served)
        placed = httpx.post(f"{address}/orders", json={"email": "ada@example.com"})
        assert placed.status_code == 201, served.read_text()
        job = f"{address}/jobs/{placed.json()['job_id']}"
        until(lambda: httpx.get(job).json() == {"state": "completed"}, worker)
        assert MAIL in worker.read_text()


def test_django(run: Callable[..., str], running: Any, environment: dict[str, str]) -> None:
    assert "no issues" in run("manage.py", "check", cwd=SHOP)
    assert "pgbaton.0001_install... OK" in run("manage.py", "migrate", cwd=SHOP)
    assert "No changes" in run("manage.py", "makemigrations", "--check", cwd=SHOP)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    serve = ("manage.py", "runserver", "--noreload", str(port))
    with (
        running(*serve, cwd=SHOP, ends=-signal.SIGTERM) as served,
        running("manage.py", "pgbaton_worker", cwd=SHOP) as worker,
    ):
        until(lambda: answers(address), served)
        placed = httpx.post(f"{address}/orders", json={"email": "ada@example.com"})
        assert placed.status_code == 201, served.read_text()
        result = f"{address}/results/{placed.json()['result_id']}"
        until(lambda: httpx.get(result).json() == {"status": "SUCCESSFUL"}, worker)
        assert MAIL in worker.read_text()
        with Client(environment["DATABASE_URL"]) as client:
            until(lambda: client.queue_stats("parcels")[0].completed == 2, worker)


def test_the_tests_of_the_django_project(run: Callable[..., str]) -> None:
    said = run("manage.py", "test", cwd=SHOP)
    assert re.search(r"Ran 6 tests.*\nOK\n", said, re.DOTALL), said


def test_the_tests_of_the_django_project_with_pytest(run: Callable[..., str]) -> None:
    settings = ("-p", "django", "--ds", "shop.settings", "--import-mode", "importlib")
    said = run(
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        ".",
        *settings,
        "shop/tests.py",
        cwd=SHOP,
    )
    assert "6 passed" in said, said


def test_the_tests_of_the_sqlalchemy_application(run: Callable[..., str], server_dsn: str) -> None:
    loaded = ("-p", "pytest_pgbaton") if not is_installed() else ()
    said = run(
        *("-m", "pytest", "-q", "-c", os.devnull, "--rootdir", "."),
        *("-o", "asyncio_default_fixture_loop_scope=function"),
        *loaded,
        *("--pgbaton-dsn", server_dsn, "-W", "error", "test_sqlalchemy_app.py"),
    )
    assert "4 passed" in said, said


def is_installed() -> bool:
    from importlib.metadata import entry_points

    return any(point.value == "pytest_pgbaton" for point in entry_points(group="pytest11"))


@pytest.mark.parametrize(
    "page", ["django.md", "fastapi.md", "flask.md", "sqlalchemy.md", "testing.md"]
)
def test_the_pages_show_the_examples(page: str) -> None:
    text = (ROOT / "docs" / page).read_text()
    shown = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert shown
    files = [*EXAMPLES.glob("*_app.py"), *SHOP.rglob("*.py")]
    sources = "\n".join(without_indents(file.read_text()) for file in files)
    for part in shown:
        assert without_indents(part) in sources, part


def without_indents(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def test_the_types_of_the_django_project_are_right(
    run: Callable[..., str], environment: dict[str, str], tmp_path: Path
) -> None:
    """The other examples are among the files of mypy in pyproject.toml."""
    environment["MYPYPATH"] = os.pathsep.join([str(SHOP), str(PACKAGE)])
    said = run("-m", "mypy", "--cache-dir", str(tmp_path), "shop", "manage.py", cwd=SHOP)
    assert "Success" in said
