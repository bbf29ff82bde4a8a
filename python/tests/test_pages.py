"""Every code block of the README and the guides is run: here, or by the test that is named here."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from psql_pages import run, steps
from psycopg.conninfo import make_conninfo
from typer.testing import CliRunner

from pgbaton import Client, _assemble
from pgbaton.cli import app

ROOT = _assemble.source_root()
DOCS = ROOT / "docs"
TESTS = ROOT / "python" / "tests"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOP = "postgresql://localhost/shop"

HERE = "test_pages.py"
RUN_BY = {
    ("README.md", "sql"): HERE,
    ("README.md", "sh"): HERE,
    ("README.md", "python"): HERE,
    ("docs/cli.md", "sh"): HERE,
    ("docs/django.md", "python"): "apps/test_examples.py",
    ("docs/django.md", "sh"): "apps/test_examples.py",
    ("docs/fastapi.md", "python"): "apps/test_examples.py",
    ("docs/fastapi.md", "sh"): "apps/test_examples.py",
    ("docs/flask.md", "python"): "apps/test_examples.py",
    ("docs/flask.md", "sh"): "apps/test_examples.py",
    ("docs/hooks.md", "python"): "worker/test_tasks_docs.py",
    ("docs/http.md", "sh"): HERE,
    ("docs/http.md", "sql"): HERE,
    ("docs/http.md", "toml"): HERE,
    ("docs/languages.md", "java"): "test_languages.py",
    ("docs/languages.md", "js"): "test_languages.py",
    ("docs/languages.md", "sh"): "test_languages.py",
    ("docs/languages.md", "sql"): "test_languages.py",
    ("docs/metrics.md", "sh"): HERE,
    ("docs/metrics.md", "python"): HERE,
    ("docs/operations.md", "sql"): "upgrade/test_pg_upgrade.py",
    ("docs/python.md", "python"): "test_python_docs.py",
    ("docs/scale.md", "python"): "spark/test_scale.py",
    ("docs/spark.md", "python"): "spark/test_spark_pages.py",
    ("docs/sqlalchemy.md", "python"): "apps/test_examples.py",
    ("docs/sqlalchemy.md", "sh"): "apps/test_examples.py",
    ("docs/tasks.md", "python"): "worker/test_tasks_docs.py",
    ("docs/tasks.md", "sql"): "worker/test_tasks_docs.py",
    ("docs/testing.md", "python"): "apps/test_examples.py",
    ("docs/troubleshooting.md", "sql"): "test_troubleshooting.py",
    ("docs/tutorial.md", "sql"): "test_tutorial.py",
    ("docs/webhooks.md", "python"): "test_ordered_webhooks.py",
    ("docs/webhooks.md", "sql"): "test_ordered_webhooks.py",
    ("docs/limits.md", "python"): "test_limits_page.py",
    ("docs/limits.md", "sh"): "cli/test_limit_commands.py",
    ("docs/limits.md", "sql"): "test_limits_page.py",
    ("docs/workflows.md", "python"): "test_workflows.py",
    ("docs/workflows.md", "sql"): "test_workflows.py",
    ("docs/worker.md", "python"): "worker/test_worker_docs.py",
    ("docs/worker.md", "yaml"): HERE,
}
# Lines that no test runs: what they start is run by make check itself, or changes the machine.
NOT_RUN = {
    "make demo", "make test", "make example-webhooks", "pip install",
    "make db", ".venv/bin/pgbaton db psql",
}  # fmt: skip
# Signatures, written from the functions.
NO_EXAMPLES = {"docs/reference.md"}


def blocks(page: str, language: str) -> list[str]:
    found = BLOCK.findall((ROOT / page).read_text("utf-8"))
    return [text for kind, text in found if kind == language]


def shell_lines(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if not any(line.startswith(start) for start in NOT_RUN):
            yield line


def test_every_block_has_its_test() -> None:
    pages = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
    names = {page: str(page.relative_to(ROOT)) for page in pages}
    found = {
        (names[page], kind)
        for page in pages
        for kind, text in BLOCK.findall(page.read_text("utf-8"))
        if names[page] not in NO_EXAMPLES and kind not in ("", "text")
        if kind != "sh" or list(shell_lines(text))
    }
    assert found == RUN_BY.keys()
    for (page, _), test in RUN_BY.items():
        assert Path(page).name in (TESTS / test).read_text("utf-8")


def test_every_fence_is_seen() -> None:
    """A block that is indented or has no end would be left out above."""
    for page in [ROOT / "README.md", *DOCS.glob("*.md")]:
        text = page.read_text("utf-8")
        assert len(re.findall("^ *```", text, re.MULTILINE)) == 2 * len(BLOCK.findall(text)), page


def test_the_sql_of_the_readme(dsn: str) -> None:
    for step, out in zip(found := steps(ROOT / "README.md"), run(dsn, found), strict=True):
        assert "ERROR" not in out, step.statements + out
        assert "printer on fire" in out
        assert "waits behind job 1" in out


@pytest.mark.parametrize(
    ("number", "queue", "said"),
    [(0, "orders", "order-1 paid\n"), (1, "shipping", "order 17 goes by mail\n")],
)
def test_the_python_of_the_readme(
    dsn: str, capsys: pytest.CaptureFixture[str], number: int, queue: str, said: str
) -> None:
    """The third example is one of Spark, which runs where the page of Spark does."""
    example = blocks("README.md", "python")[number]
    names: dict[str, Any] = {}
    code = compile(example.replace(SHOP, dsn), "README.md", "exec", dont_inherit=True)
    working = threading.Thread(target=exec, args=(code, names))
    working.start()
    with Client(dsn) as client:
        wait_until(lambda: "worker" in names and has_completed(client, queue))
    names["worker"].stop()
    working.join(60)
    assert not working.is_alive()
    assert capsys.readouterr().out == said


def test_the_http_of_the_readme(dsn: str) -> None:
    *_, example = blocks("README.md", "sh")
    serve, *calls = shell_lines(example)
    port = free_port()
    with program(serve.removesuffix(" &").replace('"$DSN"', f"'{dsn}'") + f" --port {port}"):
        wait_until(lambda: answers(f"http://localhost:{port}/"))
        said = [
            bash(call.replace("curl localhost:8000", f"curl -sS localhost:{port}"))
            for call in calls
        ]
    assert said[0].startswith('{"ok":true,"id":')
    assert '"value":{"to":"ann"}' in said[1]


def test_the_http_of_the_guide(dsn: str) -> None:
    texts = ("\n".join(shell_lines(text)).strip() for text in blocks("docs/http.md", "sh"))
    serve, *several = texts
    calls = "\n".join(several)
    port = free_port()
    command = serve.partition("#")[0].strip()
    with program(f"{command} --dsn '{dsn}' --port {port}"):
        wait_until(lambda: answers(f"http://localhost:{port}/"))
        ids: dict[str, str] = {}  # as the page has them, and as they are
        for told in re.findall(r"^curl (.*)\n# (.*)$", calls, re.MULTILINE):
            call, answer = (
                re.sub(r'"(\d+)"', lambda n: f'"{ids.get(n[1], n[1])}"', text) for text in told
            )
            found = bash(f"curl -sS {call.replace(':8000', f':{port}')}")
            if new := re.fullmatch(r'\{"ok":true,"id":"(\d+)"\}', answer):
                ids[new[1]] = json.loads(found)["id"]
                answer = answer.replace(new[1], ids[new[1]])
            assert found == answer
    assert calls.count("curl") == calls.count("# {") == 11


def test_the_tokens_of_the_guide(dsn: str, conn: psycopg.Connection[Any], tmp_path: Path) -> None:
    [tokens], [grants] = blocks("docs/http.md", "toml"), blocks("docs/http.md", "sql")
    names = {"shop": f"shop_{conn.info.dbname}", "gateway": f"gateway_{conn.info.dbname}"}
    for name, unique in names.items():
        grants = re.sub(rf"\b{name}\b", unique, grants)
        tokens = tokens.replace(f'"{name}"', f'"{unique}"')
    (tmp_path / "tokens.toml").write_text(tokens)
    conn.execute("select pgbaton.create_queue('mail'), pgbaton.create_queue('other')")
    conn.execute(f"create role {names['gateway']} login password 'x' in role pgbaton_worker")
    try:
        conn.execute(grants)
        login = make_conninfo(dsn, user=names["gateway"], password="x")  # noqa: S106
        port = free_port()
        with program(
            f"pgbaton serve --tokens {tmp_path}/tokens.toml --dsn '{login}' --port {port}"
        ):
            wait_until(lambda: answers(f"http://localhost:{port}/"))
            post = "curl -sS -H 'Content-Type: application/json' -d '{\"value\": 1}' "
            url = f"http://localhost:{port}/QUEUE/api/queue/enqueue"
            known = post + "-H 'Authorization: Bearer secret' " + url
            assert bash(known.replace("QUEUE", "mail")) == '{"ok":true,"id":"1"}'
            assert '"code":"PB009"' in bash(known.replace("QUEUE", "other"))
            assert '"ok":false' in bash(post + url.replace("QUEUE", "mail"))
    finally:
        for unique in names.values():
            conn.execute(f"drop role if exists {unique}")


def test_the_commands_of_the_guide(empty_dsn: str, tmp_path: Path) -> None:
    first, many = blocks("docs/cli.md", "sh")
    before, blocked, after = first.partition("pgbaton blocked")
    export = f"export PGBATON_DSN='{empty_dsn}'\n"
    assert bash(before.replace(f"export PGBATON_DSN={SHOP}\n", export)).split()[-1] == "1"
    with Client(empty_dsn) as client:
        [job] = client.claim_job_batch("worker", ["orders"])
        client.fail_job(job.id, "no funds", job.lease_token, retryable=False)
    assert "no funds" in bash(export + (blocked + after).replace("retry 17", f"retry {job.id}"))
    (tmp_path / "events.jsonl").write_text('{"order_id": 1}\n{"order_id": 2}\n')
    bash(f"cd {tmp_path}\n{export}{many}")
    with Client(empty_dsn) as client:
        assert client.get_job(job.id).state == "retry"
        assert client.queue_stats("orders")[0].total == 3


def test_the_metrics_of_the_guide(dsn: str) -> None:
    from prometheus_client import generate_latest

    [text] = blocks("docs/metrics.md", "sh")
    serve, once = (f"{line.split('#')[0]} --dsn '{dsn}'" for line in shell_lines(text))
    port = free_port()
    with program(f"{serve} --port {port}"):
        wait_until(lambda: answers(f"http://localhost:{port}/metrics"))
    assert "pgbaton_up 1.0" in bash(once)
    [example] = blocks("docs/metrics.md", "python")
    with Client(dsn) as client:
        names: dict[str, Any] = {"client": client}
        exec(example, names)  # noqa: S102
        assert b"pgbaton_up 1.0" in generate_latest(names["registry"])


def bash(script: str) -> str:
    done = subprocess.run(
        ["bash", "-e"],
        input=script,
        env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, script + done.stdout + done.stderr
    return done.stdout


@contextmanager
def program(command: str) -> Iterator[None]:
    """A command that runs until it is stopped."""
    path = f"PATH={Path(sys.executable).parent}:$PATH"
    started = subprocess.Popen(["bash", "-c", f"{path} exec {command}"])
    try:
        yield
    finally:
        started.terminate()
        assert started.wait(60) == 0


def wait_until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_completed(client: Client, queue: str) -> bool:
    return any(s.queue == queue and s.completed for s in client.queue_stats())


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310
            return bool(answer.status == 200)
    except OSError:
        return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


def test_the_yaml_of_the_worker_page() -> None:
    [text] = blocks("docs/worker.md", "yaml")
    [container] = yaml.safe_load(text)["spec"]["containers"]
    assert container["command"][-2:] == ["--health", ":8080"]
    probes = {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("liveness", "readiness")}
    assert probes == {"/healthz", "/readyz"}
    help_of_run = CliRunner().invoke(app, ["worker", "run", "--help"], env={"COLUMNS": "200"})
    assert "--health" in help_of_run.output
