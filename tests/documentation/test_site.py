"""The pages as a site (mkdocs.yml), with every link leading somewhere."""

from __future__ import annotations

import io
import logging
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build

from documentation.blocks import ROOT

mkdocs_config = pytest.importorskip("mkdocs.config", reason="mkdocs is for the systems that build the site")

PLACES = ("README.md", "ARCHITECTURE.md", "docs", "packaging", "tests/lab")
LOADED = re.compile(r"<(?:script|link|img)\b[^>]*?\b(?:src|href)=\"(https?:[^\"]*|//[^\"]*)\"")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` does; a warning ends it."""
    folder = tmp_path_factory.mktemp("site")
    said = logging.StreamHandler(io.StringIO())
    logging.getLogger("mkdocs").addHandler(said)
    config = mkdocs_config.load_config(str(ROOT / "mkdocs.yml"), strict=True, site_dir=str(folder))
    try:
        build(config)
    except SystemExit:
        pytest.fail(said.stream.getvalue())
    return folder


def test_each_page_is_in_it(site: Path) -> None:
    written = {page.relative_to(ROOT).with_suffix(".html") for page in (ROOT / "docs").rglob("*.md")}
    assert {page for page in written if not (site / page).exists()} == set()
    assert (site / "index.html").exists()


def test_it_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = {page.name: LOADED.findall(page.read_text("utf-8")) for page in site.rglob("*.html")}
    assert {name: found for name, found in pages.items() if found} == {}
    styles = [page.read_text("utf-8") for page in site.rglob("*.css")]
    assert styles
    assert [style for style in styles if re.search(r"url\(['\"]?(https?:)?//|@import", style)] == []


def test_a_link_to_a_folder_leads_to_one() -> None:
    lost = []
    for page in (each for place in PLACES for each in _pages(ROOT / place)):
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in link and not (page.parent / link).exists():
                lost.append(f"{page.relative_to(ROOT)}: {link}")
    assert lost == []


def _pages(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(place.rglob("*.md"))
