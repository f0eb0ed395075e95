"""The CNI plugins for Windows, as released: built from the Go module proxy at one release, like Kubernetes.

cni-module/ requires them, with the hash of every module that goes in. `go mod edit -require` of the release
and `go mod tidy` with GOOS=windows have written it.
"""

from __future__ import annotations

from pathlib import Path

from lab import cache, toolchains
from lab.repository import LOCKS

MODULE = Path(__file__).with_name("cni-module")

_PLUGINS = "github.com/containernetworking/plugins/plugins/"
_PACKAGES = ("ipam/host-local", "main/windows/win-bridge", "main/windows/win-overlay")
_FLAGS = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")


def plugins() -> Path:
    """The folder of win-bridge.exe, win-overlay.exe and host-local.exe."""

    def build(into: Path) -> None:
        packages = [_PLUGINS + package for package in _PACKAGES]
        toolchains.build_commands(MODULE, packages, into, goos="windows", options=_FLAGS)

    return cache.built("cni", cache.digest(LOCKS / "lab.txt", MODULE, *_PACKAGES, *_FLAGS), build)
