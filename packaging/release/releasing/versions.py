"""Which release each thing says it is: all have to say the same."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

from exebuild import parts, resources
from releasing import ReleaseError, changelog

_TAG = re.compile(r"(?:refs/tags/)?v(\d+\.\d+\.\d+)")


def of_tag(tag: str) -> str:
    found = _TAG.fullmatch(tag)
    if not found:
        raise ReleaseError(f"{tag} is no release's tag: vX.Y.Z")
    return found[1]


def of_sources(repository: Path) -> dict[str, str]:
    """What is brought to machines in other ways than as a release, and says which it belongs to."""
    return {
        place: _stated(repository / "packaging" / place, word)
        for place, word in (
            ("ansible/ansible_collections/wmcb/windows/galaxy.yml", "version"),
            ("manifests/installing/kustomization.yaml", "newTag"),
        )
    }


def _stated(file: Path, word: str) -> str:
    found = re.search(rf"^ *{word}: *(\S+)$", file.read_text("utf-8"), re.MULTILINE)
    return found[1] if found else "nothing"


def of_program(program: Path) -> str:
    """As Windows shows it of the file: its last number is always 0."""
    return resources.file_version(program.read_bytes()).removesuffix(".0")


def of_bill(bill: Path) -> str:
    return str(json.loads(bill.read_text("utf-8"))["metadata"]["component"]["version"])


def of_installer(installer: Path) -> str:
    command = ["msiinfo", "export", str(installer), "Property"]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return next(
        line.partition("\t")[2].strip() for line in table.splitlines() if line.startswith("ProductVersion\t")
    )


def of_built(dist: Path) -> dict[str, str]:
    """What the parts of a release say that the build has left."""
    installers = sorted(dist.glob("*.msi"))
    return {
        "wmcb.exe": of_program(dist / "wmcb.exe"),
        parts.BILL_FILE: of_bill(dist / parts.BILL_FILE),
        **{installer.name: of_installer(installer) for installer in installers},
    }


def agree(release: str, others: Mapping[str, str]) -> None:
    """A ReleaseError with all that say otherwise."""
    wrong = [f"{name} says {version}" for name, version in others.items() if version != release]
    if wrong:
        raise ReleaseError(f"agent/release.py says {release}, but {', '.join(wrong)}")


def check_changelog(text: str, release: str, *, is_tagged: bool) -> None:
    """A tagged release has notes; until then what is coming is told as unreleased."""
    if is_tagged:
        changelog.notes(text, release)
    elif changelog.UNRELEASED not in changelog.sections(text)[:1]:
        raise ReleaseError(f"CHANGELOG.md has to begin with ## [{changelog.UNRELEASED}]")
