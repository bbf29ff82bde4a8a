"""The examples of docs/python.md run, one after the other, and do what the page says."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pgbaton import ClaimedJob, Client, JobState, _assemble

PAGE = _assemble.source_root() / "docs" / "python.md"


def test_the_examples_run(dsn: str, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"DSN": dsn}
    *before, last = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for example in before:
        exec(example, names)  # noqa: S102
    said = capsys.readouterr().out
    assert "Pass the entity whose jobs must stay in order" in said
    assert "1 cancelled" in said
    assert "['enqueued', 'replaced', 'replaced']" in said

    with Client(dsn) as client:
        seen = work_until_only_failed_are_left(client, names["work"])
        assert seen == [
            ("order 17", "reserve"),
            ("order 18", "ship"),
            ("order 19", "reserve"),
            ("order 16", "ship"),
            ("order 17", "charge"),
        ]
        [blocked] = client.blocked_keys("orders")
        exec(last, names)  # noqa: S102
        said = capsys.readouterr().out
        assert "order 17 ValueError('no funds') 1 jobs wait" in said
        assert "failed after 1 attempt:" in said
        assert client.get_job(blocked.job_id).state is JobState.RETRY

        done: list[str] = []
        packs = client.enqueue_batch("orders", [{"step": "pack"}] * 3, ["order 40"] * 3)
        names["work_in_batches"](client, "worker", lambda job: done.append(job.payload["step"]))
        assert done.count("pack") == 3
        assert {client.get_job(pack).state for pack in packs} == {JobState.COMPLETED}


def work_until_only_failed_are_left(client: Client, work: Any) -> list[tuple[str | None, str]]:
    seen: list[tuple[str | None, str]] = []

    def handle(job: ClaimedJob) -> dict[str, bool]:
        seen.append((job.singleton_key, job.payload["step"]))
        if job.payload["step"] == "charge":
            raise ValueError("no funds")
        return {"fine": True}

    work(client, "worker", handle, lambda: client.queue_stats("orders")[0].pending == 0)
    return seen
