"""A hook of mkdocs: pages of the site that are kept elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "LICENSE": "license.md",
    "SECURITY.md": "security.md",
}


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Adds the pages of the root folder."""
    for source, name in PAGES.items():
        text = (ROOT / source).read_text("utf-8")
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

    text = text.replace("](docs/images/", "](images/")  # pictures
    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", link, text)
