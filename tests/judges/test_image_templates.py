"""packaging/image, judged by Packer: one that has the builders inside, since others would be fetched."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from lab import repository
from lab.fixtures import demand_program

if TYPE_CHECKING:
    from pathlib import Path

PACKAGING = repository.ROOT / "packaging"
SHA256 = "0" * 64
GIVEN = {"iso_url": "file:///windows.iso", "iso_checksum": f"sha256:{SHA256}", "wmcb_sha256": SHA256}


def packer(*words: str, folder: Path) -> tuple[int, str]:
    done = subprocess.run(
        [demand_program("packer"), *words],
        cwd=folder,
        # It would ask whether there is a newer one.
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "CHECKPOINT_DISABLE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """As the README has it for a Packer of that age."""
    for name in ("image", "profiles", "cloudbase-init"):
        shutil.copytree(PACKAGING / name, tmp_path / "packaging" / name)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "wmcb.exe").write_bytes(b"MZ")
    folder = tmp_path / "packaging" / "image"
    (folder / "plugins.pkr.hcl").unlink()
    return folder


def variables(windows: str, **others: str) -> list[str]:
    given = [f"-var={name}={value}" for name, value in {**GIVEN, **others}.items()]
    return [f"-var-file=windows-{windows}.pkrvars.hcl", *given]


def test_they_are_formatted() -> None:
    code, out = packer("fmt", "-check", ".", folder=PACKAGING / "image")
    assert (code, out) == (0, "")


@pytest.mark.parametrize("windows", ["2022", "2025"])
def test_they_are_valid(templates: Path, windows: str) -> None:
    assert packer("validate", *variables(windows), ".", folder=templates) == (0, "")


def test_a_file_that_is_not_there_is_found(templates: Path) -> None:
    (templates / "scripts" / "seal.ps1").unlink()
    code, out = packer("validate", *variables("2022"), ".", folder=templates)
    assert code != 0
    assert "seal.ps1" in out
