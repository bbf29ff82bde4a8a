"""Runs pgspot over everything an installation creates; part of `make lint`.

pgspot looks for what an attacker can shadow: functions without a search_path, unqualified names,
objects that might be there beforehand. Internal functions pin no search_path: nobody may execute
them, and all that call them pin it (pgtap/conventions.pg), so they are read as if they did.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SPOT = Path(sys.executable).parent / "pgspot"


def readable(path: Path) -> str:
    """The same for pgspot, whose parser takes variables of types that it does not know for scalars.

    Nor does it read the arguments of a cursor, or a call after return next.
    """
    text = path.read_text()
    text = re.sub(r"^create or replace ", "create ", text, flags=re.MULTILINE)
    text = re.sub(r"\bpgbaton\.\w+\[\]", "text[]", text)
    variable = r"^(    v_\w+(?: constant)?) pgbaton\.\w+(?=;| :=)"
    text = re.sub(variable, r"\1 record", text, flags=re.MULTILINE)
    text = re.sub(r"\bopen v_\w+\((.*?)\);", r"perform \1;", text, flags=re.DOTALL)
    text = re.sub(r"\breturn next (?=pgbaton\.)", "perform ", text)
    if "internal" in path.parts and "set search_path" not in text:
        pinned = r"\1\nset search_path = pg_catalog, pg_temp"
        text = re.sub(r"^(language \w+\b.*)$", pinned, text, count=1, flags=re.MULTILINE)
    return text


def main() -> int:
    head = (ROOT / "sql" / "wrap" / "head.sql").read_text()
    sources = [*ROOT.glob("functions/**/*.sql"), *ROOT.glob("sql/*/*.sql")]
    with tempfile.TemporaryDirectory() as folder:
        copies = []
        for path in sorted(sources):
            copies.append(Path(folder, "-".join(path.relative_to(ROOT).parts)))
            copies[-1].write_text(head + readable(path))
        done = subprocess.run([SPOT, *copies], capture_output=True, text=True, check=False)
    if done.returncode or done.stderr:
        clean = r"^\S+: *\n *\n Errors: 0 Warnings: 0 Unknown: 0 *\n *\n"
        print(re.sub(clean, "", done.stdout, flags=re.MULTILINE).replace(folder + "/", ""))
        print(done.stderr)
        return 1
    print(f"pgspot: {len(copies)} files are clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
