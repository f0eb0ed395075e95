"""Which modules the product has, and what they import that is not its own."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OWN_PACKAGES = ("agent", "service")
CARRIED = Path(__file__).parents[1] / "carried"
"""Modules that only the exe has."""
WRITTEN = frozenset({"wmcb_built", "wmcb_licenses", "wmcb_log_runner"})
"""Those that have no source but are made by the build."""


class Source(NamedTuple):
    name: str
    path: Path
    is_package: bool


def own(repository: Path) -> list[Source]:
    """Every module of the product, sorted by name."""
    files = [path for package in OWN_PACKAGES for path in (repository / package).rglob("*.py")]
    found = [_source(repository, path) for path in files]
    found += [_source(CARRIED, path) for path in CARRIED.glob("*.py")]
    return sorted(found)


def _source(root: Path, path: Path) -> Source:
    parts = list(path.relative_to(root).with_suffix("").parts)
    is_package = parts[-1] == "__init__"
    return Source(".".join(parts[:-1] if is_package else parts), path, is_package)


def imported(sources: list[Source]) -> str:
    """A program that imports whatever these do, and is itself none of them: what PyInstaller looks at.

    While it stays the same, what it finds stays the same, however often our own code changes.
    """
    own_names = {source.name.partition(".")[0] for source in sources} | WRITTEN
    wanted: set[str] = set()
    for source in sources:
        for statement in _imports(ast.parse(source.path.read_bytes(), str(source.path)).body):
            wanted.update(_as_lines(statement, own_names))
    return "\n".join(sorted(wanted)) + "\n"


def _as_lines(statement: ast.Import | ast.ImportFrom, own_names: set[str]) -> list[str]:
    if isinstance(statement, ast.Import):
        return [
            f"import {alias.name}"
            for alias in statement.names
            if alias.name.partition(".")[0] not in own_names
        ]
    if statement.level or statement.module is None or statement.module.partition(".")[0] in own_names:
        return []
    return [f"from {statement.module} import {alias.name}" for alias in statement.names]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[ast.Import | ast.ImportFrom]:
    """All import statements, also those in functions, but for the ones that only a type checker follows."""
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from _imports(node.orelse)
        else:
            yield from _imports(ast.iter_child_nodes(node))
