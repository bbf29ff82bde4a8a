"""What `from pgbaton import *` gives is listed, sorted, documented and complete."""

from __future__ import annotations

import inspect

import pytest

import pgbaton
from pgbaton import client, errors, models, worker

PUBLIC = [getattr(pgbaton, name) for name in pgbaton.__all__]
CLASSES = [thing for thing in PUBLIC if inspect.isclass(thing)]


def sorted_like_ruff(names: list[str]) -> list[str]:
    """Constants, then classes, then the rest."""
    return sorted(names, key=lambda name: (not name.isupper(), name))


@pytest.mark.parametrize(
    "module", [pgbaton, client, errors, models, worker], ids=lambda m: m.__name__
)
def test_the_list_is_sorted_and_every_name_is_there(module) -> None:  # type: ignore[no-untyped-def]
    assert module.__all__ == sorted_like_ruff(module.__all__)
    assert all(hasattr(module, name) for name in module.__all__)


def test_nothing_public_of_the_modules_is_missing() -> None:
    for module in (client, errors, models, worker):
        assert set(module.__all__) <= set(pgbaton.__all__), module.__name__
        defined = {
            name
            for name, thing in inspect.getmembers(module, inspect.isclass)
            if thing.__module__ == module.__name__ and not name.startswith("_")
        }
        assert defined <= set(module.__all__), module.__name__


@pytest.mark.parametrize("thing", CLASSES, ids=lambda c: c.__name__)
def test_every_class_and_its_public_methods_are_documented(thing: type) -> None:
    own = [m for n, m in inspect.getmembers(thing, inspect.isfunction) if not n.startswith("_")]
    for documented in [thing, *own]:
        doc = inspect.getdoc(documented)
        assert doc, documented
        # A dataclass without a docstring gets its signature as one.
        assert not doc.startswith(f"{thing.__name__}("), documented
