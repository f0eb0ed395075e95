"""A program that users may change is not laid out as one that runs as SYSTEM."""

from __future__ import annotations

import sys
from pathlib import PureWindowsPath

import pytest

from agent.cli.arguments import Request
from agent.cli.failure import Refused
from agent.cli.running_program import running_program
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sddl import SecurityDescriptor
from sandbox.cli.given import Machine
from sandbox.cli.test_node_config import given
from sandbox.cli.test_settings import FOR_THE_FOLDER, NAMED, OPEN

TEMP = PureWindowsPath(r"C:\Windows\Temp")
"""Where the sandbox unpacks its stand-in for the exe."""
EXTRACTED = PureWindowsPath(r"C:\tools\wmcb")
PROGRAM = EXTRACTED / "wmcb.exe"
LIBRARY = EXTRACTED / "_internal" / "python313.dll"


@pytest.mark.parametrize(
    "words",
    [
        ("daemon", "install"),
        ("prepare", "--kubernetes-version", "v1.36.3", "--mirror", "https://dl.k8s.io/=https://127.0.0.1:9/"),
        ("prepare", "--node-config", "{document}", "--allow-reboot"),
    ],
    ids=["daemon install", "prepare", "allow-reboot"],
)
def test_a_program_in_a_folder_of_users_is_refused_before_anything_changes(
    bare: Machine, words: tuple[str, ...]
) -> None:
    _, document = given(bare, NAMED)
    bare.wmcb("status")
    bare.host.files.set_descriptor(TEMP, SecurityDescriptor.parse(OPEN))
    before = bare.picture()
    answer = bare.wmcb(*(word.format(document=document) for word in words))
    assert answer.code == 3, answer.err
    (line,) = answer.error_lines
    assert f"wmcb.exe would run as SYSTEM, and users may change {TEMP}: extract the ZIP where only" in line
    assert bare.picture() == before
    assert bare.host.services.read("wmcb") is None


FIRST_OF_ALL = {
    "no administrator": (
        ("prepare", "--kubernetes-version", "v1.36.3"), {"administrator": False}, 3,
        "administrator: an administrator is needed",
    ),
    "no administrator, with a restart": (
        ("prepare", "--node-config", "{document}", "--allow-reboot"), {"administrator": False}, 3,
        "administrator: an administrator is needed",
    ),
    "no release": (
        ("prepare", "--kubernetes-version", "nonsense"), {"administrator": True}, 2,
        "--kubernetes-version nonsense",
    ),
    "standard input, with a restart": (
        ("prepare", "--node-config", "-", "--allow-reboot"), {"administrator": True}, 2, "not standard input",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("words", "facts", "code", "text"), FIRST_OF_ALL.values(), ids=FIRST_OF_ALL)
def test_what_else_is_wrong_comes_first(
    bare: Machine, words: tuple[str, ...], facts: dict[str, bool], code: int, text: str
) -> None:
    _, document = given(bare, NAMED)
    bare.wmcb("status")
    bare.host.files.set_descriptor(TEMP, SecurityDescriptor.parse(OPEN))
    bare.facts(**facts)
    answer = bare.wmcb(*(word.format(document=document) for word in words))
    assert answer.code == code, answer.err
    assert text in answer.err


@pytest.mark.parametrize(
    ("place", "sddl"),
    [
        (EXTRACTED.parent, OPEN),
        (EXTRACTED, FOR_THE_FOLDER),
        (PROGRAM, OPEN),
        (LIBRARY.parent, FOR_THE_FOLDER),
        (LIBRARY, OPEN),
    ],
    ids=["a folder above", "its folder", "the program", "the folder of what it loads", "what it loads"],
)
def test_an_extracted_program_is_laid_out_once_none_but_administrators_may_change_it(
    bare: Machine, monkeypatch: pytest.MonkeyPatch, place: PureWindowsPath, sddl: str
) -> None:
    files, request = bare.host.files, Request((), None, {})
    for folder in (EXTRACTED.parent, EXTRACTED, LIBRARY.parent):
        files.make_directory(folder, PROGRAM_DIRECTORY)
    for file in (PROGRAM, LIBRARY):
        files.write(file, b"MZ", PROGRAM_FILE)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(PROGRAM))
    with running_program(request, bare.host) as program:
        assert program == PROGRAM
    files.set_descriptor(place, SecurityDescriptor.parse(sddl))
    with pytest.raises(Refused) as refused, running_program(request, bare.host):
        pytest.fail("it would be laid out")
    assert str(refused.value) == (
        f"{PROGRAM} would run as SYSTEM, and users may change {place}: extract the ZIP where only"
        " administrators may write, or use the MSI or the single wmcb.exe"
    )
