"""The pgTAP runner fails when it must: files with every kind of defect, run on a real server."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from pgbaton import embedded

RUNNER = Path(__file__).resolve().parents[2] / "pgtap" / "run.py"

GOOD = "begin; select plan(1); select pass('fine'); select * from finish(); rollback;"

# name -> the file, and what its failure must say
DEFECTS = {
    "failed": ("select plan(1); select is(1, 2, 'one is two');", "have: 1"),
    "planned_more": ("select plan(2); select pass();", "planned 2 assertions, ran 1"),
    "planned_fewer": (
        "select plan(1); select pass(); select pass();",
        "planned 1 assertions, ran 2",
    ),
    "never_finished": ("select no_plan(); select pass();", "no plan, 1 assertions"),
    "no_assertion": ("select 1;", "no plan, 0 assertions"),
    "empty": ("", "no plan, 0 assertions"),
    "plan_of_none": ("\\echo 1..0", "a plan of no assertions"),
    "twice": ("\\echo 1..2\n\\echo ok 1\n\\echo ok 1", 'expected assertion 2, got "ok 1"'),
    "unnumbered": ("\\echo 1..1\n\\echo ok", 'expected assertion 1, got "ok"'),
    "two_plans": ("\\echo 1..1\n\\echo ok 1\n\\echo 1..1", "a second plan"),
    "plan_amid": ("\\echo ok 1\n\\echo 1..2\n\\echo ok 2", "the plan stands in the middle"),
    "half_skipped": ("\\echo 1..0 # SKIP no\n\\echo ok 1", "plans 0 and ran 1"),
    "bail_out": ("\\echo 1..1\n\\echo ok 1\n\\echo Bail out! no disk", "Bail out! no disk"),
    "error": ("select plan(1); select pass(); select 1/0;", "division by zero"),
    "ignored_error": (
        "\\set ON_ERROR_STOP off\nselect plan(1); select pass();\nselect 1/0;",
        "division by zero",
    ),
    "no_include": ("select plan(1); select pass();\n\\i missing.sql", "missing.sql"),
    "no_endif": ("select plan(1); select pass();\n\\if true", "psql exited with 3"),
    "disconnected": (
        "select plan(1); select pass(); select pg_terminate_backend(pg_backend_pid());",
        "terminating connection",
    ),
}


@dataclass
class Run:
    code: int
    output: str
    build: Path

    def suite(self, file: str) -> ET.Element:
        (junit,) = self.build.glob("junit/pgtap-*.xml")
        root = ET.parse(junit).getroot()  # noqa: S314 (the runner wrote it)
        (suite,) = (s for s in root if s.get("name", "").endswith("/" + file))
        return suite


class Runner:
    def __init__(self, dsn: str, folder: Path) -> None:
        self.dsn = dsn
        self.folder = folder

    def __call__(self, *options: str, **files: str) -> Run:
        source, build = self.folder / "pg", self.folder / "build"
        source.mkdir()
        for name, text in files.items():
            (source / f"{name}.pg").write_text(text, "utf-8")
        places = [str(source), "--dsn", self.dsn, "--output", str(build)]
        command = [sys.executable, str(RUNNER), *places, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return Run(done.returncode, done.stdout + done.stderr, build)


@pytest.fixture(scope="module")
def server() -> Iterator[embedded.Server]:
    with embedded.temporary_server() as running:
        yield running


@pytest.fixture
def run(server: embedded.Server, tmp_path: Path) -> Runner:
    return Runner(server.dsn(), tmp_path)


def test_a_good_file_passes(run: Runner) -> None:
    done = run(good=GOOD)
    assert done.code == 0, done.output
    assert done.output.splitlines()[-1] == "1 passed, 0 failed, 0 skipped"
    assert [case.get("name") for case in done.suite("good.pg")] == ["1 - fine"]
    (tap,) = done.build.glob("tap/*/**/good.tap")
    assert "ok 1 - fine" in tap.read_text()


def test_every_defect_fails_its_file(run: Runner) -> None:
    done = run(**{name: sql for name, (sql, _) in DEFECTS.items()}, good=GOOD)
    assert done.code == 1, done.output
    for name, (_, said) in DEFECTS.items():
        suite = done.suite(f"{name}.pg")
        problems = [*suite.iter("failure"), *suite.iter("error")]
        assert problems, f"{name} passed"
        assert said in "".join(p.text or "" for p in problems), name
        assert f"FAIL {done.build.parent}/pg/{name}.pg" in done.output
    assert [case.get("name") for case in done.suite("good.pg")] == ["1 - fine"]


@pytest.mark.parametrize("name", ["failed", "no_assertion"])
def test_one_defect_is_enough_for_exit_code_1(run: Runner, name: str) -> None:
    assert run(defect=DEFECTS[name][0], good=GOOD).code == 1


def test_a_failure_shows_its_diagnostics(run: Runner) -> None:
    done = run(fails="select plan(1); select is('ä ✓'::text, 'b', 'größer ≠ kleiner');")
    assert "not ok 1 - größer ≠ kleiner" in done.output
    assert "have: ä ✓" in done.output
    (case,) = done.suite("fails.pg")
    assert case.get("name") == "1 - größer ≠ kleiner"
    assert "have: ä ✓" in (case.findtext("failure") or "")


def test_todo_and_skip_are_no_failures(run: Runner) -> None:
    done = run(
        todo="select plan(2); select * from todo('later', 1); select fail(); select pass();",
        skip="select plan(2); select skip('no such server', 1); select pass();",
        skip_all="\\echo 1..0 # SKIP not here",
    )
    assert done.code == 0, done.output
    assert done.output.splitlines()[-1] == "2 passed, 0 failed, 2 skipped, 1 todo"
    reasons = [
        s.get("message")
        for f in ("todo.pg", "skip.pg", "skip_all.pg")
        for s in done.suite(f).iter("skipped")
    ]
    assert reasons == ["todo: later", "skipped: no such server", "not here"]


def test_meta_commands_variables_and_commits_work(run: Runner) -> None:
    done = run(
        meta="\\set n 2\nselect plan(:n); select is(:n, 2);\n"
        "create procedure p() language plpgsql as $$ begin commit; end $$;\n"
        "call p();\nselect isnt(:'audiences'::text, '');"
    )
    assert done.code == 0, done.output


def test_files_do_not_see_each_other(run: Runner) -> None:
    sql = "select plan(1); create table public.mark (); select pass();"
    done = run("-j", "2", a=sql, b=sql, c=sql)
    assert done.code == 0, done.output


def test_a_file_that_hangs_is_stopped(run: Runner) -> None:
    done = run("--timeout", "1", hangs="select plan(1); select pass(); select pg_sleep(60);")
    assert done.code == 1
    assert "still running after 1 s" in done.output


def test_the_pattern_chooses_files(run: Runner) -> None:
    done = run("-k", "go+d", "--verbose", good=GOOD, bad="select 1/0;")
    assert done.code == 0, done.output
    assert "ok 1 - fine" in done.output


def test_no_test_is_told_apart_from_success(run: Runner) -> None:
    assert run("-k", "nosuchfile", good=GOOD).code == 2


def test_only_skipped_is_no_test(run: Runner) -> None:
    assert run(skip="select plan(1); select skip('because', 1);").code == 2


def test_no_database_is_left(run: Runner, server: embedded.Server) -> None:
    run(good=GOOD, bad="select 1/0;")
    psql = [str(server.bindir / "psql"), "-XAtc", "select datname from pg_database", server.dsn()]
    left = subprocess.run(psql, capture_output=True, text=True, check=True).stdout.split()
    assert sorted(left) == ["postgres", "template0", "template1"]
