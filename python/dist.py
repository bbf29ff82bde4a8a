"""Makes what a release consists of in dist/: wheel, sdist and the archive for PGXN (make dist).

Then it looks at them: twine's check, what has to be in the sdist, and that the versions are one.
With --release it refuses what only a development version may have.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
sys.path[:0] = [str(ROOT / "python" / "pgbaton"), str(ROOT / "migrations")]

import _assemble  # type: ignore[import-not-found]  # noqa: E402
import freeze  # type: ignore[import-not-found]  # noqa: E402

# What stands beside the scripts in the archive for PGXN.
PAGES = ["ARCHITECTURE.md", "CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "docs"]
# Without these nobody could run the tests from the sdist, or read its pages.
IN_THE_SDIST = [
    ".ci/run", ".sqlfluff", "Makefile", "bench/run.py", "docs/tutorial.md",
    "functions/worker/claim_job_batch.sql", "migrations/releases.txt", "mkdocs.yml",
    "pgtap/run.py", "pgtap/vendor/pgtap.sql", "python/docs/states.py", "python/make_sync.py",
    "python/tests/conftest.py", "sql/pgbaton.control",
]  # fmt: skip


def semantic(version: str) -> str:
    """As PGXN wants it: 0.1.0.dev0 is 0.1.0-dev0."""
    return re.sub(r"^(\d+\.\d+\.\d+)\.?([a-z].*)$", r"\1-\2", version)


def meta(version: str) -> str:
    text = (ROOT / "sql" / "META.json").read_text("utf-8")
    values = {
        "version": semantic(version),
        "status": "stable" if semantic(version) == version else "unstable",
        "file": f"pgbaton--{version}.sql",
    }
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    json.loads(text)
    return text


def write_pgxn(version: str) -> Path:
    """The built scripts, the plain ones too, with a Makefile that needs PGXS only."""
    name = f"pgbaton-{semantic(version)}"
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder, name)
        _assemble.write(ROOT, top)
        (top / "META.json").write_text(meta(version), "utf-8")
        shutil.copy(ROOT / "sql" / "dist.mk", top / "Makefile")
        for page in PAGES:
            source = ROOT / page
            if source.is_dir():
                shutil.copytree(source, top / page)
            else:
                shutil.copy(source, top / page)
        archive = DIST / f"{name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for file in sorted(path for path in top.rglob("*") if path.is_file()):
                packed.write(file, str(file.relative_to(folder)))
    return archive


def what_is_missing(sdist: Path) -> list[str]:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    return [name for name in IN_THE_SDIST if name not in names]


def what_is_unfinished(version: str) -> list[str]:
    """What a development version may have, and a release may not."""
    found = []
    if semantic(version) != version:
        found.append(f"sql/pgbaton.control says {version}")
    if f"## [{version}]" not in (ROOT / "CHANGELOG.md").read_text("utf-8"):
        found.append(f"CHANGELOG.md has no section [{version}]")
    released = (ROOT / "migrations" / "releases.txt").read_text("utf-8").split()
    if version not in released:
        found.append(f"{version} is not frozen: make freeze")
    elif not is_frozen_as_it_is(version):
        found.append(f"{version} was frozen with another content: make freeze")
    return found


def is_frozen_as_it_is(version: str) -> bool:
    """Whether the frozen release has the files of this tree, byte for byte."""
    with tarfile.open(freeze.ARCHIVES / f"{version}.tar.xz") as archive:
        frozen = {name: archive.extractfile(name) for name in archive.getnames()}
        kept = {name: file.read() for name, file in frozen.items() if file is not None}
    here = {name: file.read_bytes() for name, file in freeze.members().items()}
    control = "pgbaton/_sql/sql/pgbaton.control"
    here[control] = here[control].replace(f"'{version}.dev0'".encode(), f"'{version}'".encode())
    return kept == here


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--release", action="store_true", help="refuse what is unfinished")
    is_release = arguments.parse_args().release
    version = _assemble.version(ROOT)
    if is_release and (unfinished := what_is_unfinished(version)):
        print("\n".join(unfinished), file=sys.stderr)
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT)]
    subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    [sdist], [wheel] = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    archive = write_pgxn(version)
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", sdist, wheel], check=True)
    if missing := what_is_missing(sdist):
        print(f"{sdist.name} lacks {', '.join(missing)}", file=sys.stderr)
        return 1
    for path in (wheel, sdist, archive):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1024:,.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
