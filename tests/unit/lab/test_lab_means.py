"""Programs out of Debian's packages, by an apt of the test's own."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

if sys.platform == "win32":
    pytest.skip("the lab runs on Linux", allow_module_level=True)

from lab import fixtures, means

APT = """#!/bin/sh
case "$*" in *" update") exit 0 ;; esac
test "$1" = -qq && touch packer_1.deb prometheus_2.deb
"""
DPKG = """#!/bin/sh
test "$1" = --extract && mkdir -p "$3/usr/bin" && basename "$2" >> "$3/usr/bin/packer"
"""
APT_WITHOUT_A_NETWORK = """#!/bin/sh
echo "E: Could not resolve" >&2
exit 100
"""


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with programs; the system's own shell is no more than that."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("touch", "mkdir", "basename"):
        (folder / name).symlink_to(Path("/bin") / name)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("WMCB_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(means, "_DEBIAN", tmp_path / "debian_version")
    return folder


@pytest.fixture
def debian(path: Path, tmp_path: Path) -> Path:
    (tmp_path / "debian_version").write_text("12.0\n")
    put(path / "apt-get", APT)
    put(path / "dpkg-deb", DPKG)
    return path


def put(program: Path, text: str) -> None:
    program.write_text(text)
    program.chmod(0o755)


def test_this_machines_own_is_taken(path: Path) -> None:
    put(path / "packer", "#!/bin/sh\n")
    assert means.program("packer") == path / "packer"


def test_all_are_unpacked_once_and_kept(debian: Path, tmp_path: Path) -> None:
    program = means.program("packer")
    assert program.is_relative_to(tmp_path / "cache")
    assert program.read_text() == "packer_1.deb\nprometheus_2.deb\n"
    put(debian / "apt-get", APT_WITHOUT_A_NETWORK)
    assert means.program("promtool").parent == program.parent


@pytest.mark.usefixtures("path")
def test_other_systems_are_told_what_to_install() -> None:
    with pytest.raises(means.Missing, match=r"needs packer, prometheus, .* install them by hand"):
        means.program("packer")


def test_what_could_not_be_fetched_is_told(debian: Path, tmp_path: Path) -> None:
    put(debian / "apt-get", APT_WITHOUT_A_NETWORK)
    with pytest.raises(means.Missing, match="update failed: E: Could not resolve"):
        means.program("packer")
    assert [left.name for left in (tmp_path / "cache").iterdir()] == ["debian-programs.lock"]


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_in_ci_what_cannot_run_has_failed(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="install them by hand"):
        fixtures.demand_program("packer")
