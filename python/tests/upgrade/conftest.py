"""A server that finds the extension in a folder of ours, with databases in both routes."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import frozen
import pytest
from routes import ExtensionServer, Upgrade

from pgbaton import _assemble, embedded


@pytest.fixture(scope="session")
def extension_server() -> Iterator[ExtensionServer]:
    bindir = next((b for b in embedded.find_bindirs() if b.major >= 18), None)
    assert bindir, "needs PostgreSQL 18, which can load an extension from any folder"
    folder = Path(tempfile.mkdtemp(prefix="/tmp/pgbaton-extension-"))
    folder.chmod(0o755)
    settings = {"extension_control_path": f"$system:{folder}"}
    try:
        with embedded.temporary_server(bindir, settings) as server:
            yield ExtensionServer(server, folder)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def scripts_between(
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str, bool], tuple[Path, Path]]:
    """Makes the scripts of a release and of what comes after it; returns them and its sources."""

    def make(release: str, is_next: bool) -> tuple[Path, Path]:
        home = tmp_path_factory.mktemp("upgrade")
        package = frozen.unpack(release, home / "old")
        scripts = frozen.scripts_of(package, home / "scripts")
        (scripts / "install.sql").rename(scripts / f"install-{release}.sql")
        tree = frozen.CHECKOUT
        if is_next:
            tree = frozen.next_version_of(release, package, home / "next")
        _assemble.write(tree, scripts)
        (scripts / "install.sql").rename(scripts / f"install-{_assemble.version(tree)}.sql")
        return scripts, tree

    return make


def upgrades() -> list[tuple[str, bool]]:
    """Each release to a version made of it; each earlier one also to the checkout."""
    earlier = _assemble.earlier_releases(frozen.CHECKOUT)
    return [(release, True) for release in frozen.RELEASES] + [(r, False) for r in earlier]


def upgrade_name(one: tuple[str, bool]) -> str:
    return f"{one[0]} to {'a next version' if one[1] else 'the checkout'}"


@pytest.fixture(scope="module", params=upgrades(), ids=upgrade_name)
def between(
    request: pytest.FixtureRequest, scripts_between: Callable[[str, bool], tuple[Path, Path]]
) -> tuple[str, Path, Path]:
    release, is_next = request.param
    return (release, *scripts_between(release, is_next))


@pytest.fixture(params=["plain", "extension"])
def route(
    request: pytest.FixtureRequest,
    extension_server: ExtensionServer,
    between: tuple[str, Path, Path],
) -> Upgrade:
    release, scripts, tree = between
    extension_server.provide(scripts)
    return Upgrade(extension_server, request.param == "extension", release, scripts, tree)
