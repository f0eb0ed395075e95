from __future__ import annotations

import sys

assert sys.platform == "win32"

import struct

import pytest

from agent.host.windows.api.files import symbolic_target

LINK, JUNCTION = 0xA000_000C, 0xA000_0003
DATED = r"C:\var\lib\kubelet\pki\kubelet-client-2026-11-19-08-00-00.pem"


def link(target: str, shown: str = "", tag: int = LINK, flags: int = 0) -> bytes:
    """As Windows writes it: the name to be shown first, then the one that counts."""
    names = shown.encode("utf-16-le"), target.encode("utf-16-le")
    first, second = map(len, names)
    body = struct.pack("<HHHHI", first, second, 0, first, flags) + b"".join(names)
    return struct.pack("<IHH", tag, len(body), 0) + body


@pytest.mark.parametrize(
    ("data", "target"),
    [
        pytest.param(link(rf"\??\{DATED}", DATED), DATED, id="a whole path"),
        pytest.param(link("dated.pem", "dated.pem", flags=1), "dated.pem", id="from its own folder on"),
        pytest.param(link(rf"\??\{DATED}"), DATED, id="without a name to be shown"),
        pytest.param(link("größer 𝄞.pem"), "größer 𝄞.pem", id="letters beyond ASCII"),
        pytest.param(link(rf"\??\{DATED}", tag=JUNCTION), None, id="a junction"),
        pytest.param(link(DATED)[:-2], None, id="cut short"),
        pytest.param(b"", None, id="nothing"),
    ],
)
def test_where_a_symbolic_link_leads(data: bytes, target: str | None) -> None:
    assert symbolic_target(data) == target
