"""pgbaton queue limit and limits, as docs/limits.md has them."""

from __future__ import annotations

import re
import shlex

from commands import Command

from pgbaton import Client, _assemble

PAGE = _assemble.source_root() / "docs" / "limits.md"


def test_the_commands_of_the_page(client: Client, run: Command) -> None:
    client.create_queue("webhooks")
    client.create_fifo_queue("hooks")
    [block] = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    for line in block.splitlines():
        said = run.out(*shlex.split(line)[1:])
    assert all(word in said for word in ("mail", "webhooks", "60", "1m", "10", "key rate burst"))


def test_what_is_left_out_has_no_limit(client: Client, run: Command) -> None:
    run.out("queue", "limit", "mail", "--max-running", "4")
    run.out("queue", "limit", "mail")
    assert client.list_queue_limits() == []
    assert run.out("queue", "limits") == ""
