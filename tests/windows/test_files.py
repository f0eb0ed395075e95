"""What Windows gets to see when the product puts a file in place, told by Wine and by Linux."""

from __future__ import annotations

import pytest

from agent.host import protection
from lab import trace
from lab.node import Node
from lab.running import Result
from lab.sddl import read_by_samba
from unit.fetch.authority import issue
from unit.kube.test_client import key_of

SYSTEM = "S-1-5-18"
ADMINISTRATORS = "S-1-5-32-544"
USERS = "S-1-5-32-545"
ALL = 0x1F01FF
READ_AND_RUN = 0x1200A9
# What Wine makes of all our descriptors. For the others' bits it counts Everyone only: what Users may do is
# seen in the descriptor itself and by AccessCheck, and here only that Everyone may do nothing.
FOR_NOBODY_ELSE = 0o750


def on_the_host(node: Node, statements: str, *, traced: bool = False) -> Result:
    """Statements about `files`, the product's own, run by Windows Python."""
    program = (
        "from pathlib import PureWindowsPath as P\n"
        "from agent.host import protection\n"
        "from agent.host.windows.machine import open_windows\n"
        f"files = open_windows().files\n{statements}"
    )
    result = node.python("-c", program, folder=r"Z:\repo", traced=traced)
    assert result.code == 0, result.err
    return result


def the_only_descriptor(node: Node, beginning: str) -> trace.Descriptor:
    """What the one file or folder whose path begins so was given; it was given one, and one only."""
    given = [descriptor for descriptor in node.descriptors() if descriptor.path.startswith(beginning)]
    assert len(given) == 1
    return given[0]


def test_a_key_that_tls_loads_lies_in_a_private_file_below_program_data(node: Node) -> None:
    node.reboot(traced=True)
    issued = issue("system:node:win1")
    loaded = on_the_host(
        node,
        "import ssl\n"
        "from agent.private_keys import key_files\n"
        f"with key_files(open_windows()).lent({issued.pem + key_of(issued)!r}) as path:\n"
        "    print(path.parent)\n"
        "    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(path)\n"
        "print(path.parent.parent.exists())\n",
    )
    assert loaded.out.splitlines() == [r"C:\ProgramData\wmcb\tls", "False"]
    born = the_only_descriptor(node, "C:\\ProgramData\\wmcb\\tls\\wmcb-")
    assert born.born
    assert born.protected
    assert born.contents == read_by_samba(str(protection.PRIVATE_FILE))


@pytest.mark.parametrize(
    ("name", "granted"),
    [
        ("PRIVATE_FILE", {SYSTEM: ALL, ADMINISTRATORS: ALL}),
        ("PROGRAM_FILE", {SYSTEM: ALL, ADMINISTRATORS: ALL, USERS: READ_AND_RUN}),
    ],
)
def test_a_file_is_born_with_its_descriptor(node: Node, name: str, granted: dict[str, int]) -> None:
    node.reboot(traced=True)
    on_the_host(node, f"files.write(P('C:/token'), b'secret', protection.{name})")
    born = the_only_descriptor(node, "C:\\wmcb-")
    assert born.born
    assert born.protected
    assert born.owner == ADMINISTRATORS
    assert born.entries is not None
    assert {entry.sid: entry.mask for entry in born.entries} == granted
    assert born.contents == read_by_samba(str(getattr(protection, name)))
    assert node.mode(r"C:\token") == FOR_NOBODY_ELSE


@pytest.mark.parametrize("name", ["PRIVATE_DIRECTORY", "PROGRAM_DIRECTORY"])
def test_a_folder_is_born_with_its_descriptor(node: Node, name: str) -> None:
    node.reboot(traced=True)
    on_the_host(node, f"files.make_directory(P('C:/place'), protection.{name})")
    born = the_only_descriptor(node, "C:\\place")
    assert born.born
    assert born.protected
    assert born.entries is not None
    assert all(entry.flags == 3 for entry in born.entries)  # for all that will be made inside
    assert born.contents == read_by_samba(str(getattr(protection, name)))
    assert node.mode(r"C:\place") == FOR_NOBODY_ELSE


@pytest.mark.parametrize(
    ("name", "administrator", "system", "user"),
    [
        ("PRIVATE_FILE", ALL, ALL, 0),
        ("PRIVATE_DIRECTORY", ALL, ALL, 0),
        ("PROGRAM_FILE", ALL, ALL, READ_AND_RUN),
        ("PROGRAM_DIRECTORY", ALL, ALL, READ_AND_RUN),
    ],
)
def test_windows_grants_by_our_descriptors(
    node: Node, name: str, administrator: int, system: int, user: int
) -> None:
    descriptor = getattr(protection, name)
    granted = node.access(str(descriptor))
    assert granted == {"administrator": administrator, "system": system, "user": user}


def test_what_was_written_is_flushed_before_it_gets_its_name(node: Node) -> None:
    twice = "files.write(P('C:/token'), b'secret', protection.PRIVATE_FILE)\n" * 2
    calls = on_the_host(node, twice, traced=True).calls
    assert sum(map(trace.is_rename, calls)) == 2
    assert trace.renames_unflushed(calls) == []
    assert (node.c / "token").read_bytes() == b"secret"
