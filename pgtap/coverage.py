#!/usr/bin/env python3
"""Statement coverage of every PL/pgSQL function over the whole pgTAP run: `make coverage`.

    pgtap/coverage.py [--bindir DIR] [-j N]

The profiler of plpgsql_check counts; its counts survive the rollback at the end of a test file.
It needs a server that has plpgsql_check (Debian: postgresql-15-plpgsql-check).

Prints each function, each statement that never ran, and the total. `uncovered.txt` says why a
statement may stay uncovered: function # first line of the statement # reason. Of equal lines in a
function the second one ends in (2), and so on. Exit code 1 if a test fails, a statement has no
reason, a reason has no statement, or the total is below 95 %.
Functions of LANGUAGE sql are one statement each and are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import run

from pgbaton import embedded

REASONS = run.PGTAP / "uncovered.txt"
FIGURES = run.ROOT / "build" / "proof" / "coverage.json"
WANTED = 95.0
PROFILER = {
    "shared_preload_libraries": "plpgsql,plpgsql_check",
    "plpgsql_check.profiler": "on",
}
# Without blocks, which run nothing themselves, and the return that each function ends with unsaid.
STATEMENTS = """
select coalesce(
    jsonb_agg(jsonb_build_array(f.name, s.stmtid, f.lines[s.lineno], s.exec_stmts)), '[]'
)
from (
    select p.oid, p.proname as name, string_to_array(p.prosrc, E'\\n') as lines
    from pg_proc as p inner join pg_language as l on l.oid = p.prolang
    where p.pronamespace = 'pgbaton'::regnamespace and l.lanname = 'plpgsql'
) as f
cross join lateral tap.plpgsql_profiler_function_statements_tb(f.oid) as s
where s.stmtname <> 'statement block' and s.lineno > 0;
select tap.plpgsql_profiler_reset(p.oid) from pg_proc as p
where p.pronamespace = 'pgbaton'::regnamespace and p.prolang = (
    select oid from pg_language where lanname = 'plpgsql'
) \\g /dev/null
"""


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
        rows = json.loads(target.query(database, STATEMENTS))
        seen: Counter[tuple[str, str]] = Counter()
        with self._lock:
            for function, number, line, runs in sorted(rows):
                text = line.strip()
                seen[function, text] += 1
                if seen[function, text] > 1:
                    text += f" ({seen[function, text]})"
                self.runs[Statement(function, number, text)] += runs

    def uncovered(self) -> list[Statement]:
        return sorted(s for s, runs in self.runs.items() if runs == 0)


def find_bindir() -> embedded.Bindir:
    for bindir in embedded.find_bindirs():
        config = bindir.path / "pg_config"
        libraries = [bindir.path.parent / "lib", bindir.path.parent / "lib" / "postgresql"]
        if config.exists() and any((folder / "plpgsql_check.so").exists() for folder in libraries):
            return bindir
    sys.exit("no server with plpgsql_check: apt-get install postgresql-15-plpgsql-check")


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
    covered = sum(runs > 0 for runs in counts.runs.values())
    total = len(counts.runs)
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps({"statements": total, "statements_covered": covered}) + "\n")
    percent = 100 * covered / total
    print(f"{percent:6.1f} %  {covered}/{total} statements of {len(by_function)} functions")
    return percent


def judge(uncovered: list[Statement], reasons: dict[tuple[str, str], str]) -> list[str]:
    """Prints each uncovered statement with its reason; returns what is wrong with the reasons."""
    found = {(s.function, s.line) for s in uncovered}
    for function, line in sorted(found):
        print(f"never ran: {function}: {line} ({reasons.get((function, line), 'NO REASON')})")
    missing = sorted(found - reasons.keys())
    stale = sorted(reasons.keys() - found)
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
    with run.throw_away(bindir, PROFILER) as target:
        results = run.run_target(target, run.collect([run.PGTAP], ""), args, counts.look)
    for result in results:
        run.report(result, verbose=False)
    percent = report(counts)
    problems = judge(counts.uncovered(), read_reasons(REASONS))
    if any(result.count("failed") for result in results):
        problems.append("a test failed")
    if percent < WANTED:
        problems.append(f"{percent:.1f} % is below {WANTED:g} %")
    print(*problems, sep="\n", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
