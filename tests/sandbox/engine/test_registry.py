"""Values in the registry, the keys that they lie in, and what was there before."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent.cli import shown_values
from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.repairing import drifted, repair
from agent.engine.run import preview, reset, status
from agent.host.port import Host, RegistryKind
from agent.host.port import RegistryValue as Stored
from agent.spec import Specification, Want
from agent.spec.machine import RegistryType, RegistryValue
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, powered

CONTOSO = r"SOFTWARE\Contoso"
DEEP = rf"{CONTOSO}\Agent\Settings"
VALUE = RegistryValue(DEEP, "Level", RegistryType.NUMBER, 3)


def specified(*wants: RegistryValue, also: tuple[Want, ...] = ()) -> Specification:
    keys = {key.key: key for want in wants for key in want.on_the_way}
    return Specification.of([*keys.values(), *wants, *also])


TYPES = {
    "text": (RegistryType.STRING, "käse", Stored(RegistryKind.STRING, "käse")),
    "no text": (RegistryType.STRING, "", Stored(RegistryKind.STRING, "")),
    "expandable": (RegistryType.EXPANDABLE, r"%windir%\x", Stored(RegistryKind.EXPANDABLE, r"%windir%\x")),
    "texts": (RegistryType.STRINGS, ("a", "b c"), Stored(RegistryKind.STRINGS, ("a", "b c"))),
    "number": (RegistryType.NUMBER, 2**32 - 1, Stored(RegistryKind.NUMBER, 2**32 - 1)),
    "long number": (RegistryType.LONG_NUMBER, 2**64 - 1, Stored(RegistryKind.LONG_NUMBER, 2**64 - 1)),
    "bytes": (RegistryType.BINARY, b"\x00\xff", Stored(RegistryKind.BINARY, b"\x00\xff")),
}
OTHERS = [each[2] for each in TYPES.values()] + [Stored(RegistryKind.NONE, b"\x01")]


@pytest.mark.parametrize("before", [None, *OTHERS], ids=str)
@pytest.mark.parametrize(("kind", "data", "stored"), TYPES.values(), ids=TYPES)
def test_each_type_is_written_once_and_undone_whatever_was_there(
    host: Host, kind: RegistryType, data: str | int | bytes | tuple[str, ...], stored: Stored, before: Stored
) -> None:
    if before is not None:
        host.registry.write(DEEP, "Name", before)
    whole = without_state(host)
    wanted = specified(RegistryValue(DEEP, "Name", kind, data))
    run(host, wanted)
    assert host.registry.read(DEEP, "Name") == stored
    assert run(host, wanted) == []
    reset(host, Silent())
    assert without_state(host) == whole


NAMES = {
    "plain": (DEEP, "Level"),
    "the value without a name": (DEEP, ""),
    "a name with a path in it": (DEEP, r"C:\k\kubelet.exe"),
    "a name that begins with backslashes": (DEEP, r"\\server\share"),
}


@pytest.mark.parametrize(("path", "name"), NAMES.values(), ids=NAMES)
def test_a_value_is_known_by_its_key_and_name(host: Host, path: str, name: str) -> None:
    before = host.registry.keys("SOFTWARE")
    run(host, specified(RegistryValue(path, name, RegistryType.NUMBER, 1)))
    assert host.registry.values(path) == {name: Stored(RegistryKind.NUMBER, 1)}
    run(host, Specification.of([]))
    assert host.registry.keys("SOFTWARE") == before


def test_keys_that_others_use_by_now_stay_and_that_is_told(host: Host) -> None:
    run(host, specified(VALUE))
    host.registry.write(rf"{CONTOSO}\Agent", "Theirs", Stored(RegistryKind.NUMBER, 1))
    done = reset(host, Silent())
    assert host.registry.keys(rf"{CONTOSO}\Agent") == []
    assert list(host.registry.values(rf"{CONTOSO}\Agent")) == ["Theirs"]
    assert done.left == (
        r"registry key HKLM\SOFTWARE\Contoso\Agent holds something that is not wmcb's (Theirs), and stays",
        r"registry key HKLM\SOFTWARE\Contoso holds something that is not wmcb's (Agent), and stays",
    )


def test_keys_that_were_there_stay(host: Host) -> None:
    host.registry.make_key(CONTOSO)
    before = host.registry.keys("SOFTWARE")
    run(host, specified(VALUE))
    reset(host, Silent())
    assert host.registry.keys("SOFTWARE") == before
    assert host.registry.keys(CONTOSO) == []


@pytest.mark.parametrize("before", [None, Stored(RegistryKind.STRING, "own")])
def test_a_value_that_is_not_to_be_there(host: Host, before: Stored | None) -> None:
    if before is not None:
        host.registry.write(DEEP, "Level", before)
    whole = without_state(host)
    wanted = specified(RegistryValue(DEEP, "Level", None, None))
    assert [action for action, _ in run(host, wanted)] == ([Action.CHANGE] if before else [])
    assert host.registry.read(DEEP, "Level") is None
    assert run(host, wanted) == []
    reset(host, Silent())
    assert without_state(host) == whole


def test_another_number_another_type_or_nothing_is_drift_and_repaired(host: Host) -> None:
    run(host, specified(VALUE))
    changes: tuple[Callable[[], None], ...] = (
        lambda: host.registry.write(DEEP, "level", Stored(RegistryKind.NUMBER, 4)),
        lambda: host.registry.write(DEEP, "Level", Stored(RegistryKind.STRING, "3")),
        lambda: host.registry.remove(DEEP, "Level"),
        lambda: host.registry.remove_key(CONTOSO),
    )
    for change in changes:
        change()
        found = drifted(host).drifts
        assert VALUE.key in {drift.key for drift in found}
        repaired = repair(host, Silent(), {drift.key for drift in found})
        assert (repaired.left, repaired.trouble) == ((), ())
        assert host.registry.read(DEEP, "Level") == Stored(RegistryKind.NUMBER, 3)


@pytest.mark.parametrize("changes", range(9))
def test_a_run_that_is_killed_is_finished_by_the_next(host: Host, changes: int) -> None:
    whole = without_state(host)
    try:
        run(powered(host, Power(changes)), specified(VALUE))
    except Killed:
        run(host, specified(VALUE))
    assert host.registry.read(DEEP, "Level") == Stored(RegistryKind.NUMBER, 3)
    reset(host, Silent())
    assert without_state(host) == whole


@pytest.mark.parametrize(
    ("kind", "data", "there"),
    [
        (RegistryType.STRING, "swordfish", "another"),
        (RegistryType.STRINGS, ("swordfish", "two"), ("another",)),
    ],
)
def test_what_is_secret_is_shown_to_nobody(
    host: Host, kind: RegistryType, data: str, there: str | tuple[str, ...]
) -> None:
    stored = RegistryKind.STRING if isinstance(there, str) else RegistryKind.STRINGS
    host.registry.write(DEEP, "Password", Stored(stored, there))
    want = RegistryValue(DEEP, "Password", kind, data, secret=True)
    planned = preview(host, specified(want))
    (change,) = [each for each in planned.changes if each.target.key == want.key]
    lines = list(shown_values.lines(change.target, change.differences, is_there=True, details=True))
    assert [line.partition(":")[0] for line in lines] == ["data"]
    assert "swordfish" not in f"{lines} {want!r}"
    assert "another" not in str(lines)


NUMBERS = {
    "a number": (RegistryType.NUMBER, RegistryKind.NUMBER),
    "a long number": (RegistryType.LONG_NUMBER, RegistryKind.LONG_NUMBER),
}


@pytest.mark.parametrize(("kind", "stored"), NUMBERS.values(), ids=NUMBERS)
def test_a_number_is_shown_whatever_its_name_is(host: Host, kind: RegistryType, stored: RegistryKind) -> None:
    host.registry.write(DEEP, "PlainTextPassword", Stored(stored, 1))
    want = RegistryValue(DEEP, "PlainTextPassword", kind, 0)
    planned = preview(host, specified(want))
    (change,) = [each for each in planned.changes if each.target.key == want.key]
    lines = shown_values.lines(change.target, change.differences, is_there=True, details=True)
    assert list(lines) == ["data: 1 -> 0"]


LOOK_ALIKE = {
    "a text and a number": (Stored(RegistryKind.STRING, "5"), RegistryType.NUMBER, 5, "5"),
    "a text and a list of texts": (
        Stored(RegistryKind.STRING, "a, b"),
        RegistryType.STRINGS,
        ("a", "b"),
        "a, b",
    ),
}


@pytest.mark.parametrize(("there", "kind", "data", "shown"), LOOK_ALIKE.values(), ids=LOOK_ALIKE)
def test_what_looks_alike_has_no_mark_of_a_secret(
    host: Host, there: Stored, kind: RegistryType, data: int | tuple[str, ...], shown: str
) -> None:
    host.registry.write(DEEP, "Level", there)
    want = RegistryValue(DEEP, "Level", kind, data)
    (change,) = [each for each in preview(host, specified(want)).changes if each.target.key == want.key]
    pairs = {each.field: shown_values.both_shown(change.target, each) for each in change.differences}
    assert pairs["data"] == (shown, shown)


def test_a_plan_names_them_as_a_person_would(host: Host) -> None:
    host.registry.write(DEEP, "Level", Stored(RegistryKind.STRING, "two"))
    run(host, specified(VALUE))
    host.registry.write(DEEP, "Level", Stored(RegistryKind.STRING, "two"))
    (standing,) = [each for each in status(host).resources if each.differences]
    assert str(standing.record.target.key) == r"registry value HKLM\SOFTWARE\Contoso\Agent\Settings\Level"
    assert list(
        shown_values.lines(standing.record.target, standing.differences, is_there=True, details=False)
    ) == ["type: REG_SZ -> REG_DWORD", "data: two -> 3"]
