"""Where imports stand, as CONTRIBUTING.md has it: ruff checks that they do, this why some do not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_EXEMPT = re.compile(r"# noqa: PLC0415 - (\S.*)$")


def _unexplained(source: str) -> Iterator[int]:
    """Yield the lines of imports within functions whose exemption gives no reason."""
    lines = source.splitlines()
    functions = (
        each
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    )
    inside = {
        node.lineno
        for function in functions
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    yield from (line for line in sorted(inside) if not _EXEMPT.search(lines[line - 1]))


def test_an_import_within_a_function_gives_its_reason() -> None:
    unexplained = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("agent", "service")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line in _unexplained(path.read_text(encoding="utf-8"))
    ]
    assert unexplained == []


EXEMPTIONS = {
    "none": ("", [2]),
    "for another rule": ("  # noqa: PLC0414 - a name of its own", [2]),
    "for every rule": ("  # noqa", [2]),
    "no reason": ("  # noqa: PLC0415", [2]),
    "an empty reason": ("  # noqa: PLC0415 - ", [2]),
    "a reason": ("  # noqa: PLC0415 - ssl, 5.4 MB of the resident service", []),
}


@pytest.mark.parametrize(("exemption", "found"), EXEMPTIONS.values(), ids=EXEMPTIONS)
def test_only_a_reason_excuses_one(exemption: str, found: list[int]) -> None:
    assert list(_unexplained(f"def function():\n    import ssl{exemption}\n")) == found
