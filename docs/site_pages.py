"""Which files become the site: a hook of mkdocs' (mkdocs.yml).

Pages lead to others by their places in the repository, README to docs and docs to packaging, and so they do
in the site. What is linked to and no page, as a manifest, comes along.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
PLACES = (*PAGES, "docs", "packaging", "tests/lab")
SHOWN = {".md", ".svg", ".yaml", ".json", ".conf", ".cmd", ".env"}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    of_the_theme = [file for file in files if file.src_dir != config.docs_dir]
    pages = [File(path, str(ROOT), config.site_dir, use_directory_urls=False) for path in _paths()]
    return Files([*of_the_theme, *pages])


def _paths() -> Iterator[str]:
    for place in PLACES:
        found = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*"))
        yield from (each.relative_to(ROOT).as_posix() for each in found if each.suffix in SHOWN)
