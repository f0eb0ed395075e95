"""Which of two rights is the stricter one: by what they grant, not by how they are written."""

from __future__ import annotations

import pytest

from agent.host.protection import PRIVATE_FILE, PROGRAM_FILE
from agent.host.sddl import SecurityDescriptor
from agent.resources import descriptors
from agent.spec import Protection

EVERYBODY_READS = "O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)(A;;FR;;;WD)"
PRIVATE, PROGRAM = Protection.PRIVATE, Protection.PROGRAM

CASES = {
    "no folder closes it": (str(PROGRAM_FILE), (), str(PROGRAM_FILE)),
    "a private folder": (str(PROGRAM_FILE), (PRIVATE,), str(PRIVATE_FILE)),
    "a folder of programs": (str(PRIVATE_FILE), (PROGRAM,), str(PRIVATE_FILE)),
    "a private one in a folder of programs": (str(PROGRAM_FILE), (PROGRAM, PRIVATE), str(PRIVATE_FILE)),
    "as private, in other words": ("O:BAG:BAD:P(A;;FA;;;BA)(A;;FA;;;SY)", (PRIVATE,), None),
    "less for administrators": ("O:SYG:SYD:P(A;;FA;;;SY)(A;;FR;;;BA)", (PRIVATE,), None),
    "everybody and no list": ("O:BAG:BAD:NO_ACCESS_CONTROL", (PROGRAM,), str(PROGRAM_FILE)),
    "neither grants what the other does": (EVERYBODY_READS, (PROGRAM,), str(PRIVATE_FILE)),
}


@pytest.mark.parametrize(("own", "above", "strictest"), CASES.values(), ids=CASES)
def test_the_strictest_rights(own: str, above: tuple[Protection, ...], strictest: str | None) -> None:
    found = descriptors.strictest(SecurityDescriptor.parse(own), above)
    assert found == SecurityDescriptor.parse(strictest or own)
