#!/usr/bin/env python3
"""Statement coverage of every PL/pgSQL function by the tests: `make coverage`.

    pgtap/coverage.py [--bindir DIR] [-j N]

The profiler of plpgsql_check counts; its counts survive the rollback at the end of a test file.
It needs a server that has plpgsql_check (Debian: postgresql-15-plpgsql-check).

Runs all pgTAP files and prints each function and the total; then the Python tests with several
sessions, in python/tests/races and python/tests/security, and prints each statement that neither
ran. `uncovered.txt` says why a statement may: function # first line of the statement # reason. Of
equal lines in a function the second one ends in (2), and so on. Exit code 1 if a pgTAP test fails,
such a statement has no reason, pgTAP runs one that has, or pgTAP alone runs less than 95 %.
Functions of LANGUAGE sql are one statement each and are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import run

from pgbaton import embedded

sys.path.append(str(run.ROOT / "python" / "tests"))
import profiled

REASONS = run.PGTAP / "uncovered.txt"
FIGURES = run.ROOT / "build" / "proof" / "coverage.json"
WANTED = 95.0
# As psql prints it, and counted from zero for the next file.
STATEMENTS = f"""
select coalesce(jsonb_agg(jsonb_build_array(r.name, r.stmtid, r.line, r.exec_stmts)), '[]')
from ({profiled.STATEMENTS}) as r;
{profiled.RESET} \\g /dev/null
"""  # noqa: S608
# Tests with several sessions, and with roles and clocks that no pgTAP file has.
SEVERAL_SESSIONS = ("python/tests/races", "python/tests/security")
# It counts blocks, and the profiler reads some.
LEFT_OUT = "python/tests/races/test_sleeper_cost.py::test_what_fifty_sleepers_cost"


@dataclass(frozen=True, order=True)
class Statement:
    function: str
    number: int
    line: str


class Counts:
    """How often each statement ran, added up over the databases of the test files."""

    def __init__(self) -> None:
        self.runs: Counter[Statement] = Counter()
        self._lock = Lock()

    def look(self, target: run.Target, database: str) -> None:
        self.add(json.loads(target.query(database, STATEMENTS)))

    def add(self, rows: list[tuple[str, int, str, int]]) -> None:
        """Adds what one database counted."""
        seen: Counter[tuple[str, str]] = Counter()
        with self._lock:
            for function, number, line, runs in sorted(rows):
                text = line.strip()
                seen[function, text] += 1
                if seen[function, text] > 1:
                    text += f" ({seen[function, text]})"
                self.runs[Statement(function, number, text)] += runs

    def covered(self) -> int:
        return sum(runs > 0 for runs in self.runs.values())

    def percent(self) -> float:
        return 100 * self.covered() / len(self.runs)

    def __str__(self) -> str:
        return f"{self.covered()}/{len(self.runs)} statements"

    def uncovered(self) -> list[Statement]:
        return sorted(s for s, runs in self.runs.items() if runs == 0)


def find_bindir() -> embedded.Bindir:
    for bindir in embedded.find_bindirs():
        config = bindir.path / "pg_config"
        libraries = [bindir.path.parent / "lib", bindir.path.parent / "lib" / "postgresql"]
        if config.exists() and any((folder / "plpgsql_check.so").exists() for folder in libraries):
            return bindir
    sys.exit("no server with plpgsql_check: apt-get install postgresql-15-plpgsql-check")


def count_several_sessions(bindir: embedded.Bindir, jobs: int, counts: Counts) -> None:
    """Runs the tests of SEVERAL_SESSIONS under the profiler.

    It costs time and reads, so a test that bounds those may fail here: `make test-python` judges.
    """
    with tempfile.TemporaryDirectory(prefix="pgbaton-profile-") as folder:
        surroundings = {
            **os.environ,
            "PGBATON_TEST_DB": "embedded",
            "PGBATON_PG_BINDIR": str(bindir.path),
            "PGBATON_PROFILE": folder,
        }
        options = ["-m", "not proof", "-q", "-n", str(jobs), "--dist", "loadfile"]
        options += ["--deselect", LEFT_OUT]
        command = [sys.executable, "-m", "pytest", *SEVERAL_SESSIONS, *options]
        subprocess.run(command, cwd=run.ROOT, env=surroundings, check=False)
        for file in Path(folder).iterdir():
            counts.add(json.loads(file.read_text("utf-8")))


def read_reasons(path: Path) -> dict[tuple[str, str], str]:
    reasons: dict[tuple[str, str], str] = {}
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            parts = [part.strip() for part in line.split(" # ")]
            if len(parts) != 3 or not all(parts):
                raise ValueError(f"{path.name}: not function # statement # reason: {line}")
            reasons[parts[0], parts[1]] = parts[2]
    return reasons


def report(counts: Counts) -> float:
    """Prints the functions and the total, and returns the total in percent."""
    by_function: defaultdict[str, list[bool]] = defaultdict(list)
    for statement, runs in counts.runs.items():
        by_function[statement.function].append(runs > 0)
    for function, ran in sorted(by_function.items()):
        print(f"{100 * sum(ran) / len(ran):6.1f} %  {sum(ran):3}/{len(ran):<3}  {function}")
    print(f"{counts.percent():6.1f} %  {counts} of {len(by_function)} functions")
    return counts.percent()


def note_figures(counts: Counts) -> None:
    """For the summary of `make proof`."""
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    figures = {"statements": len(counts.runs), "statements_covered": counts.covered()}
    FIGURES.write_text(json.dumps(figures) + "\n")


def judge(
    uncovered: list[Statement], not_in_pgtap: list[Statement], reasons: dict[tuple[str, str], str]
) -> list[str]:
    """Prints each uncovered statement with its reason; returns what is wrong with the reasons.

    What several sessions run may depend on how they meet: a reason is stale if pgTAP runs it.
    """
    found = {(s.function, s.line) for s in uncovered}
    for function, line in sorted(found):
        print(f"never ran: {function}: {line} ({reasons.get((function, line), 'NO REASON')})")
    missing = sorted(found - reasons.keys())
    stale = sorted(reasons.keys() - {(s.function, s.line) for s in not_in_pgtap})
    return [
        *(f"no reason in {REASONS.name}: {function} # {line}" for function, line in missing),
        *(f"stale in {REASONS.name}: {function} # {line}" for function, line in stale),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bindir", type=Path, help="server programs that come with plpgsql_check")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 2)
    asked = parser.parse_args()
    bindir = embedded.use_bindir(asked.bindir) if asked.bindir else find_bindir()

    args = run.parse_args(["-j", str(asked.jobs), "--timeout", "600"])
    args.facts = run.facts()
    counts = Counts()
    with run.throw_away(bindir, profiled.SETTINGS) as target:
        results = run.run_target(target, run.collect([run.PGTAP], ""), args, counts.look)
    for result in results:
        run.report(result, verbose=False)
    percent = report(counts)
    not_in_pgtap = counts.uncovered()
    count_several_sessions(bindir, asked.jobs, counts)
    print(f"{counts.percent():6.1f} %  {counts} with the tests of several sessions")
    note_figures(counts)
    problems = judge(counts.uncovered(), not_in_pgtap, read_reasons(REASONS))
    if any(result.count("failed") for result in results):
        problems.append("a test failed")
    if percent < WANTED:
        problems.append(f"{percent:.1f} % in pgTAP is below {WANTED:g} %")
    print(*problems, sep="\n", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
