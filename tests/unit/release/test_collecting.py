"""What is published of a release: its files, their checksums, and winget's manifests."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

from releasing import ReleaseError, collecting, installer, winget
from unit.release.winget_rules import broken_rules

RELEASE = winget.Published("1.2.3", "2030-01-02", "https://example.com/download/v1.2.3/")
FILES = ("wmcb-1.2.3.msi", "wmcb-1.2.3.zip", "wmcb-log.exe", "wmcb.cdx.json", "wmcb.exe", "wmcb.licenses.txt")
MANIFESTS = ("wmcb.wmcb.installer.yaml", "wmcb.wmcb.locale.en-US.yaml", "wmcb.wmcb.yaml")


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).write_text(f"content of {name}")
    (tmp_path / "wmcb-1.2.2.msi").write_text("of the release before")
    return tmp_path


@pytest.fixture
def published(dist: Path) -> Path:
    target = dist / "release"
    target.mkdir()
    (target / "wmcb-1.2.2.msi").write_text("of the release before")
    assert collecting.collect(dist, target, RELEASE, "much is new") == [*FILES, *MANIFESTS, "SHA256SUMS"]
    return target


def test_each_file_is_there_with_its_checksum(published: Path) -> None:
    lines = (published / "SHA256SUMS").read_text().splitlines()
    assert lines == [
        f"{hashlib.sha256((published / name).read_bytes()).hexdigest()} *{name}"
        for name in (*FILES, *MANIFESTS)
    ]
    assert {file.name for file in published.iterdir()} == {*FILES, *MANIFESTS, "SHA256SUMS"}
    assert (published.parent / "release-notes.md").read_text() == "much is new\n"


@pytest.mark.parametrize("name", FILES)
def test_what_is_not_built_is_told(dist: Path, name: str) -> None:
    (dist / name).unlink()
    with pytest.raises(ReleaseError, match=f"{name} is not built"):
        collecting.collect(dist, dist / "release", RELEASE, "much is new")


def read(published: Path, name: str) -> dict[str, Any]:
    manifest: dict[str, Any] = yaml.safe_load((published / name).read_text())
    return manifest


@pytest.mark.parametrize("name", MANIFESTS)
def test_wingets_manifests_keep_its_rules(published: Path, name: str) -> None:
    manifest = read(published, name)
    assert broken_rules(manifest) == []
    assert (manifest["PackageIdentifier"], manifest["PackageVersion"]) == ("wmcb.wmcb", "1.2.3")


@pytest.mark.parametrize("name", MANIFESTS)
def test_wingets_manifests_begin_with_their_schema(published: Path, name: str) -> None:
    kind = read(published, name)["ManifestType"]
    first = (published / name).read_text().splitlines()[0]
    schema = f"https://aka.ms/winget-manifest.{kind}.1.10.0.schema.json"
    assert first == f"# yaml-language-server: $schema={schema}"


def test_winget_is_told_of_the_installer_as_it_is_published(published: Path) -> None:
    manifest = read(published, "wmcb.wmcb.installer.yaml")
    (of_the_installer,) = manifest["Installers"]
    content = (published / "wmcb-1.2.3.msi").read_bytes()
    assert of_the_installer["InstallerUrl"] == "https://example.com/download/v1.2.3/wmcb-1.2.3.msi"
    assert of_the_installer["InstallerSha256"] == hashlib.sha256(content).hexdigest().upper()
    assert of_the_installer["ProductCode"] == installer.product_code("1.2.3")
    assert manifest["ReleaseDate"] == "2030-01-02"


@pytest.mark.parametrize(
    "changed",
    [
        {"PackageIdentifier": "wmcb"},
        {"PackageVersion": None},
        {"MinimumOSVersion": "ten"},
        {"Commands": ["wmcb", "wmcb"]},
        {"Platform": ""},
        {"Colour": "blue"},
        {"Installers": [{"Architecture": "x64"}]},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_the_rules_notice(published: Path, changed: dict[str, object]) -> None:
    """The control for the one before."""
    assert broken_rules({**read(published, "wmcb.wmcb.installer.yaml"), **changed}) != []
