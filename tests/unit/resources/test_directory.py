"""What closed folders leave of the rights of files below them, where little is known of a file."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.host.protection import PRIVATE_FILE, PROGRAM_FILE
from agent.resources.directory import ClosedFolder, confined_state
from agent.spec import File, Key, Protection

FOLDER = ClosedFolder(PureWindowsPath(r"C:\etc\kubernetes"), Protection.PRIVATE, ())

CASES = {
    "a file that users may read": ({"descriptor": str(PROGRAM_FILE)}, {"descriptor": str(PRIVATE_FILE)}),
    "one that an interrupted run has begun": ({}, {}),
}


@pytest.mark.parametrize(("wanted", "closed"), CASES.values(), ids=CASES)
def test_a_file_below_a_private_folder(wanted: dict[str, str], closed: dict[str, str]) -> None:
    assert confined_state(Key(File.kind, r"C:\etc\kubernetes\x"), wanted, [FOLDER]) == closed
