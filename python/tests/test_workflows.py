"""docs/workflows.md is one psql session, and its Python is run as it stands."""

from __future__ import annotations

import re
from typing import Any

from psql_pages import assert_prints_what_it_shows

from pgbaton import Client, _assemble

PAGE = _assemble.source_root() / "docs" / "workflows.md"


def test_the_page(dsn: str) -> None:
    assert_prints_what_it_shows(PAGE, dsn)


def test_its_python(dsn: str) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "docs/workflows.md", "exec"), names)  # noqa: S102
    with Client(dsn) as client:
        client.create_queue("pages")
        client.create_queue("books")
        last = names["enqueue_book"](client, 3)
        for page in client.claim_job_batch("w", ["pages"]):
            client.complete_job(page.id, {"file": f"{page.payload['page']}.pdf"}, page.lease_token)
        [job] = client.claim_job_batch("w", ["books"])
        assert job.id == last
        assert names["bind"](client, job) == ["1.pdf", "2.pdf", "3.pdf"]
