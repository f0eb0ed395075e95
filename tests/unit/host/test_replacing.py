from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import (
    AccessDenied,
    AlreadyExists,
    HostError,
    InUse,
    NoSpace,
    ProgramRunning,
    WrongKind,
    host_error,
)
from agent.host.files import PATIENCE_SECONDS
from agent.host.protection import PRIVATE_FILE
from agent.host.replacing import patiently, put_in_place
from agent.host.sddl import SecurityDescriptor

TARGET = PureWindowsPath(r"C:\etc\kubernetes\kubelet.conf")


class StoppedClock:
    """Time passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def now(self) -> float:
        return 0.0

    def boot(self) -> int:
        return 1

    def monotonic(self) -> float:
        return sum(self.pauses)

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


class RecordingVolume:
    """Writes down each call; a call named in `refusals` fails with these Win32 errors, one after another."""

    def __init__(self, refusals: dict[str, list[int]] | None = None, *, running: bool = False) -> None:
        self.calls: list[str] = []
        self.files: dict[str, tuple[bytes, str]] = {TARGET.name: (b"old", "old")}
        self._refusals = {call: iter(codes) for call, codes in (refusals or {}).items()}
        self._running = running

    def _call(self, name: str, *told: object) -> None:
        text = " ".join([name, *map(str, told)])
        self.calls.append(re.sub(r"wmcb-[0-9a-f]{16}", "wmcb-X", text))
        if code := next(self._refusals.get(name, iter(())), 0):
            raise host_error(name, "it", code)

    def check_target(self, path: PureWindowsPath) -> None:
        self._call("check", path.name)

    def create(self, path: PureWindowsPath, descriptor: SecurityDescriptor) -> str:
        assert path.parent == TARGET.parent
        self._call("create", path.name, descriptor)
        self.files[path.name] = (b"", str(descriptor))
        return path.name

    def write(self, handle: str, block: bytes) -> None:
        self._call("write", block.decode())
        content, descriptor = self.files[handle]
        self.files[handle] = (content + block, descriptor)

    def flush(self, handle: str) -> None:
        self._call("flush", handle)

    def close(self, handle: str) -> None:
        self._call("close", handle)

    def move_over(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        self._call("move_over", path.name, target.name)
        self.files[target.name] = self.files.pop(path.name)

    def move(self, path: PureWindowsPath, target: PureWindowsPath) -> None:
        self._call("move", path.name, target.name)
        assert target.name not in self.files
        self.files[target.name] = self.files.pop(path.name)

    def remove(self, path: PureWindowsPath) -> None:
        self._call("remove", path.name)
        del self.files[path.name]

    def is_running(self, path: PureWindowsPath) -> bool:
        self._call("is_running", path.name)
        return self._running


def put(volume: RecordingVolume, content: bytes | Iterable[bytes] = b"new") -> PureWindowsPath | None:
    return put_in_place(volume, StoppedClock(), TARGET, content, PRIVATE_FILE)


OLD = {TARGET.name: (b"old", "old")}
NEW = {TARGET.name: (b"new", str(PRIVATE_FILE))}


def test_the_order_of_things() -> None:
    volume = RecordingVolume()
    assert put(volume, [b"ne", b"w"]) is None
    assert volume.calls == [
        "check kubelet.conf",
        f"create wmcb-X.tmp {PRIVATE_FILE}",
        "write ne",
        "write w",
        "flush wmcb-X.tmp",
        "close wmcb-X.tmp",
        "move_over wmcb-X.tmp kubelet.conf",
    ]
    assert volume.files == NEW


@pytest.mark.parametrize("code", [5, 32, 33, 303, 1224])
def test_a_target_held_for_a_while_is_tried_again(code: int) -> None:
    volume = RecordingVolume({"move_over": [code, code, code]})
    assert put(volume) is None
    assert volume.files == NEW


@pytest.mark.parametrize(
    ("call", "codes", "expected"),
    [
        pytest.param("check", [267], WrongKind, id="a-folder-of-that-name"),
        pytest.param("create", [80], AlreadyExists, id="temporary-name-taken"),
        pytest.param("create", [5], AccessDenied, id="not-allowed-in-the-folder"),
        pytest.param("write", [112], NoSpace, id="disk-full"),
        pytest.param("flush", [112], NoSpace, id="disk-full-at-the-flush"),
        pytest.param("flush", [1117], HostError, id="device-fails"),
        pytest.param("close", [112], NoSpace, id="disk-full-at-the-close"),
        pytest.param("move_over", [32] * 99, InUse, id="held-for-ever"),
        pytest.param("move_over", [5] * 99, AccessDenied, id="denied-for-ever"),
        pytest.param("move_over", [112], NoSpace, id="disk-full-at-the-move"),
    ],
)
def test_after_any_failure_the_old_file_stands_alone(
    call: str, codes: list[int], expected: type[HostError]
) -> None:
    volume = RecordingVolume({call: codes})
    with pytest.raises(expected) as failure:
        put(volume)
    assert (type(failure.value), failure.value.code) == (expected, codes[0])
    assert volume.files == OLD


def test_content_that_fails_on_its_way_leaves_the_old_file() -> None:
    def download() -> Iterator[bytes]:
        yield b"ne"
        raise ConnectionResetError

    volume = RecordingVolume()
    with pytest.raises(ConnectionResetError):
        put(volume, download())
    assert volume.files == OLD


def test_the_first_failure_is_told_where_the_clearing_up_fails_too() -> None:
    volume = RecordingVolume({"write": [112], "remove": [32] * 99})
    with pytest.raises(NoSpace):
        put(volume)


@pytest.mark.parametrize("code", [5, 32])
def test_a_running_program_is_put_aside_at_once(code: int) -> None:
    volume = RecordingVolume({"move_over": [code]}, running=True)
    aside = put(volume)
    assert aside is not None
    assert aside.parent == TARGET.parent
    assert volume.files == NEW | {aside.name: OLD[TARGET.name]}
    assert volume.calls[-4:] == [
        "move_over wmcb-X.tmp kubelet.conf",
        "is_running kubelet.conf",
        "move kubelet.conf wmcb-X.old",
        "move wmcb-X.tmp kubelet.conf",
    ]


def test_a_program_put_aside_comes_back_when_the_new_one_cannot_take_its_name() -> None:
    volume = RecordingVolume({"move_over": [5], "move": [0, 112]}, running=True)
    with pytest.raises(NoSpace):
        put(volume)
    assert volume.files == OLD


def test_pauses_grow_and_end_within_the_limit() -> None:
    clock = StoppedClock()

    def attempt() -> None:
        raise InUse("open", "it", 32)

    with pytest.raises(InUse):
        patiently(clock, attempt)
    assert clock.pauses == sorted(clock.pauses)
    assert clock.pauses[0] < 0.02 < clock.pauses[-1]
    assert PATIENCE_SECONDS * 0.75 < sum(clock.pauses) <= PATIENCE_SECONDS


@pytest.mark.parametrize("kind", [NoSpace, AccessDenied, ProgramRunning])
def test_what_waiting_does_not_cure_is_not_tried_again(kind: type[HostError]) -> None:
    clock = StoppedClock()

    def attempt() -> None:
        raise kind("write", "it", 5)

    with pytest.raises(kind):
        patiently(clock, attempt)
    assert clock.pauses == []


@pytest.mark.parametrize("call", ["create", "write", "flush"])
def test_what_fails_is_told_by_the_name_that_the_file_is_to_have(call: str) -> None:
    with pytest.raises(NoSpace) as failure:
        put(RecordingVolume({call: [112]}))
    assert str(failure.value) == f"cannot {call} {TARGET}: the disk is full (Windows error 112)"


def test_what_fails_in_the_content_is_told_as_it_is() -> None:
    def content() -> Iterator[bytes]:
        yield b"ne"
        raise host_error("read", "the source", 5)

    with pytest.raises(AccessDenied, match="cannot read the source"):
        put(RecordingVolume(), content())
