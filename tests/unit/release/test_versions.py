"""What says which release this is; tests/windows asks the built program and its installer, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.release import RELEASE
from exebuild import resources
from releasing import ReleaseError, __main__, changelog, versions

TEXT = """# Changelog

## [Unreleased]

### Added

- more

## [1.10.0] - 2030-01-02

### Added

- much

## [1.9.0]

- little

## [1.8.0] - 2029-01-02
"""
OWN = (__main__.REPOSITORY / "CHANGELOG.md").read_text("utf-8")


def test_the_sources_agree() -> None:
    versions.agree(RELEASE, versions.of_sources(__main__.REPOSITORY))
    newest = changelog.sections(OWN)[0]
    versions.check_changelog(OWN, RELEASE, is_tagged=newest == RELEASE)


def test_what_is_told_of_a_release() -> None:
    assert changelog.sections(TEXT) == ["Unreleased", "1.10.0", "1.9.0", "1.8.0"]
    assert changelog.notes(TEXT, "1.10.0") == "### Added\n\n- much"
    assert changelog.day_of(TEXT, "1.10.0") == "2030-01-02"


@pytest.mark.parametrize(
    ("release", "why"),
    [
        ("1.11.0", "has no section"),
        ("1.9.0", "has no date"),
        ("1.8.0", "tells nothing"),
    ],
)
def test_a_release_that_the_changelog_does_not_tell_of_is_none(release: str, why: str) -> None:
    with pytest.raises(ReleaseError, match=why):
        versions.check_changelog(TEXT, release, is_tagged=True)


def test_what_is_to_come_is_told_as_unreleased() -> None:
    versions.check_changelog(TEXT, "1.11.0", is_tagged=False)
    with pytest.raises(ReleaseError, match=r"has to begin with ## \[Unreleased\]"):
        versions.check_changelog(TEXT.replace("## [Unreleased]", "## Soon"), "1.11.0", is_tagged=False)


@pytest.mark.parametrize("said", ["version: 1.9.0\n", "name: windows\n"])
def test_what_belongs_to_another_release_is_told(tmp_path: Path, said: str) -> None:
    collection = tmp_path / "packaging/ansible/ansible_collections/wmcb/windows/galaxy.yml"
    image = tmp_path / "packaging/manifests/installing/kustomization.yaml"
    for file, text in ((collection, said), (image, "images:\n- name: wmcb\n  newTag: 1.10.0\n")):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    with pytest.raises(
        ReleaseError, match=r"says 1\.10\.0, but ansible/\S+/galaxy\.yml says (1\.9\.0|nothing)$"
    ):
        versions.agree("1.10.0", versions.of_sources(tmp_path))


@pytest.mark.parametrize("tag", ["v1.10.0", "refs/tags/v1.10.0"])
def test_a_tag_tells_a_release(tag: str) -> None:
    assert versions.of_tag(tag) == "1.10.0"


@pytest.mark.parametrize("tag", ["1.10.0", "v1.10", "v1.10.0-rc1", "main", ""])
def test_another_tag_is_refused(tag: str) -> None:
    with pytest.raises(ReleaseError, match=r"no release's tag: vX\.Y\.Z"):
        versions.of_tag(tag)


def test_a_program_tells_its_release(tmp_path: Path) -> None:
    program = tmp_path / "wmcb.exe"
    program.write_bytes(b"MZ..." + resources.version("1.10.0", "0" * 40))
    assert versions.of_program(program) == "1.10.0"


def test_all_that_disagree_are_named() -> None:
    versions.agree("1.10.0", {"wmcb.exe": "1.10.0"})
    with pytest.raises(
        ReleaseError, match=r"says 1\.10\.0, but a\.msi says 1\.9\.0, the tag v2\.0\.0 says 2"
    ):
        versions.agree("1.10.0", {"wmcb.exe": "1.10.0", "a.msi": "1.9.0", "the tag v2.0.0": "2.0.0"})
