"""What is wrong with one line of many is said with its number, and nothing is stored."""

from __future__ import annotations

import re

import pytest
from commands import Command

from pgbaton import Client

PAYLOADS = {
    "no JSON": b"{",
    "two values": b"{} {}",
    "no number of JSON": b"[NaN]",
    "no UTF-8": b'"\xff"',
    "a NUL": b'"\\u0000"',
    "half a surrogate pair": b'"\\ud800"',
    "too deep for Python": b"[" * 100_000,
    "too deep for the server": b"[" * 502 + b"]" * 502,
    "a number that is too long": b"[1e4001]",
    "a number that no numeric is": b"1e200000",
    "a large text": b'"' + b"x" * (17 << 20) + b'"',
}
KEYED = {
    "no object": b"[1]",
    "no such field": b'{"no": 1}',
    "null": b'{"id": null}',
    "an empty key": b'{"id": ""}',
    "a long key": b'{"id": "' + b"k" * 1025 + b'"}',
    "a long number": b'{"id": 1e1025}',
    "a longer number": b'{"id": 1e999999999}',
    "a long fraction": b'{"id": 1e-1025}',
}
JOBS = {
    "no object": b"7",
    "an unknown option": b'{"no": 1}',
    "one tag": b'{"tags": "one"}',
    "a tag that is no text": b'{"tags": [["a"]]}',
    "an empty tag": b'{"tags": ["a", ""]}',
    "a null among tags": b'{"tags": [null]}',
    "no priority": b'{"priority": "high"}',
    "half a priority": b'{"priority": 1.5}',
    "a large priority": b'{"priority": 9007199254740993}',
    "an infinite priority": b'{"priority": 1e400}',
    "a priority of 5,000 digits": b'{"priority": 1' + b"0" * 5000 + b"}",
    "no interval": b'{"delay": "soon"}',
    "a number for an interval": b'{"delay": {}}',
    "an interval below 0": b'{"delay": "-1 s"}',
    "no instant": b'{"run_at": "soon"}',
    "instant and delay": b'{"run_at": "2126-01-01", "delay": "1 s"}',
    "no attempts": b'{"max_attempts": 0}',
    "a backoff schedule below 0": b'{"backoff_schedule": ["1 s", "-1 s"]}',
    "a key path that is none": b'{"keys_if_undelivered": [["a"], []]}',
    "headers that are no texts": b'{"headers": {"a": 1.10}}',
    "headers that are no object": b'{"headers": [1]}',
    "large headers": b'{"headers": {"a": "' + b"x" * 5000 + b'"}}',
    "a number for a key": b'{"singleton_key": 5}',
    "a text for a priority": b'{"priority": "5"}',
    "a number for a tag": b'{"tags": [5]}',
    "a number for a delay": b'{"delay": 5}',
    "a text for a switch": b'{"retry_backoff": "yes"}',
    "a key that a float would spoil": b'{"singleton_key": 1.10}',
    "an empty key": b'{"singleton_key": ""}',
    "a long dedup_id": b'{"dedup_id": "' + b"x" * 1025 + b'"}',
    "a dedup_id that is known": b'{"dedup_id": "known", "on_duplicate": "error"}',
    "the dedup_id of a line before": b'{"dedup_id": "first", "on_duplicate": "error"}',
    "no such way with duplicates": b'{"dedup_id": "a", "on_duplicate": "maybe"}',
    "one lane too many": b'{"job_type": "third"}',
}
EVERYWHERE = {"no JSON", "a number that is too long", "an empty key", "an empty tag"}
PLACES = {"first": (0, 3), "behind an empty line": (3, 5), "in the second batch": (1101, 1300)}
"""How many lines stand before it, and how many there are."""


def cases(table: dict[str, bytes]) -> list[tuple[str, str]]:
    """Some at each place, the others at one."""
    usual = "behind an empty line"
    return [
        (what, place) for what in table for place in PLACES if place == usual or what in EVERYWHERE
    ]


def text_of(good: bytes, bad: bytes, before: int, total: int, first: bytes = b"") -> bytes:
    lines = [good] * before + [bad] + [good] * (total - before - 1)
    if before:
        lines[0] = first or good
    if before == 3:
        lines[1] = b"  "
    return b"\n".join(lines)


def check_refused(
    run: Command, client: Client, arguments: list[str], text: bytes, number: int
) -> None:
    before = sum(queue.total for queue in client.queue_stats())
    refused = run("enqueue", *arguments, "--lines", "-", input=text)
    assert isinstance(refused.exception, SystemExit), repr(refused.exception)
    assert refused.exit_code in (1, 2)
    assert refused.stdout == ""
    said = re.sub(r"[│╭╮╰╯─\s]+", " ", refused.stderr)
    assert f"line {number:,}: " in said, said
    assert len(re.findall(r"line [\d,]+", said)) == 1, said
    said = re.sub('job 1 has a value of the wrong type|": job [0-9]+ .PB006', "", said)
    # The places in a list that is ours, not the user's.
    assert not re.search(r"\b(job|row|payload|dedup_id|singleton_key|on_duplicate) \d", said), said
    assert "Traceback" not in said
    assert sum(queue.total for queue in client.queue_stats()) == before


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"singleton_key": 5}', "singleton_key: 5 is not a text: pass a text, in quotes"),
        (
            '{"priority": "5"}',
            "priority: '5' is not an integer: pass a whole number, without quotes",
        ),
        ('{"delay": 5}', "delay: 5 is not a duration: pass text as '90 seconds'"),
        ('{"retry_backoff": "y"}', "retry_backoff: 'y' is not a boolean: pass true or false"),
    ],
)
def test_a_wrong_type_is_told_in_words_of_json(
    run: Command, client: Client, line: str, said: str
) -> None:
    refused = run("enqueue", "mail", "--jobs", "--lines", "-", input=f"{{}}\n{line}\n".encode())
    assert f"line 2: {said}" in re.sub(r"[│╭╮╰╯─\s]+", " ", refused.stderr)


def test_an_id_may_be_a_text(run: Command, client: Client) -> None:
    first = client.enqueue_job("mail")
    line = f'{{"after": ["{first}"]}}\n{{"after": [{first}]}}'
    assert run("enqueue", "mail", "--jobs", "--lines", "-", input=line.encode()).exit_code == 0
    assert len(client.job_dependencies(first)) == 2


@pytest.mark.parametrize(("what", "place"), cases(PAYLOADS))
def test_a_payload(run: Command, client: Client, what: str, place: str) -> None:
    before, total = PLACES[place]
    text = text_of(b"1", PAYLOADS[what], before, total)
    check_refused(run, client, ["mail"], text, before + 1)


@pytest.mark.parametrize(("what", "place"), cases(KEYED))
def test_a_payload_with_a_key(run: Command, client: Client, what: str, place: str) -> None:
    before, total = PLACES[place]
    text = text_of(b'{"id": 1}', KEYED[what], before, total)
    check_refused(run, client, ["orders", "--key-field", "id"], text, before + 1)


@pytest.mark.parametrize(("what", "place"), cases(JOBS))
def test_options(run: Command, client: Client, what: str, place: str) -> None:
    client.create_queue("narrow", max_lanes=2)
    client.enqueue_job("narrow", job_type="one", dedup_id="known")
    before, total = PLACES[place]
    text = text_of(b'{"job_type": "two"}', JOBS[what], before, total, b'{"dedup_id": "first"}')
    arguments = ["narrow", "--jobs"] if "lane" in what else ["mail", "--jobs"]
    if "known" in what:
        client.enqueue_job("mail", dedup_id="known")
    if "lane" in what:
        text = text.replace(b'{"dedup_id": "first"}', b'{"job_type": "one"}')
    check_refused(run, client, arguments, text, before + 1)


def test_a_job_without_the_key_that_its_queue_wants(run: Command, client: Client) -> None:
    text = b'{"singleton_key": "a"}\n\n{"payload": 1}\n{}\n'
    check_refused(run, client, ["orders", "--jobs"], text, 3)
