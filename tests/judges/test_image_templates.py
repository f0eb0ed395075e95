"""packaging/image, judged by Packer."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from lab import repository, steps
from lab.fixtures import cannot_run, demand_program

PACKAGING = repository.ROOT / "packaging"
SHA256 = "0" * 64
GIVEN = {"iso_url": "file:///windows.iso", "iso_checksum": f"sha256:{SHA256}", "wmcb_sha256": SHA256}
SSH = {"communicator": "ssh", "ssh_key_file": "packer"}
PLUGINS = set(re.findall(r"github.com/\w+/(\w+)", (PACKAGING / "image/plugins/plugins.pkr.hcl").read_text()))
FIRST_WITHOUT_BUILDERS = (1, 10)


def packer(*words: str, folder: Path) -> tuple[int, str]:
    environment = {**os.environ, "CHECKPOINT_DISABLE": "1"}  # it would ask whether there is a newer one
    done = steps.run([demand_program("packer"), *words], environment=environment, folder=folder)
    return done.returncode, done.stdout


@pytest.fixture
def templates(tmp_path: Path) -> Path:
    """With what they take from elsewhere, for a Packer that has the builders."""
    demand_builders(tmp_path)
    for name in ("image", "profiles", "cloudbase-init"):
        shutil.copytree(PACKAGING / name, tmp_path / "packaging" / name)
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "wmcb.exe").write_bytes(b"MZ")
    folder = tmp_path / "packaging" / "image"
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    (folder / "packer").write_bytes(private)
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    (folder / "packer.pub").write_bytes(public + b" somebody's\n")
    return folder


def demand_builders(folder: Path) -> None:
    """The older ones have them inside, and others fetch them."""
    version = re.search(r"v(\d+)\.(\d+)", packer("version", folder=folder)[1])
    assert version is not None
    if (int(version[1]), int(version[2])) < FIRST_WITHOUT_BUILDERS:
        return
    installed = packer("plugins", "installed", folder=folder)[1]
    if missing := {name for name in PLUGINS if f"packer-plugin-{name}_" not in installed}:
        cannot_run(
            f"this machine's Packer has no {', '.join(sorted(missing))}: packer init packaging/image/plugins"
        )


def validated(folder: Path, windows: str, *words: str, **given: str) -> tuple[int, str]:
    variables = [f"-var={name}={value}" for name, value in {**GIVEN, **given}.items()]
    files = (f"-var-file=windows-{windows}.pkrvars.hcl", *words)
    return packer("validate", *files, *variables, ".", folder=folder)


@pytest.mark.parametrize("folder", [".", "plugins"])
def test_they_are_formatted(folder: str) -> None:
    assert packer("fmt", "-check", folder, folder=PACKAGING / "image") == (0, "")


@pytest.mark.parametrize(
    ("windows", "given"),
    [("2022", {}), ("2025", {**SSH, "wmcb": "not-there.exe", "wmcb_url": "https://example.com/wmcb.exe"})],
    ids=["by remote management", "by OpenSSH, and with a wmcb.exe of somewhere else"],
)
def test_they_are_valid(templates: Path, windows: str, given: dict[str, str]) -> None:
    code, out = validated(templates, windows, **given)
    assert code == 0, out


def test_the_file_that_the_page_has_is_valid(templates: Path) -> None:
    (example,) = re.findall(r"```hcl\n(.*?)```", (templates / "README.md").read_text("utf-8"), re.DOTALL)
    (templates / "mine.pkrvars.hcl").write_text(example)
    own = ("-var-file=mine.pkrvars.hcl", "-only=vsphere-iso.windows")
    code, out = validated(templates, "2022", *own)
    assert code == 0, out
    (templates / "mine.pkrvars.hcl").write_text(example.replace("  folder ", "  place "))
    code, out = validated(templates, "2022", *own)
    assert code != 0
    assert "folder" in out


def test_a_file_that_is_not_there_is_found(templates: Path) -> None:
    (templates / "scripts" / "seal.ps1").unlink()
    code, out = validated(templates, "2022")
    assert code != 0
    assert "seal.ps1" in out


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"communicator": "telnet"}, "winrm or ssh"),
        ({**SSH, "ssh_key_file": "other"}, "other.pub"),
        ({"communicator": "ssh"}, "ssh_key_file"),
    ],
    ids=["another way in", "no such key", "no key"],
)
def test_a_way_in_that_leads_nowhere_is_found(templates: Path, given: dict[str, str], told: str) -> None:
    code, out = validated(templates, "2022", **given)
    assert code != 0
    assert told in out
