"""Entries of the machine's Path: ours among those of others."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.repairing import drifted, repair
from agent.engine.run import make_so, preview, reset
from agent.host.port import Host, RegistryKind, RegistryValue
from agent.resources.kind import CannotBeSo
from agent.spec import Specification
from agent.spec.machine import PathEntry
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, powered

KEY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
K = PathEntry(PureWindowsPath(r"C:\k"))
CONTAINERD = PathEntry(PureWindowsPath(r"C:\Program Files\containerd\bin"))
SYSTEM = r"%SystemRoot%\system32;%SystemRoot%"


def path_of(host: Host) -> str | None:
    return host.environment.get("Path")


ADDED = {
    "behind all others": (SYSTEM, rf"{SYSTEM};C:\k"),
    "before a semicolon that ends it": (r"C:\a;", r"C:\a;C:\k;"),
    "to nothing at all": ("", r"C:\k"),
    "beside one that only begins alike": (r"C:\k2;C:\k\bin", r"C:\k2;C:\k\bin;C:\k"),
    "beside one that nobody can read": (r"%Nowhere%\k", r"%Nowhere%\k;C:\k"),
}


@pytest.mark.parametrize(("before", "after"), ADDED.values(), ids=ADDED)
@pytest.mark.parametrize("kind", [RegistryKind.STRING, RegistryKind.EXPANDABLE])
def test_an_entry_is_added_once_and_goes_again(
    host: Host, before: str, after: str, kind: RegistryKind
) -> None:
    host.environment.set("Path", before, kind)
    whole = without_state(host)
    assert run(host, Specification.of([K])) == [(Action.CREATE, r"C:\k")]
    assert (path_of(host), host.environment.kind("Path")) == (after, kind)
    assert run(host, Specification.of([K])) == []
    reset(host, Silent())
    assert without_state(host) == whole


def test_a_machine_without_a_path_gets_one_that_windows_expands(host: Host) -> None:
    host.environment.remove("Path")
    run(host, Specification.of([K]))
    assert (path_of(host), host.environment.kind("Path")) == (r"C:\k", RegistryKind.EXPANDABLE)


THE_SAME = {
    "in capitals": r"C:\K",
    "with a backslash": "C:\\k\\",
    "with slashes": "C:/k/",
    "in quotes": r'"C:\k"',
    "with blanks": r" C:\k ",
    "by a variable": r"%SystemDrive%\k",
    "by one of the machine's": r"%Tools%",
}


@pytest.mark.parametrize("there", THE_SAME.values(), ids=THE_SAME)
def test_one_that_is_there_otherwise_written_is_enough_and_stays(host: Host, there: str) -> None:
    host.environment.set("Tools", r"C:\k")
    host.environment.set("Path", rf"C:\a;{there};C:\z", RegistryKind.EXPANDABLE)
    whole = without_state(host)
    assert run(host, Specification.of([K])) == []
    assert path_of(host) == rf"C:\a;{there};C:\z"
    host.environment.set("Path", r"C:\a;C:\z", RegistryKind.EXPANDABLE)
    repair(host, Silent(), {K.key})
    assert path_of(host) == rf"C:\a;{there};C:\z"
    reset(host, Silent())
    assert without_state(host) == whole


def test_a_variable_in_a_path_that_windows_does_not_expand_is_none(host: Host) -> None:
    host.environment.set("Path", r"%SystemDrive%\k", RegistryKind.STRING)
    run(host, Specification.of([K]))
    assert path_of(host) == r"%SystemDrive%\k;C:\k"


def test_what_others_do_with_theirs_stays(host: Host) -> None:
    run(host, Specification.of([K, CONTAINERD]))
    host.environment.set("Path", rf"C:\new;{path_of(host)};C:\newer")
    run(host, Specification.of([K]))
    assert path_of(host) == rf"C:\new;{SYSTEM};C:\k;C:\newer"
    host.environment.set("Path", rf"{path_of(host)};C:\K\\")
    reset(host, Silent())
    assert path_of(host) == rf"C:\new;{SYSTEM};C:\newer;C:\K\\"


PUT_BACK = {
    "into nothing": ("", rf"{K.folder};{CONTAINERD.folder}"),
    "behind what is there": (r"C:\installed", rf"C:\installed;{K.folder};{CONTAINERD.folder}"),
    "where it was": (rf"{SYSTEM};C:\installed", rf"{SYSTEM};{K.folder};{CONTAINERD.folder};C:\installed"),
}


@pytest.mark.parametrize(("installer", "after"), PUT_BACK.values(), ids=PUT_BACK)
def test_an_entry_that_an_installer_has_removed_is_drift_and_put_back(
    host: Host, installer: str, after: str
) -> None:
    run(host, Specification.of([K, CONTAINERD]))
    assert drifted(host).drifts == ()
    host.environment.set("Path", installer)
    found = {drift.key for drift in drifted(host).drifts}
    assert found == {K.key, CONTAINERD.key}
    assert repair(host, Silent(), found).left == ()
    assert path_of(host) == after


def test_two_who_want_entries_do_not_fight(host: Host) -> None:
    for part, wants in {"first": [K], "second": [K, CONTAINERD]}.items():
        make_so(host, Specification.of(wants), Silent(), part=part)
    assert path_of(host) == rf"{SYSTEM};C:\k;{CONTAINERD.folder}"
    make_so(host, Specification.of([]), Silent(), part="first")
    assert path_of(host) == rf"{SYSTEM};C:\k;{CONTAINERD.folder}"
    make_so(host, Specification.of([]), Silent(), part="second")
    assert path_of(host) == SYSTEM


@pytest.mark.parametrize("changes", range(5))
def test_a_run_that_is_killed_is_finished_by_the_next(host: Host, changes: int) -> None:
    whole = without_state(host)
    try:
        run(powered(host, Power(changes)), Specification.of([K]))
    except Killed:
        run(host, Specification.of([K]))
    assert path_of(host) == rf"{SYSTEM};C:\k"
    reset(host, Silent())
    assert without_state(host) == whole


def test_a_path_that_is_no_text_is_left_alone(host: Host) -> None:
    host.registry.write(KEY, "Path", RegistryValue(RegistryKind.NUMBER, 1))
    with pytest.raises(CannotBeSo, match="the machine's Path is no text in the registry"):
        preview(host, Specification.of([K]))
