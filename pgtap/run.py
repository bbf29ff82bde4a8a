#!/usr/bin/env python3
"""Runs the pgTAP files of pgbaton on one or several PostgreSQL majors.

    pgtap/run.py                            every pgtap/**/*.pg on every major found here
    pgtap/run.py pgtap/functions -k claim   files of that folder whose path matches "claim"
    pgtap/run.py --bindir /usr/lib/postgresql/15/bin
    pgtap/run.py --dsn postgresql:///postgres
                                            a server of your own, as a role that may create
                                            databases and roles

Per server, pgTAP and the assembled install.sql are loaded once into a template database, and every
file gets a fresh copy of it. A file fails on a failed assertion that is not TODO, a missing or
wrong plan, no assertion at all, a number out of sequence, a bail-out, any SQL error, a psql exit
code other than 0, or a timeout. Exit code: 0 all passed, 1 something failed, 2 no test ran.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit, urlunsplit

PGTAP = Path(__file__).resolve().parent
ROOT = PGTAP.parent
sys.path.insert(0, str(ROOT / "python"))

from pgbaton import _assemble, embedded  # noqa: E402

PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*skip\S*\s*(.*))?", re.IGNORECASE)
ASSERTION = re.compile(r"(ok|not ok)\b(?:\s+(\d+))?(?:\s+-)?\s*(.*)")
DIRECTIVE = re.compile(r"(?:^|\s)#\s*(todo|skip)\S*\s*(.*)$", re.IGNORECASE)
SQL_ERROR = re.compile(r"\b(ERROR|FATAL|PANIC):")


@dataclass
class Assertion:
    number: int
    ok: bool
    description: str
    directive: str = ""
    reason: str = ""
    diagnostics: list[str] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        if self.directive == "skip":
            return "skipped"
        if self.directive == "todo":
            return "todo"
        return "passed" if self.ok else "failed"


@dataclass
class Result:
    """What one file said; `problems` are the failures that belong to no single assertion."""

    name: str
    assertions: list[Assertion] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    skip_all: str = ""
    seconds: float = 0.0
    stdout: str = ""
    stderr: str = ""

    def count(self, outcome: str) -> int:
        own = sum(a.outcome == outcome for a in self.assertions)
        if outcome == "failed":
            own += len(self.problems)
        if outcome == "skipped" and self.skip_all:
            own += 1
        return own


def parse_tap(name: str, stdout: str, stderr: str = "", exit_code: int = 0) -> Result:
    result = Result(name, stdout=stdout, stderr=stderr)
    problems = result.problems
    planned: int | None = None
    for line in stdout.splitlines():
        if match := PLAN.fullmatch(line):
            if planned is not None:
                problems.append(f"a second plan: {line}")
            planned, planned_after = int(match[1]), len(result.assertions)
            result.skip_all = (match[2] or "no reason given") if "#" in line else ""
        elif match := ASSERTION.fullmatch(line):
            verdict, number, text = match.groups()
            due = len(result.assertions) + 1
            if number is None or int(number) != due:
                problems.append(f'expected assertion {due}, got "{line}"')
            directive = DIRECTIVE.search(text)
            result.assertions.append(
                Assertion(
                    due,
                    verdict == "ok",
                    text[: directive.start()].strip() if directive else text,
                    directive[1].lower() if directive else "",
                    directive[2] if directive else "",
                )
            )
        elif line.startswith("Bail out!"):
            problems.append(line)
        elif line.startswith("#") and result.assertions:
            result.assertions[-1].diagnostics.append(line)

    ran = len(result.assertions)
    if exit_code != 0:
        problems.append(f"psql exited with {exit_code}\n{stderr.strip()}".strip())
    elif SQL_ERROR.search(stderr):
        problems.append(f"SQL error\n{stderr.strip()}")
    if planned is None:
        problems.append(f"no plan, {ran} assertions")
    elif result.skip_all and (planned or ran):
        problems.append(f"a skipped file that plans {planned} and ran {ran} assertions")
    elif not result.skip_all and planned == 0:
        problems.append("a plan of no assertions")
    elif planned != ran:
        problems.append(f"planned {planned} assertions, ran {ran}")
    elif planned_after not in (0, ran):
        problems.append("the plan stands in the middle")
    return result


@dataclass
class Target:
    """A server to test on, and how to reach its databases."""

    psql: str
    dsn: str
    label: str
    database_strategy: str = ""

    def dsn_of(self, database: str) -> str:
        if re.match(r"postgres(ql)?://", self.dsn):
            parts = urlsplit(self.dsn)
            return urlunsplit(parts._replace(path=f"/{database}"))
        return f"{self.dsn} dbname={database}"

    def run(
        self, database: str, *args: str, stdin: str | None = None, timeout: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        settings = "-c search_path=tap,public -c client_min_messages=warning -c timezone=UTC"
        return subprocess.run(
            [self.psql, "-XqAt", "-v", "ON_ERROR_STOP=1", *args, "-d", self.dsn_of(database)],
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            env={**os.environ, "PGOPTIONS": settings, "PGCLIENTENCODING": "UTF8"},
        )

    def query(self, database: str, sql: str) -> str:
        done = self.run(database, "-f", "-", stdin=sql)
        if done.returncode != 0:
            raise RuntimeError(f"{self.label}: {done.stderr.strip()}")
        return done.stdout.strip()


def facts() -> dict[str, str]:
    """What the repository says and the catalog does not, for conventions.pg."""
    functions = _assemble.function_files(ROOT)
    errors = ROOT / "docs" / "errors.md"
    documented = errors.read_text("utf-8") if errors.exists() else ""
    return {
        "audiences": ",".join(f"{_assemble.audience_of(f)}/{f.stem}" for f in functions),
        "documented_codes": ",".join(sorted(set(re.findall(r"\bPB\d{3}\b", documented)))),
    }


def make_template(target: Target, template: str) -> None:
    target.query("postgres", f"create database {template}")
    target.query(
        template,
        "begin; create schema tap; grant usage on schema tap to public;\n"
        + (PGTAP / "vendor" / "pgtap.sql").read_text("utf-8")
        + "commit;\n",
    )
    target.query(template, "begin;\n" + _assemble.statements(ROOT) + "commit;\n")
    target.query(
        template,
        """select exists (select from pg_available_extensions where name = 'plpgsql_check')
              and current_setting('is_superuser')::boolean as has_check \\gset
           \\if :has_check
             create extension plpgsql_check schema tap;
           \\endif""",
    )


def run_file(
    target: Target,
    path: Path,
    database: str,
    template: str,
    args: Options,
    look: Callable[[Target, str], None] | None = None,
) -> Result:
    name = display_name(path)
    started = time.monotonic()
    target.query(
        "postgres", f"create database {database} template {template} {target.database_strategy}"
    )
    variables = [f"{key}={value}" for key, value in args.facts.items()]
    flags = [part for variable in variables for part in ("-v", variable)]
    try:
        done = target.run(database, *flags, "-f", str(path), timeout=args.timeout)
        result = parse_tap(name, done.stdout, done.stderr, done.returncode)
    except subprocess.TimeoutExpired as expired:
        partial = expired.stdout or b""
        text = partial.decode("utf-8", "replace") if isinstance(partial, bytes) else partial
        result = parse_tap(name, text)
        result.problems.append(f"still running after {args.timeout:g} s")
    if look:
        look(target, database)
    target.query("postgres", f"drop database {database} with (force)")
    result.seconds = time.monotonic() - started
    return result


def display_name(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def run_target(
    target: Target,
    files: list[Path],
    args: Options,
    look: Callable[[Target, str], None] | None = None,
) -> list[Result]:
    """Runs the files; `look` gets the server and the database of each before it is dropped."""
    prefix = f"pgbaton_tap_{os.getpid()}"
    template = f"{prefix}_template"
    try:
        make_template(target, template)
        with ThreadPoolExecutor(args.jobs) as pool:
            futures = [
                pool.submit(run_file, target, path, f"{prefix}_{n}", template, args, look)
                for n, path in enumerate(files)
            ]
            return [future.result() for future in futures]
    finally:
        target.query("postgres", f"drop database if exists {template}")


@contextmanager
def throw_away(
    bindir: embedded.Bindir, settings: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Target]:
    # Statistics change only when a test says analyze.
    with embedded.temporary_server(bindir, {"autovacuum": "off", **settings}) as server:
        label = str(bindir.path)
        yield Target(str(bindir.path / "psql"), server.dsn(), label, "strategy file_copy")


def any_psql() -> str:
    """One beside a server that was found: Debian's psql may be a wrapper without a client."""
    found = [bindir.path / "psql" for bindir in embedded.find_bindirs()]
    return next((str(psql) for psql in found if psql.exists()), "psql")


def servers(args: Options) -> list[AbstractContextManager[Target]]:
    if args.dsn:
        return [nullcontext(Target(any_psql(), args.dsn, "--dsn"))]
    bindirs = [embedded.use_bindir(path) for path in args.bindir]
    if not bindirs:
        first_of_major = {b.major: b for b in reversed(embedded.find_bindirs())}
        bindirs = [first_of_major[major] for major in sorted(first_of_major)]
    if not bindirs:
        bindirs = [embedded.default_bindir()]  # says what to install
    return [throw_away(bindir) for bindir in bindirs]


def write_tap(results: list[Result], folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for result in results:
        path = (folder / result.name.removeprefix("pgtap/").lstrip("/")).with_suffix(".tap")
        path.parent.mkdir(parents=True, exist_ok=True)
        notes = "".join(f"# stderr: {line}\n" for line in result.stderr.splitlines())
        path.write_text(result.stdout + notes, "utf-8")


def write_junit(results: list[Result], path: Path) -> None:
    def text(value: str) -> str:
        return re.sub(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "?", value)

    suites = ET.Element("testsuites")
    for result in results:
        suite = ET.SubElement(
            suites,
            "testsuite",
            name=result.name,
            tests=str(len(result.assertions) + len(result.problems) + bool(result.skip_all)),
            failures=str(sum(a.outcome == "failed" for a in result.assertions)),
            errors=str(len(result.problems)),
            skipped=str(result.count("skipped") + result.count("todo")),
            time=f"{result.seconds:.3f}",
        )

        def case(name: str, suite: ET.Element = suite, of: Result = result) -> ET.Element:
            return ET.SubElement(suite, "testcase", classname=of.name, name=text(name))

        for a in result.assertions:
            element = case(f"{a.number} - {a.description}")
            if a.outcome == "failed":
                ET.SubElement(element, "failure").text = text("\n".join(a.diagnostics))
            elif a.outcome != "passed":
                ET.SubElement(element, "skipped", message=text(f"{a.outcome}: {a.reason}"))
        if result.skip_all:
            ET.SubElement(case("file"), "skipped", message=text(result.skip_all))
        for problem in result.problems:
            ET.SubElement(case("file"), "error").text = text(problem)
    path.parent.mkdir(parents=True, exist_ok=True)
    ET.ElementTree(suites).write(path, "utf-8", xml_declaration=True)


def totals(results: list[Result]) -> str:
    counts = {o: sum(r.count(o) for r in results) for o in ("passed", "failed", "skipped", "todo")}
    line = "{passed} passed, {failed} failed, {skipped} skipped".format(**counts)
    return line + (f", {counts['todo']} todo" if counts["todo"] else "")


def report(result: Result, verbose: bool) -> None:
    failed = result.count("failed") > 0
    if failed or verbose:
        print(f"{'FAIL' if failed else 'ok  '} {result.name} ({result.seconds:.2f} s)")
    for a in result.assertions:
        if a.outcome == "failed" or verbose:
            directive = f" # {a.directive.upper()} {a.reason}" if a.directive else ""
            print(f"  {'ok' if a.ok else 'not ok'} {a.number} - {a.description}{directive}")
        if a.outcome == "failed":
            print(*(f"    {line}" for line in a.diagnostics), sep="\n")
    for problem in result.problems:
        print("  " + problem.replace("\n", "\n    "))
    if result.skip_all and verbose:
        print(f"  skipped: {result.skip_all}")
    if verbose and result.stderr and not result.problems:
        print("  stderr: " + result.stderr.strip().replace("\n", "\n    "))


class Options(argparse.Namespace):
    paths: list[Path]
    bindir: list[Path]
    dsn: str | None
    jobs: int
    k: str
    timeout: float
    output: Path
    verbose: bool
    facts: dict[str, str]


def parse_args(argv: list[str] | None) -> Options:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[PGTAP], help="files or folders")
    parser.add_argument("--bindir", action="append", type=Path, default=[], help="repeatable")
    parser.add_argument("--dsn", help="an existing server instead of throw-away ones")
    parser.add_argument("-j", dest="jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("-k", default="", metavar="PATTERN", help="regular expression on the path")
    parser.add_argument("--timeout", type=float, default=120, help="seconds per file")
    parser.add_argument("--output", type=Path, default=ROOT / "build")
    parser.add_argument("--verbose", action="store_true", help="every assertion")
    args = parser.parse_args(argv, Options())
    if args.dsn and args.bindir:
        parser.error("--dsn and --bindir exclude each other")
    for path in args.paths:
        if not path.exists():
            parser.error(f"no such file or folder: {path}")
    return args


def collect(paths: list[Path], pattern: str) -> list[Path]:
    found: set[Path] = set()
    for path in (p.resolve() for p in paths):
        found.update(path.rglob("*.pg") if path.is_dir() else [path])
    return sorted(p for p in found if re.search(pattern, display_name(p)))


def main(argv: list[str] | None = None) -> int:
    args = parse_args(argv)
    args.facts = facts()
    files = collect(args.paths, args.k)
    everything: list[Result] = []
    for server in servers(args) if files else []:
        started = time.monotonic()
        with server as target:
            version = target.query("postgres", "show server_version").split()[0]
            major = version.split(".")[0]
            results = run_target(target, files, args)
        took = time.monotonic() - started
        everything += results
        write_tap(results, args.output / "tap" / major)
        write_junit(results, args.output / "junit" / f"pgtap-{major}.xml")
        for result in results:
            report(result, args.verbose)
        where = f"PostgreSQL {version} ({target.label})"
        print(f"{where}: files: {len(files)}, {totals(results)}, {took:.1f} s")
    print(totals(everything))
    if any(r.count("failed") for r in everything):
        return 1
    return 0 if any(r.count("passed") for r in everything) else 2


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (RuntimeError, _assemble.SourceError) as error:
        sys.exit(str(error))
