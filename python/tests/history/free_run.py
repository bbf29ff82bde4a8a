"""The free-running checker: `free_run.py --seconds 600 --seed 7`. Ends with 1 if a rule is broken.

The seed decides every random choice of every process (each has a generator of its own). What comes
of the choices depends on the answers, and on how the processes meet: the same seed gives a similar
run, not the same history. So keep the history of a failure with --keep; --check looks at it again.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from checker import History, broken_rules
from controller import free_run, kept_history


def report(history: History) -> str:
    lines = []
    for rule, where in broken_rules(history).items():
        lines.append(f"BROKEN {rule}: {len(where)} times")
        lines += [f"    {text}" for text in where[:10]]
    return "\n".join(lines)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60, help="how long producers run")
    options.add_argument("--seed", type=int, default=random.randrange(10**6))
    options.add_argument("--level", help="the isolation level of all transactions")
    options.add_argument("--keep", type=Path, help="copy the history to this folder")
    options.add_argument("--check", type=Path, help="run nothing, check the history of a folder")
    chosen = options.parse_args()
    if chosen.check:
        return say(kept_history(chosen.check))
    print(f"seed {chosen.seed}", flush=True)
    done = free_run(chosen.seconds, chosen.seed, level=chosen.level, keep=chosen.keep)
    print(f"crashes: {dict(done.crashes)}")
    print(done.deadlocks, end="")
    return say(done.history)


def say(history: History) -> int:
    said = report(history)
    print(
        f"{len(history.calls):,} calls, {len(history.jobs):,} jobs, {len(history.claims):,} claimed"
    )
    print(said or "every rule holds")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
