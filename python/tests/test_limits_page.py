"""docs/limits.md is one psql session, and its Python is run as it stands. Its commands: cli/."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

from psql_pages import assert_prints_what_it_shows

from pgbaton import Client, _assemble

PAGE = _assemble.source_root() / "docs" / "limits.md"


def test_the_page(dsn: str) -> None:
    assert_prints_what_it_shows(PAGE, dsn)


def test_its_python(dsn: str) -> None:
    [block] = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(block, "docs/limits.md", "exec"), names)  # noqa: S102
    with Client(dsn) as client:
        client.create_queue("mail")
        client.create_queue("webhooks")
        client.create_fifo_queue("hooks")
        hooks, mail, webhooks = names["protect"](client)
    assert (mail.queue, mail.max_running, mail.rate_count) == ("mail", 4, None)
    assert (webhooks.rate_count, webhooks.rate_interval) == (60, timedelta(minutes=1))
    assert webhooks.rate_burst == 10
    assert (hooks.key_rate_count, hooks.key_rate_interval) == (60, timedelta(minutes=1))
    assert hooks.key_rate_burst == 5
