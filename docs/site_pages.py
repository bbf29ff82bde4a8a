"""A hook of mkdocs: pages of the site that are kept elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "LICENSE": "license.md"}
TO_COME = {"http.md"}


def on_config(config: MkDocsConfig) -> None:
    """Leaves pages that are still to come out of the navigation."""
    missing = {page for page in TO_COME if not (DOCS / page).exists()}
    config.nav = without(missing, config.nav)


def without(missing: set[str], nav: Any) -> Any:
    kept = [entry for entry in nav if not any(page in missing for page in pages(entry))]
    return [
        {title: without(missing, part) if isinstance(part, list) else part}
        for entry in kept
        for title, part in entry.items()
    ]


def pages(entry: dict[str, Any]) -> list[str]:
    return [page for page in entry.values() if isinstance(page, str)]


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages of the root folder."""
    for source, name in PAGES.items():
        text = (DOCS.parent / source).read_text("utf-8")
        files.append(File.generated(config, name, content=with_links_of_the_site(text)))


def with_links_of_the_site(text: str) -> str:
    """A page of the root folder with the links of the site; those to other files are taken out."""

    def link(match: re.Match[str]) -> str:
        label, target = match.groups()
        if target.startswith("docs/"):
            return f"[{label}]({target.removeprefix('docs/')})"
        if target in PAGES:
            return f"[{label}]({PAGES[target]})"
        return match[0] if "://" in target else label

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, text)
