"""The folder that the shipped file unpacks to: who can write it, from when on, and how it goes away again."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Unpack

import pytest

from lab.node import Node
from lab.processes import Process
from lab.running import Circumstances, Running
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.trace import Descriptor
from lab.waiting import until
from lab.web import Page, Web
from windows.exe import DOWNLOADED, INSTALLED, PLACE, PROGRAM, SHIPPED, download, lay_out, unpacked

SYSTEM, ADMINISTRATORS = "S-1-5-18", "S-1-5-32-544"
FILE_ALL = 0x1F01FF
GIVEN, POINTER = r"C:\given\kubelet.exe", r"C:\given\pointer.ign"
MEGABYTE = 1_000_000
INHERITED_BY_ALL = 0x3


def start_lasting_run(node: Node) -> tuple[Process, Process]:
    """A run that lasts until it is ended, the shipped file as a service: its two processes, parent first."""
    download(node)
    node.create_service("lasting", f"{DOWNLOADED} daemon run")
    return start_again(node)


def start_again(node: Node) -> tuple[Process, Process]:
    node.start_service("lasting")
    node.wait_for_service("lasting", State.RUNNING)
    parent, child = sorted(node.processes("wmcb.exe"), key=lambda each: each.pid)
    return parent, child


def start_by_hand(node: Node, web: Web, **circumstances: Unpack[Circumstances]) -> Running:
    """A run that lasts, and has come as far as Python's own work: what it fetches comes in small pieces."""
    download(node)
    StandinKubelet(node, GIVEN)
    web.pages["/worker"] = Page(bytes(MEGABYTE), pause=0.1)
    pointer = {"version": "3.2.0", "config": {"merge": [{"source": web.url("/worker")}]}}
    node.path(POINTER).write_text(json.dumps({"ignition": pointer}))
    given = ("--ignition", POINTER, "--kubelet", GIVEN, "--allow-plain-http")
    running = node.start(DOWNLOADED, "plan", *given, **circumstances)
    until(lambda: web.requests, "it has asked for the page")
    return running


def born(node: Node) -> list[Descriptor]:
    """What the kernel was given for the folders of runs, all that is in them, and their lock files."""
    return [each for each in node.descriptors() if r"\wmcb-" in each.path]


# What a run makes, as the names go on after that of its folder.
MADE = {
    "",
    ".lock",
    *(
        "\\" + str(path.relative_to(PROGRAM.parent)).lower().replace("/", "\\")
        for path in PROGRAM.parent.rglob("*")
    ),
}


def is_all_of_a_run(found: list[Descriptor], where: str) -> bool:
    """Whether these are of every file and folder that one run makes, and of nothing else."""
    names = re.compile(re.escape(where.lower()) + r"\\wmcb-[0-9a-f]{16}(.*)")
    matches = [names.search(each.path.lower()) for each in found]
    return all(matches) and {match[1] for match in matches if match} == MADE


@pytest.fixture
def traced(node: Node) -> Node:
    download(node)
    node.reboot(traced=True)
    return node


def test_an_elevated_run_unpacks_where_only_administrators_can_write_from_the_first_moment(
    traced: Node,
) -> None:
    assert traced.run(DOWNLOADED, "version").code == 0
    found = born(traced)
    assert is_all_of_a_run(found, r"C:\windows\temp"), [each.path for each in found]
    for each in found:
        assert each.born, f"{each.path} got its descriptor later"
        assert each.owner == ADMINISTRATORS, each.path
        assert each.protected, f"{each.path} inherits what the folder above grants"
        assert each.entries is not None
        granted = {entry.sid: (entry.type, entry.mask, entry.flags) for entry in each.entries}
        allowed = ("ACCESS_ALLOWED", FILE_ALL, INHERITED_BY_ALL)
        assert granted == {SYSTEM: allowed, ADMINISTRATORS: allowed}, each.path


def test_a_plain_users_run_unpacks_where_only_that_user_can_write(traced: Node) -> None:
    assert traced.run(DOWNLOADED, "version", as_user=True).code == 0
    found = born(traced)
    assert is_all_of_a_run(found, r"\AppData\Local\Temp"), [each.path for each in found]
    for each in found:
        assert each.born
        assert each.protected
        assert each.entries is not None
        assert {entry.sid for entry in each.entries} == {each.owner}, each.path
        assert each.owner not in (None, ADMINISTRATORS)


def test_variables_do_not_say_where_an_elevated_run_unpacks(traced: Node) -> None:
    traced.path(r"C:\evil").mkdir()
    evil = {"TEMP": r"C:\evil", "TMP": r"C:\evil", "SystemRoot": r"C:\evil", "windir": r"C:\evil"}
    assert traced.run(DOWNLOADED, "version", environment=evil).code == 0
    assert is_all_of_a_run(born(traced), r"C:\windows\temp")


def test_windows_judges_the_descriptor_as_it_is_meant(node: Node) -> None:
    granted = node.access("O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
    assert granted == {"administrator": FILE_ALL, "system": FILE_ALL, "user": 0}


def test_where_windows_has_a_folder_for_administrators_that_is_taken(node: Node) -> None:
    r"""SystemTemp, since Server 2022: in \Windows\Temp every user may make files, if not read these."""
    start = node.path(r"C:\windows\SystemTemp")
    start.mkdir()
    start_lasting_run(node)
    assert {found.parent for found in unpacked(node)} == {start}


def test_on_the_disk_nobody_else_has_a_right(node: Node) -> None:
    """Wine makes group bits of what Administrators may, and bits for others of what all may."""
    start_lasting_run(node)
    lock, folder = sorted(unpacked(node), key=lambda found: found.is_dir())
    for path in (lock, folder, *folder.rglob("*")):
        assert not path.stat().st_mode & 0o027, path


@pytest.mark.parametrize("as_user", [False, True], ids=["elevated", "a plain user"])
def test_nothing_is_left_after_a_run(node: Node, as_user: bool) -> None:
    download(node)
    for arguments in (["version"], ["versoin"], []):
        node.run(DOWNLOADED, *arguments, as_user=as_user)
    assert unpacked(node) == []


def test_the_installed_program_unpacks_nothing(node: Node) -> None:
    lay_out(node)
    node.reboot(traced=True)
    assert node.run(INSTALLED, "version").code == 0
    assert born(node) == []


def test_a_killed_runs_program_ends_with_it_and_the_next_run_removes_what_it_left(
    node: Node, web: Web
) -> None:
    # Not as a service: there the SCM would end the program.
    start_by_hand(node, web)
    parent, _ = sorted(node.processes("wmcb.exe"), key=lambda each: each.pid)
    node.kill(parent)
    until(lambda: not node.processes("wmcb.exe"), "the program has ended with the exe that started it")
    assert unpacked(node), "nobody was there to remove it"
    assert node.run(DOWNLOADED, "version").code == 0
    assert unpacked(node) == []


def test_a_killed_programs_folder_is_removed_by_the_exe_that_started_it(node: Node) -> None:
    _, child = start_lasting_run(node)
    node.kill(child)
    until(lambda: not node.processes("wmcb.exe"), "the exe has ended with its program")
    assert unpacked(node) == []


def test_what_a_power_cut_left_is_removed_by_the_next_run(node: Node) -> None:
    start_lasting_run(node)
    node.power_off()
    assert unpacked(node)
    node.boot()
    assert node.run(DOWNLOADED, "version").code == 0
    assert unpacked(node) == []


def test_what_is_in_use_is_not_removed_by_another_run(node: Node) -> None:
    start_lasting_run(node)
    in_use = unpacked(node)
    contents = sorted(in_use[0].rglob("*"))
    assert node.run(DOWNLOADED, "version").code == 0
    assert unpacked(node) == in_use
    assert sorted(in_use[0].rglob("*")) == contents
    assert node.wait_for_service("lasting", State.RUNNING).pid


def test_a_folder_of_somebody_else_that_looks_like_one_is_emptied_without_leaving_it(node: Node) -> None:
    """Whoever can make folders in Temp may not have an elevated run delete files elsewhere."""
    download(node)
    precious = node.path(r"C:\precious")
    precious.mkdir()
    (precious / "file").write_text("kept")
    trap = node.path(r"C:\windows\temp") / "wmcb-trap"
    trap.mkdir()
    (trap / "link").symlink_to("../../../precious")  # so that it leads there in Wine's root as well
    assert (trap / "link" / "file").exists()
    (trap / "deep" / "er").mkdir(parents=True)
    (trap / "deep" / "er" / "file").write_text("")
    assert node.run(DOWNLOADED, "version").code == 0
    assert (precious / "file").read_text() == "kept"
    assert not (trap / "deep").exists()


def test_the_exit_code_is_the_programs_own_when_that_is_killed(node: Node) -> None:
    start_lasting_run(node)
    node.run("taskkill.exe", "/f", "/im", "wmcb.exe")
    until(lambda: not node.processes("wmcb.exe"), "both have ended")
    assert node.run(DOWNLOADED, "version").code == 0
    assert unpacked(node) == []


def test_control_c_is_the_programs_to_answer_and_nothing_is_left(node: Node, web: Web) -> None:
    running = start_by_hand(node, web, console=65001)
    running.press_control_c()
    result = running.wait()
    assert result.code == 1
    assert "wmcb: interrupted" in result.out
    assert unpacked(node) == []


def test_a_damaged_download_says_so_and_leaves_nothing(node: Node) -> None:
    """One bit, in many places: most of them unpack without a complaint, to something else."""
    size = SHIPPED.stat().st_size
    for place in range(10):
        download(node)
        _flip_a_bit(node.path(DOWNLOADED), size // 20 + place * size // 11)
        result = node.run(DOWNLOADED, "version")
        assert (result.code, result.out) == (1, ""), place
        assert result.err == "wmcb: this file is damaged; fetch it again\n"
    assert unpacked(node) == []


def _flip_a_bit(path: Path, where: int) -> None:
    with path.open("r+b") as file:
        file.seek(where)
        (byte,) = file.read(1)
        file.seek(where)
        file.write(bytes([byte ^ 1]))


def test_a_download_that_was_cut_short_does_not_start(node: Node) -> None:
    node.copy_in(SHIPPED, DOWNLOADED)
    with node.path(DOWNLOADED).open("r+b") as file:
        file.truncate(SHIPPED.stat().st_size // 2)
    is_no_program = 193
    with pytest.raises(AssertionError, match=f"error {is_no_program}"):
        node.run(DOWNLOADED, "version")
    assert unpacked(node) == []


def test_a_program_without_its_libraries_says_so(node: Node) -> None:
    """In the words of PyInstaller's loader."""
    lay_out(node)
    internal = node.path(rf"{PLACE}\_internal")
    next(internal.glob("python3??.dll")).unlink()
    result = node.run(INSTALLED, "version")
    assert (result.code != 0, result.out) == (True, "")
    assert rf"Failed to load Python DLL '{PLACE}\_internal\python3" in result.err


def test_a_windows_without_a_folder_for_temporary_files_is_told(node: Node) -> None:
    download(node)
    shutil.rmtree(node.path(r"C:\windows\temp"))
    result = node.run(DOWNLOADED, "version")
    assert (result.code, result.out) == (1, "")
    assert result.err == "wmcb: not a folder, or a link to one: C:\\windows\\Temp\n"
