"""Defender's exclusions told from what it says to those who may not see them."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import pytest

from agent.host.windows.defender import is_refusal

EXCLUSIONS = [
    r"C:\ProgramData\containerd",
    "C:",
    r"%ProgramData%\containerd",
    r"\\server\share\folder",
    "containerd.exe",
    r"*\containerd.exe",
    r"c:\documents\design.doc\:{PathType:file,ScanTrigger:OnAccess}",
    r"%USERPROFILE%\Documents\:{PathType:folder}",
    r"design.doc\:{Process:C:\Windows\explorer.exe}",
]


@pytest.mark.parametrize("exclusion", EXCLUSIONS)
def test_whatever_can_be_excluded_is_none(exclusion: str) -> None:
    assert not is_refusal(exclusion)


REFUSALS = [
    "N/A: Must be an administrator to view exclusions",
    "N/A: Administrators are not allowed to view exclusions",
    r"Nicht verfügbar: nur für Administratoren (HKLM\SOFTWARE)",
]


@pytest.mark.parametrize("sentence", REFUSALS)
def test_a_sentence_is_one(sentence: str) -> None:
    assert is_refusal(sentence)
