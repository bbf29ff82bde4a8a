"""Runs commands, and what they are run on."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from pgbaton import Client
from pgbaton.cli import app


@dataclass
class Command:
    """Runs commands as the program does."""

    runner: CliRunner

    def __call__(self, *arguments: object, input: str | bytes | None = None) -> Result:
        return self.runner.invoke(app, [str(a) for a in arguments], input=input)

    def out(self, *arguments: object, input: str | bytes | None = None) -> str:
        """Stdout of a command that must not fail."""
        result = self(*arguments, input=input)
        assert result.exit_code == 0, result.output
        return result.stdout

    def json(self, *arguments: object, input: str | bytes | None = None) -> Any:
        return json.loads(self.out(*arguments, "--json", input=input))


def fail_one(client: Client, queue: str = "orders", key: str | None = "k") -> int:
    """A job that has failed."""
    job_id = client.enqueue_job(queue, {"n": 1}, singleton_key=key)
    [job] = client.claim_job_batch("worker", [queue])
    client.fail_job(job.id, "printer on fire", job.lease_token)
    return job_id
