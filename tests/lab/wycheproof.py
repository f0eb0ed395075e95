"""Project Wycheproof's vectors: what libraries of cryptography got wrong once, from the Go module proxy.

wycheproof-module/ requires them, with their hash; `go get` and `go mod tidy` have written it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from lab import cache, toolchains
from lab.repository import LOCKS

MODULE = Path(__file__).with_name("wycheproof-module")

_REQUIRED = re.compile(r"^require (\S+) (\S+)$", re.MULTILINE)
_ED25519 = Path("testvectors_v1", "ed25519_test.json")


def ed25519() -> Path:
    """Return the file of the vectors of Ed25519 signatures."""

    def build(into: Path) -> None:
        toolchains.run([str(toolchains.go()), "mod", "download"], directory=MODULE)
        ((name, version),) = _REQUIRED.findall((MODULE / "go.mod").read_text())
        modules = Path(toolchains.go_environment({})["GOMODCACHE"])
        shutil.copy(modules / f"{name}@{version}" / _ED25519, into)

    return cache.built("wycheproof", cache.digest(LOCKS / "lab.txt", MODULE), build) / _ED25519.name
