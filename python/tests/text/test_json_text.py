"""JSON that passes through as text: laid out, taken apart and put together without a change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from exact import LISTED, NUMBERS, PAYLOAD, exactly
from hypothesis import example, given
from hypothesis import strategies as st

from pgbaton._json_text import JsonText, checked, members_of, pretty, write

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda parts: st.lists(parts, max_size=4) | st.dictionaries(TEXTS, parts, max_size=4),
    max_leaves=12,
)
NUMBER = st.from_regex(
    r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,4})?", fullmatch=True
)
SPACE = st.text(" \t\n\r", max_size=2)


@st.composite
def written(draw: st.DrawFn, depth: int = 3) -> str:
    """JSON as others write it: any number, spaces anywhere, escapes."""
    kind = draw(st.sampled_from(["number", "text", "word", "list", "object"][: 5 if depth else 3]))
    before, after = draw(SPACE), draw(SPACE)
    if kind == "number":
        text = draw(NUMBER)
    elif kind == "text":
        text = json.dumps(draw(TEXTS), ensure_ascii=draw(st.booleans()))
    elif kind == "word":
        text = draw(st.sampled_from(["null", "true", "false"]))
    else:
        parts = draw(st.lists(written(depth - 1), max_size=3))
        if kind == "object":
            names = [json.dumps(draw(TEXTS), ensure_ascii=draw(st.booleans())) for _ in parts]
            parts = [
                f"{draw(SPACE)}{n}{draw(SPACE)}:{p}" for n, p in zip(names, parts, strict=True)
            ]
        inside = ",".join(parts) or draw(SPACE)
        text = f"[{inside}]" if kind == "list" else f"{{{inside}}}"
    return before + text + after


@given(PLAIN)
@example({})
@example([[], {}, [[]], [{}], {"": {}}])
@example('"\\ {[,:]} \n\u2028')
def test_pretty_lays_out_as_json_dumps_does(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, indent=7), write(value)):
        assert json.loads(pretty(text)) == value
    wanted = json.dumps(value, indent=2, ensure_ascii=False)
    assert pretty(json.dumps(value, ensure_ascii=False)) == wanted


@given(written())
@example(PAYLOAD)
@example(LISTED)
def test_no_digit_is_changed(text: str) -> None:
    wanted = exactly(text)
    assert checked(text) == text
    assert exactly(pretty(text)) == wanted
    assert exactly(write(JsonText(text))) == wanted
    assert write(JsonText(pretty(text))) == write(JsonText(text))
    whole = write({"a": [JsonText(text), 1], "b": (JsonText(text),)})
    assert exactly(whole) == {"a": [wanted, "1"], "b": [wanted]}


@given(written())
@example(PAYLOAD)
@example('{"a": 1, "a": 1e400, "b": {}}')
@example(" { } ")
@example('\n{"":[1.10 , -0.0]\t,"\\u0061" :1E5}\r')
def test_members_are_the_texts_between(text: str) -> None:
    wanted = exactly(text)
    found = members_of(text)
    if not isinstance(wanted, dict):
        assert found is None
        return
    assert found is not None
    assert {name: exactly(part) for name, part in found.items()} == wanted
    for part in found.values():
        assert part == part.strip()
        assert part in text


@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_one_by_one(number: str) -> None:
    assert pretty(number) == write(JsonText(number)) == number
    assert members_of(f'{{"n":{number}}}') == {"n": number}
    assert pretty(f"[{number}]") == f"[\n  {number}\n]"


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "{", "}", "[1,]", "{1:2}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1}}', "\ufeff1"),
        *('{"a":1}{}', '{"a": 1 "b": 2}', "01", "1.", ".5", "+1", "1e", "0x1", "--1", "nul", "'a'"),
        *("NaN", "-Infinity", "[Infinity]", '{"a":NaN}', '"\n"', '"\\x"', '"\\u12"'),
    ],
)
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        checked(text)
    with pytest.raises(ValueError):  # noqa: PT011
        members_of(text)


def test_what_is_nested_too_deeply_is_refused() -> None:
    for text in ("[" * 100_000, '{"a":' * 100_000):
        with pytest.raises(RecursionError):
            checked(text)
        with pytest.raises(RecursionError):
            members_of(text)
