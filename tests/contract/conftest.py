"""Chooses the world by the platform, and tells at the end what Wine could not show."""

from __future__ import annotations

import pathlib
import sys
from collections import Counter
from collections.abc import Iterator

import pytest

from contract.world import World, runs_under_wine

if sys.platform == "win32":
    from contract.windows_world import open_world
else:
    from contract.sandbox_world import open_world

HERE = pathlib.Path(__file__).parent
_cases: list[pytest.Item] = []


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[World]:
    with open_world(tmp_path) as opened:
        yield opened


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    _cases[:] = [item for item in items if HERE in item.path.parents]
    if not runs_under_wine():
        return
    for item in _cases:
        for mark in item.iter_markers("wine_cannot"):
            if not mark.kwargs.get("weaker"):
                item.add_marker(pytest.mark.skip(reason=f"not shown under Wine: {mark.args[0]}"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _cases:
        return
    terminalreporter.section("contract")
    not_shown = Counter(
        (item.nodeid.split("/")[-1].split("[")[0], _extent(mark), mark.args[0])
        for item in _cases
        for mark in item.iter_markers("wine_cannot")
    )
    terminalreporter.write_line(
        f"{len(_cases)} cases; {not_shown.total()} of them Wine cannot show in full, but Windows can:"
    )
    for (case, extent, why), number in not_shown.items():
        times = f" ({number} cases)" if number > 1 else ""
        terminalreporter.write_line(f"  {case}{times}: {extent}: {why}")


def _extent(mark: pytest.Mark) -> str:
    return "shows less" if mark.kwargs.get("weaker") else "not shown"
