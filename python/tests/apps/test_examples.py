"""The applications of examples/ work as their pages say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic, sleep

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


class Shell:
    """A shell whose Python has what a page told to install, and nothing else."""

    def __init__(self, commands: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.commands = commands
        self.folder = folder
        self.environment = environment

    def run(self, command: str) -> str:
        """Runs it to its end; it must end well."""
        return run_to_end(["sh", "-c", f"exec {command}"], self.folder, self.environment)

    def running(self, command: str, ends: int = 0) -> AbstractContextManager[Path]:
        """Has it run meanwhile; it must end so when it is asked to."""
        return running(["sh", "-c", f"exec {command}"], self.folder, self.environment, ends)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    run_to_end([*build, str(ROOT)], folder, dict(os.environ))
    [wheel] = folder.iterdir()
    return wheel


@pytest.fixture
def follow(wheel: Path, make_database: Callable[..., str], tmp_path: Path) -> Callable[..., Shell]:
    """Makes a virtual environment as the commands of a page say, and a database."""

    def follow(text: str, folder: Path) -> Shell:
        lines = [line.strip() for line in text.strip().splitlines()]
        commands = [line for line in lines if not line.startswith(("pip ", "export ", "cd "))]
        environment = fresh_environment(tmp_path / "venv")
        environment["DATABASE_URL"] = url(make_database())
        for line in lines:
            if line.startswith("pip install "):
                install(environment, shlex.split(line)[2:], wheel)
            elif line.startswith("export "):
                assert line == "export DATABASE_URL=postgresql://..."
            elif line.startswith("cd "):
                folder /= line.removeprefix("cd ")
        shell = Shell(commands, folder, environment)
        where = shell.run("python -c 'import pgbaton; print(pgbaton.__file__)'")
        assert Path(where).is_relative_to(tmp_path)
        return shell

    return follow


def fresh_environment(venv: Path) -> dict[str, str]:
    """Nothing of what the tests run in, but for the way to packages."""
    run_to_end([sys.executable, "-m", "venv", "--without-pip", str(venv)], venv.parent, {})
    kept = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
    return {**kept, "PATH": f"{venv / 'bin'}{os.pathsep}{os.defpath}", "HOME": str(venv.parent)}


def install(environment: dict[str, str], wanted: list[str], wheel: Path) -> None:
    """With the pip of the tests, since a pip of its own would take seconds."""
    named = [re.sub(r"^pgbaton(?=$|\[)", str(wheel), word) for word in wanted]
    assert named != wanted, wanted
    python = environment["PATH"].partition(os.pathsep)[0] + "/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "-qq", "--no-compile"]
    run_to_end([*pip, *named], wheel.parent, dict(os.environ))


def run_to_end(command: Sequence[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: dict[str, str], ends: int
) -> Iterator[Path]:
    with NamedTemporaryFile("w", suffix=".log") as file:
        output = Path(file.name)
        program = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "PYTHONUNBUFFERED": "1"},
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


def commands_of(page: str) -> str:
    """The lines of all shell blocks of a page."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    return "".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))


def commands_in(example: str) -> str:
    """The lines of the docstring of an example that are commands."""
    text = (EXAMPLES / example).read_text("utf-8").split('"""')[1]
    words = ("pip ", "export ", "python ", "uvicorn ", "flask ")
    return "\n".join(line for line in text.splitlines() if line.strip().startswith(words))


@pytest.fixture
def environment(make_database: Callable[..., str]) -> dict[str, str]:
    """That of the tests, with an empty database."""
    path = os.pathsep.join([str(PACKAGE), os.environ.get("PYTHONPATH", "")])
    # Not what pytest-xdist says of this process.
    ours = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
    return {**ours, "DATABASE_URL": url(make_database()), "PYTHONPATH": path}


@pytest.fixture
def run(environment: dict[str, str]) -> Callable[..., str]:
    """Runs a program of Python to its end, in the environment of the tests."""

    def run(*command: str, cwd: Path = EXAMPLES) -> str:
        return run_to_end([sys.executable, *command], cwd, environment)

    return run


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


def test_sqlalchemy(follow: Callable[..., Shell], wheel: Path, tmp_path: Path) -> None:
    shell = follow(commands_of("sqlalchemy.md"), ROOT)
    setup, order, work = shell.commands
    shell.run(setup)
    shell.run(setup)  # once more does no harm
    assert shell.run(order) == "order 1\n"
    with shell.running(work) as output, Client(shell.environment["DATABASE_URL"]) as client:
        until(lambda: client.queue_stats("mail")[0].completed == 1, output)
        assert MAIL in output.read_text()

    # Its tests find the plugin by themselves.
    install(shell.environment, ["pgbaton[embedded]", "pytest"], wheel)
    for file in ("sqlalchemy_app.py", "test_sqlalchemy_app.py"):
        shutil.copy(EXAMPLES / file, tmp_path)
    assert "4 passed" in Shell([], tmp_path, shell.environment).run("pytest -q -W error")


def test_fastapi(follow: Callable[..., Shell]) -> None:
    shell = follow(commands_of("fastapi.md"), ROOT)
    setup, serve, work = shell.commands
    shell.run(setup)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    # uvicorn ends by the signal that it was sent.
    with (
        shell.running(f"{serve} --port {port}", ends=-signal.SIGTERM) as served,
        shell.running(work) as worker,
    ):
        until(lambda: answers(address), served)
        placed = httpx.post(f"{address}/orders", json={"email": "ada@example.com"})
        assert placed.status_code == 201, served.read_text()
        job = f"{address}/jobs/{placed.json()['job_id']}"
        until(lambda: httpx.get(job).json() == {"state": "completed"}, worker)
        assert MAIL in worker.read_text()
        missing = httpx.get(f"{address}/jobs/999999")
        assert (missing.status_code, missing.json()) == (
            404,
            {"detail": "job 999999 does not exist"},
        )


def test_flask(follow: Callable[..., Shell]) -> None:
    shell = follow(commands_of("flask.md"), ROOT)
    setup, serve, work = shell.commands
    shell.run(setup)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (
        shell.running(f"{serve} --port {port}", ends=-signal.SIGTERM) as served,
        shell.running(work) as worker,
    ):
        until(lambda: answers(address), served)
        placed = httpx.post(f"{address}/orders", json={"email": "ada@example.com"})
        assert placed.status_code == 201, served.read_text()
        job = f"{address}/jobs/{placed.json()['job_id']}"
        until(lambda: httpx.get(job).json() == {"state": "completed"}, worker)
        assert MAIL in worker.read_text()


def test_django(follow: Callable[..., Shell]) -> None:
    shell = follow(commands_of("django.md"), SHOP)
    migrate, serve, work = shell.commands
    assert "no issues" in shell.run("python manage.py check")
    assert "pgbaton.0001_install... OK" in shell.run(migrate)
    assert "No changes" in shell.run("python manage.py makemigrations --check")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with (
        shell.running(f"{serve} --noreload {port}", ends=-signal.SIGTERM) as served,
        shell.running(work) as worker,
    ):
        until(lambda: answers(address), served)
        placed = httpx.post(f"{address}/orders", json={"email": "ada@example.com"})
        assert placed.status_code == 201, served.read_text()
        result = f"{address}/results/{placed.json()['result_id']}"
        until(lambda: httpx.get(result).json() == {"status": "SUCCESSFUL"}, worker)
        assert MAIL in worker.read_text()
        with Client(shell.environment["DATABASE_URL"]) as client:
            until(lambda: client.queue_stats("parcels")[0].completed == 2, worker)


def test_webhooks(follow: Callable[..., Shell]) -> None:
    shell = follow(commands_in("ordered_webhooks.py"), ROOT)
    [command] = shell.commands
    assert re.search(r"order violations +0\n", shell.run(command))


@pytest.mark.proof  # a gigabyte to install
@pytest.mark.timeout(900)
def test_spark(follow: Callable[..., Shell], tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    names = ("flights_pipeline.py", "streaming_orders.py")
    flights, orders = (commands_in(name).splitlines() for name in names)
    assert flights[0] == orders[0]  # what they install
    shell = follow("\n".join([*flights, orders[1]]), tmp_path)
    pipeline, stream = shell.commands
    assert "Report: build/flights/daily_delays" in shell.run(pipeline)
    assert "duplicates: 0, lost: 0" in shell.run(stream)


@pytest.mark.parametrize("name", ["sqlalchemy", "fastapi", "flask"])
def test_examples_and_pages_give_the_same_commands(name: str) -> None:
    page = commands_of(f"{name}.md").replace("examples/", "").replace("cd examples\n", "")
    assert page.split() == commands_in(f"{name}_app.py").split()


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
