"""What a reset takes besides what wmcb put there: told before anything goes."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.cli import losses
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sddl import SecurityDescriptor
from sandbox.cli.given import Machine

LIBRARY = PureWindowsPath(r"C:\var\lib\kubelet")
CA = r"C:\etc\kubernetes\ca.crt"


@pytest.fixture
def node(machine: Machine) -> Machine:
    """Whose kubelet has worked for a while."""
    assert machine.wmcb(*machine.node).code == 0
    files = machine.host.files
    files.write(LIBRARY / "pki" / "kubelet-client-current.pem", b"key", PRIVATE_FILE)
    for number in range(7):
        files.make_directory(LIBRARY / "pods" / str(number), PRIVATE_DIRECTORY)
        files.write(LIBRARY / "pods" / str(number) / "etc-hosts", b"", PRIVATE_FILE)
    files.write(PureWindowsPath(r"C:\var\log\kubelet\kubelet.log"), b"I0101", PRIVATE_FILE)
    return machine


TELLS = [
    rf"goes: {LIBRARY}\pods with the node's own data in it: 7 files (0, 1, 2, 3, 4 and 2 more)",
    rf"goes: {LIBRARY}\pki with the node's own data in it: 1 file (kubelet-client-current.pem)",
    r"goes: C:\var\log\kubelet with the node's own data in it: 1 file (kubelet.log)",
    rf"goes: file {CA}, which somebody has changed since (sha256)",
]


def change_by_hand(node: Machine) -> None:
    node.host.files.write(PureWindowsPath(CA), b"another", PRIVATE_FILE)


def test_a_look_at_a_reset_tells_them(node: Machine) -> None:
    change_by_hand(node)
    lines = node.wmcb("reset", "--dry-run").out.splitlines()
    below = lines[lines.index("To know beforehand:") + 1 :]
    assert {line.strip() for line in below[: below.index("")]} == set(TELLS)


def test_a_reset_tells_them_before_anything_goes(node: Machine) -> None:
    change_by_hand(node)
    answer = node.wmcb("reset")
    assert answer.code == 0
    assert set(answer.error_lines[: len(TELLS)]) == set(TELLS)
    assert answer.error_lines[len(TELLS)] == "stop service kubelet"


def test_for_programs(node: Machine) -> None:
    change_by_hand(node)
    document = node.wmcb("reset", "--dry-run", "--output=json").document
    assert set(document["remarks"]) == set(TELLS)
    data = {each["folder"]: (each["files"], each["is_all"]) for each in document["data"]}
    assert data == {
        rf"{LIBRARY}\pods": (7, True), rf"{LIBRARY}\pki": (1, True), r"C:\var\log\kubelet": (1, True)
    }  # fmt: skip
    changed = {
        each["resource"][1]: each["differences"] for each in document["changes"] if each["differences"]
    }
    assert [each["field"] for each in changed.pop(CA)] == ["sha256"]
    assert changed == {}
    assert set(node.wmcb("reset", "--output=json").document["remarks"]) == set(TELLS)


def test_of_a_node_that_nobody_touched_nothing_is_said(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    assert "goes: " not in machine.wmcb("reset", "--dry-run").out
    assert "goes: " not in machine.wmcb("reset").err


def test_a_folder_that_holds_very_much_is_not_counted_to_its_end(
    node: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "_MOST", 3)
    assert rf"{LIBRARY}\pods with the node's own data in it: over 3 files (" in node.wmcb("reset").err


# Descriptors, which nobody reads as Windows writes them


def test_who_may_do_what_is_said_in_words(node: Machine) -> None:
    node.host.files.set_descriptor(PureWindowsPath(CA), SecurityDescriptor.parse("O:BAG:BAD:P(A;;FA;;;WD)"))
    said = "    who may do what: everybody: everything -> SYSTEM and administrators: everything"
    for command in (("status",), ("plan", *node.node)):
        assert said in node.wmcb(*command).out.splitlines()
        raw = node.wmcb(*command, "-v").out
        assert "    descriptor: O:BAG:BAD:P(A;;FA;;;WD) -> O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)" in raw


def test_what_only_those_below_would_notice_is_shown_whole(node: Machine) -> None:
    folder = PureWindowsPath(r"C:\etc\kubernetes")
    node.host.files.set_descriptor(folder, SecurityDescriptor.parse("O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)"))
    (line,) = (each for each in node.wmcb("status").out.splitlines() if "who may do what" in each)
    assert line.startswith(
        "    who may do what: SYSTEM and administrators: everything, but set otherwise (O:BA"
    )


def test_folders_that_hold_somebody_elses_are_not_counted_among_what_goes(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    whole = machine.wmcb("reset", "--dry-run").out.splitlines()[-1]
    for name in ("Notes.txt", "later.txt", "more"):
        machine.put(rf"C:\k\{name}", b"mine")
    machine.put(r"C:\var\lib\other\data", b"mine")
    stay = {r"C:\k": "later.txt and 2 more", r"C:\var\lib": "other", r"C:\var": "lib"}
    plan = machine.wmcb("reset", "--dry-run")
    lines = plan.out.splitlines()
    assert [rf"- remove    directory {each}" in lines for each in stay] == [False] * 3
    told = {
        f"  stays: {each}, which holds something that is not wmcb's ({names})" for each, names in stay.items()
    }
    assert told == {line for line in lines if "stays" in line}
    number = int(whole.split()[0])
    assert (whole, lines[-1]) == (
        f"{number} to remove, 0 as they are to be",
        f"{number - 3} to remove, 3 to stay, 0 as they are to be",
    )
    document = machine.wmcb("reset", "--dry-run", "--output=json").document
    assert {f"  {line}" for line in document["remarks"]} == told
    assert document["stays"] == [["directory", each] for each in stay]
    assert len(document["changes"]) == number - 3
    done = machine.wmcb("reset")
    assert set(done.out.splitlines()[1:]) == {
        f"  {each} holds something that is not wmcb's ({names}), and stays" for each, names in stay.items()
    }


def test_what_is_a_link_now_is_said_to_stay_and_counted_so(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    link = machine.place / "k" / "kubelet.exe"
    link.unlink()
    link.symlink_to(machine.kubelet)
    plan = machine.wmcb("reset", "--dry-run")
    told = [
        r"  stays: C:\k\kubelet.exe, which is a link now",
        r"  stays: C:\k, which holds something that is not wmcb's (kubelet.exe)",
    ]
    assert [line for line in plan.out.splitlines() if "goes: " in line or "stays: " in line] == told
    assert ", 2 to stay, " in plan.out.splitlines()[-1]
    done = machine.wmcb("reset", "--output=json")
    left = {
        r"C:\k\kubelet.exe is a link now, and stays",
        r"C:\k holds something that is not wmcb's (kubelet.exe), and stays",
    }
    assert set(done.document["left"]) == left
    changed = [each["resource"][1] for each in done.document["changes"]]
    assert not {r"C:\k", r"C:\k\kubelet.exe"} & set(changed)
    files = sum(each["resource"][0] == "file" for each in done.document["changes"])
    assert any(line.startswith(f"remove {files} files") for line in done.error_lines)
