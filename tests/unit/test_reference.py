"""docs/reference, which is written out of the code."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "reference.py"))["pages"]()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_what_the_code_says(name: str) -> None:
    """`.venv/bin/python docs/reference.py` writes it anew."""
    assert (DOCS / "reference" / name).read_text("utf-8") == PAGES[name]


def test_no_page_is_left_over() -> None:
    assert sorted(path.name for path in (DOCS / "reference").iterdir()) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_everything_is_explained(name: str) -> None:
    rows = [line for line in PAGES[name].splitlines() if line.startswith("| ") and "---" not in line]
    assert rows
    assert [row for row in rows if row.rstrip(" |").endswith("|") or "|  |" in row] == []
