"""actionlint, which knows what public CI takes for a workflow: built from the Go module proxy at one release.

actionlint-module/ requires it, with the hash of every module that goes in; `go mod tidy` has written it.
"""

from __future__ import annotations

from pathlib import Path

from lab import cache, toolchains
from lab.repository import LOCKS

MODULE = Path(__file__).with_name("actionlint-module")

_PACKAGE = "github.com/rhysd/actionlint/cmd/actionlint"


def program() -> Path:
    def build(into: Path) -> None:
        toolchains.build_commands(MODULE, [_PACKAGE], into)

    return cache.built("actionlint", cache.digest(LOCKS / "lab.txt", MODULE, _PACKAGE), build) / "actionlint"
