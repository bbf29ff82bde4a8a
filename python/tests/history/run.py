"""The free-running checker: `run.py --seconds 600 --seed 7`. Ends with 1 when a rule is broken.

The seed decides every random choice of every process (each has a generator of its own), so a run
with the same seed makes the same kind of calls in the same order per process. How the processes
meet is up to the machine: the same seed does not give the same history. To look at a failure again,
keep its history with --keep and check that.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from checker import History, broken_rules
from controller import free_run


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
    options.add_argument("--keep", type=Path, help="copy the recorded calls to this folder")
    chosen = options.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    done = free_run(chosen.seconds, chosen.seed, keep=chosen.keep)
    said = report(done.history)
    claims = len(done.history.claims)
    print(
        f"{len(done.history.calls):,} calls, {len(done.history.jobs):,} jobs, {claims:,} claimed,"
        f" crashes: {dict(done.crashes)}"
    )
    print(said or "every rule holds")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
