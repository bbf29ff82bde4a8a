"""Writes the second half of docs/cli.md: every command with its parameters, from its own help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

from pgbaton.cli._app import COMMANDS, GROUPS, app, name_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cli.md"
MARK = "<!-- The rest is written by make docs. -->\n"
LEFT_OUT = ("dsn", "as_json")


def main() -> None:
    PAGE.write_text(page(PAGE.read_text()))


def page(text: str) -> str:
    """The page with its generated part anew."""
    by_hand, _, _ = text.partition(MARK)
    return by_hand + MARK + "\n" + "\n".join(reference()).rstrip() + "\n"


def reference() -> Iterator[str]:
    for command in COMMANDS:
        yield from described(command, "pgbaton")
    for group, (about, commands) in GROUPS.items():
        yield f"### pgbaton {group}\n\n{about}\n"
        for command in commands:
            yield from described(command, f"pgbaton {group}", "####")


def described(command: Callable[..., None], program: str, level: str = "###") -> Iterator[str]:
    yield f"{level} {program} {name_of(command)}\n\n{inspect.getdoc(command)}\n"
    hints = get_type_hints(command, include_extras=True)
    names = spelled(f"{program} {name_of(command)}".split()[1:])
    rows = [
        row(names[name], parameter, hints[name])
        for name, parameter in inspect.signature(command).parameters.items()
        if name not in LEFT_OUT
    ]
    if rows:
        yield "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def row(name: str, parameter: inspect.Parameter, hint: Any) -> str:
    kind, info = get_args(hint)[:2]
    default = "" if parameter.default in (None, False, "", parameter.empty) else parameter.default
    help_text = (info.help or "").replace("|", "\\|")
    stated = f" Default {default}." if default != "" else ""
    return f"| `{name}{choices(kind)}` | {help_text}{stated} |"


def spelled(words: list[str]) -> dict[str, str]:
    """By the parameters of a command: QUEUE or [QUEUE] for an argument, all names of an option."""
    command: Any = typer.main.get_command(app)
    for word in words:
        command = command.commands[word]
    found = {}
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            name = (parameter.metavar or parameter.name).upper()
            found[parameter.name] = name if parameter.required else f"[{name}]"
        else:
            found[parameter.name] = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return found


def choices(kind: Any) -> str:
    for part in (kind, *get_args(kind)):
        if isinstance(part, type) and issubclass(part, Enum):
            return " " + " ".join(str(member.value) for member in part)
    return ""


if __name__ == "__main__":
    main()
