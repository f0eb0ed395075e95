"""What compilers run with."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("the lab runs on Linux", allow_module_level=True)

from pathlib import Path

from lab import toolchains


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("GOPROXY", "the user's"),
        ("GONOSUMDB", "the user's"),
        ("GOFLAGS", "-buildvcs=false"),
        ("GOEXPERIMENT", None),
        ("GOROOT", None),
        ("GOENV", "off"),
    ],
)
def test_of_the_users_settings_only_the_way_to_modules_holds(
    monkeypatch: pytest.MonkeyPatch, name: str, expected: str | None
) -> None:
    monkeypatch.setenv(name, "the user's")
    assert toolchains.go_environment({}).get(name) == expected


def test_go_keeps_its_caches_with_the_labs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder is then a first run: also where the user's own caches are full."""
    monkeypatch.setenv("WMCB_LAB_CACHE", str(tmp_path))
    monkeypatch.setenv("GOCACHE", "/elsewhere")
    monkeypatch.setenv("GOMODCACHE", "/elsewhere")
    environment = toolchains.go_environment({})
    assert environment["GOCACHE"].startswith(f"{tmp_path}/")
    assert environment["GOMODCACHE"].startswith(f"{tmp_path}/")
