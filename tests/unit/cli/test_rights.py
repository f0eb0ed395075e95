"""Security descriptors in words."""

from __future__ import annotations

import pytest

from agent.cli.shown_values import in_words
from agent.host import protection
from agent.host.sandbox.descriptors import ROOT

WORDS = [
    (str(protection.PRIVATE_FILE), "SYSTEM and administrators: everything"),
    (str(protection.PROGRAM_FILE), "SYSTEM and administrators: everything; users: read and run"),
    (str(protection.PODS_DIRECTORY), "SYSTEM and administrators: everything; users: read and run"),
    (
        str(ROOT),
        "owned by S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464; SYSTEM and administrators:"
        " everything; users: read and run; whoever has logged on: write",
    ),
    ("O:BAD:(A;;0x1301bf;;;AU)", "whoever has logged on: read, run, write and delete"),
    ("O:BAD:(A;;FA;;;WD)(D;;FW;;;BU)", "everybody: everything; users: never write"),
    ("O:BAD:(A;;WD;;;S-1-5-21-1-2-3-1001)", "S-1-5-21-1-2-3-1001: say who may"),
    ("O:BAD:NO_ACCESS_CONTROL", "everybody: everything"),
    ("O:BAD:P", "nobody: anything"),
    ("O:LAD:P(A;;FA;;;BA)", "owned by the account Administrator; administrators: everything"),
    ("O:BAD:P(XA;;FA;;;WD;(Member_of {SID(BA)}))", "and conditions"),
    ("no SDDL", "no SDDL"),
]


@pytest.mark.parametrize(("sddl", "words"), WORDS, ids=[sddl for sddl, _ in WORDS])
def test_in_words(sddl: str, words: str) -> None:
    assert in_words(sddl) == words
