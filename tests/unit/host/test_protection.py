"""What our descriptors, and those that are found, let others do."""

from __future__ import annotations

import pytest

from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_FILE, granted_to_others
from agent.host.sddl import FILE_ALL, FILE_EXECUTE, FILE_READ, READ_CONTROL, WRITE_DAC, SecurityDescriptor

CALLER = "S-1-5-21-1-2-3-500"

DESCRIPTORS: dict[str, tuple[str, int]] = {
    "ours, private": (str(PRIVATE_FILE), 0),
    "ours, a private folder": (str(PRIVATE_DIRECTORY), 0),
    "ours, of a program": (str(PROGRAM_FILE), FILE_READ | FILE_EXECUTE),
    "no DACL at all": ("O:BA", FILE_ALL),
    "an empty one": ("O:BAD:P", 0),
    "an owner may always open it up": ("O:S-1-5-21-1-2-3-1001D:P", READ_CONTROL | WRITE_DAC),
    "the caller's own": (f"O:{CALLER}D:P(A;;FA;;;{CALLER})", 0),
    "of one account": ("O:BAD:P(A;;FA;;;S-1-5-21-1-2-3-1001)", FILE_ALL),
    "for what is made below": ("O:BAD:P(A;OICIIO;FA;;;AU)(A;OICI;FA;;;CO)", 0),
    "denied to some, granted to others": ("O:BAD:P(D;;FA;;;BU)(A;;FR;;;WD)", FILE_READ),
    "generic rights": ("O:BAD:P(A;;GR;;;BU)", FILE_READ),
}


@pytest.mark.parametrize("text, granted", DESCRIPTORS.values(), ids=DESCRIPTORS)
def test_what_others_may_do(text: str, granted: int) -> None:
    assert granted_to_others(SecurityDescriptor.parse(text), CALLER) == granted
