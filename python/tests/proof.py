"""Figures that tests leave behind for the summary of `make proof`: see README.md here."""

from __future__ import annotations

import json
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "build" / "proof"
NEEDED = (
    "pitfalls_held",
    "pitfalls",
    "histories_checked",
    "calls_checked",
    "crashes_injected",
    "planted_faults_caught",
    "planted_faults",
    "statements_covered",
    "statements",
)


def record(name: str, **figures: int) -> None:
    """Writes build/proof/<name>.json; the same name again replaces it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps(figures) + "\n")


def totals(folder: Path = FOLDER) -> dict[str, int]:
    """Adds up figures of the same name over all files; raises if one that is needed is missing."""
    sums: dict[str, int] = {}
    for file in sorted(folder.glob("*.json")):
        for figure, value in json.loads(file.read_text()).items():
            sums[figure] = sums.get(figure, 0) + value
    if missing := [figure for figure in NEEDED if figure not in sums]:
        raise ValueError(f"no test recorded {', '.join(missing)} in {folder}")
    return sums


def summary(sums: dict[str, int]) -> str:
    """The line that `make proof` ends with."""
    coverage = 100 * sums["statements_covered"] / sums["statements"]
    return ", ".join(
        (
            f"pitfalls {sums['pitfalls_held']}/{sums['pitfalls']}",
            f"histories checked {sums['histories_checked']:,}",
            f"calls {sums['calls_checked']:,}",
            f"crashes injected {sums['crashes_injected']:,}",
            f"planted faults caught {sums['planted_faults_caught']}/{sums['planted_faults']}",
            f"coverage {coverage:.1f} %",
        )
    )


def is_whole(sums: dict[str, int]) -> bool:
    """Whether every pitfall holds and every planted fault was caught."""
    return (sums["pitfalls_held"], sums["planted_faults_caught"]) == (
        sums["pitfalls"],
        sums["planted_faults"],
    )


if __name__ == "__main__":
    try:
        found = totals()
    except ValueError as error:
        sys.exit(str(error))
    print(summary(found))
    sys.exit(0 if is_whole(found) else "a pitfall does not hold or a planted fault was missed")
