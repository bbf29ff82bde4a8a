"""Numbers that a float spoils, and JSON read without making floats of any."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

NUMBERS = [
    *("1e400", "-1e400", "1e-400", "1E5", "1e+2", "1.5E-7", "1.10", "100.00"),
    *("0", "-0", "-0.0", "0.0", "0e3"),
    *("9007199254740993", "-9007199254740993", "9007199254740993.0", "18446744073709551617"),
    *("0.1234567890123456789012345678901234567890", "0.1000000000000000055511151231257827"),
    *("0." + "1" * 300, "1" + "0" * 3999, "-" + "9" * 4000),
]
LISTED = "[" + ", ".join(NUMBERS) + "]"
PAYLOAD = f'{{"n": {LISTED}, "in": {{"1e400": [[{NUMBERS[0]}]]}}, "text": "1e400, \\" \\\\ 1E5"}}'


class Digits(str):
    """A number as it was written."""

    __slots__ = ()


def exactly(text: str) -> Any:
    """JSON with Digits for numbers, so that 1.1 and 1.10 differ."""
    return json.loads(text, parse_int=Digits, parse_float=Digits)


def same_numbers(text: str, other: str) -> bool:
    """Whether they are equal as JSON, numbers by their values."""
    read, read_other = (
        json.loads(t, parse_int=Decimal, parse_float=Decimal) for t in (text, other)
    )
    return bool(read == read_other)
