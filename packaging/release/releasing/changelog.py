"""CHANGELOG.md: what of it belongs to a release, and whether it is one at all."""

from __future__ import annotations

import re
from datetime import date

from releasing import ReleaseError

UNRELEASED = "Unreleased"
_HEADING = re.compile(r"^## \[([^\]]+)\](?: - (\S+))?$", re.MULTILINE)


def sections(text: str) -> list[str]:
    """What they are called, the newest first."""
    return [match[1] for match in _HEADING.finditer(text)]


def notes(text: str, release: str) -> str:
    """What is told of a release; it has a date, and says something."""
    day, told = _section(text, release)
    if not day or not _is_date(day):
        raise ReleaseError(f"CHANGELOG.md: ## [{release}] has no date: ## [{release}] - YYYY-MM-DD")
    if not told:
        raise ReleaseError(f"CHANGELOG.md tells nothing of {release}")
    return told


def day_of(text: str, release: str) -> str:
    return _section(text, release)[0]


def _section(text: str, release: str) -> tuple[str, str]:
    """Its date, which may be none, and its text."""
    headings = list(_HEADING.finditer(text))
    for heading, following in zip(headings, [*headings[1:], None], strict=True):
        if heading[1] == release:
            end = following.start() if following else len(text)
            return heading[2] or "", text[heading.end() : end].strip()
    raise ReleaseError(f"CHANGELOG.md has no section ## [{release}]")


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
