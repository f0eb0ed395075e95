"""Files and folders: what the port says of them, on every host."""

from __future__ import annotations

import secrets
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import (
    AlreadyExists,
    BadName,
    HostError,
    InUse,
    NotEmpty,
    NotFound,
    ProgramRunning,
    ReparsePoint,
    WrongKind,
)
from agent.host.files import FileChange, FileKind, Files, FileState, KeyChange, RoutingChange
from agent.host.port import Principal, RegistryKind, RegistryValue, Watch
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sddl import SecurityDescriptor
from contract.world import Sharing, World, wine_cannot

OWNED_BY_ANOTHER = SecurityDescriptor.parse("O:S-1-5-21-1-2-3-1001D:P(A;OICI;FA;;;S-1-5-21-1-2-3-1001)")
NO_LINKS = "it has no symbolic links or junctions"


# What is there


def test_nothing_is_observed_where_nothing_is(world: World) -> None:
    assert world.host.files.observe(world.folder / "nothing") is None


def test_nothing_is_observed_below_what_is_not_there(world: World) -> None:
    assert world.host.files.observe(world.folder / "nothing" / "below") is None


def test_a_file_is_observed(world: World) -> None:
    path = world.folder / "file"
    before = time.time()
    world.host.files.write(path, b"12345", PRIVATE_FILE)
    state = world.host.files.observe(path)
    assert state is not None
    assert state == FileState(FileKind.FILE, 5, state.modified, read_only=False)
    # File systems count time in steps of their own.
    assert before - 2 <= state.modified <= time.time() + 2


def test_a_folder_is_observed(world: World) -> None:
    state = world.host.files.observe(world.folder)
    assert state is not None
    assert (state.kind, state.size, state.read_only) == (FileKind.DIRECTORY, 0, False)


def test_a_read_only_mark_is_observed(world: World) -> None:
    world.plant_file(world.folder / "file", read_only=True)
    state = world.host.files.observe(world.folder / "file")
    assert state is not None
    assert state.read_only


def test_names_have_no_case_and_keep_theirs(world: World) -> None:
    files = world.host.files
    files.make_directory(world.folder / "Kubernetes", PRIVATE_DIRECTORY)
    files.write(world.folder / "KUBERNETES" / "Kubelet.CONF", b"x", PRIVATE_FILE)
    assert files.list(world.folder) == ["Kubernetes"]
    assert files.list(world.folder / "kubernetes") == ["Kubelet.CONF"]
    assert files.read(world.folder / "kubernetes" / "kubelet.conf") == b"x"


@pytest.mark.parametrize(
    "name", ["Straße", "ÅNGSTRÖM", "日本語", "a b", "x" * 200, "%TEMP%", "-", "'"], ids=ascii
)
def test_unusual_names_are_kept(world: World, name: str) -> None:
    world.host.files.write(world.folder / name, b"x", PRIVATE_FILE)
    assert world.host.files.list(world.folder) == [name]
    assert world.outside(world.folder / name).read_bytes() == b"x"


def test_a_long_path(world: World) -> None:
    path = world.folder
    for _ in range(4):
        path /= "d" * 100
        world.host.files.make_directory(path, PRIVATE_DIRECTORY)
    assert world.host.files.write(path / "file", b"x", PRIVATE_FILE) is None
    assert world.host.files.read(path / "file") == b"x"
    for folder in (path, *path.parents):
        with suppress(NotFound):
            world.host.files.remove(folder / "file")
        if folder == world.folder:
            break
        world.host.files.remove_directory(folder)


EVERY_CALL: dict[str, Callable[[Files, PureWindowsPath], object]] = {
    "observe": lambda files, path: files.observe(path),
    "examine": lambda files, path: files.examine(path, content=True),
    "entries": lambda files, path: list(files.entries(path)),
    "link_target": lambda files, path: files.link_target(path),
    "read": lambda files, path: files.read(path),
    "blocks": lambda files, path: list(files.blocks(path)),
    "tail": lambda files, path: files.tail(path, 1),
    "native_path": lambda files, path: files.native_path(path),
    "list": lambda files, path: files.list(path),
    "make_directory": lambda files, path: files.make_directory(path, PRIVATE_DIRECTORY),
    "write": lambda files, path: files.write(path, b"", PRIVATE_FILE),
    "append": lambda files, path: files.append(path, b"", PRIVATE_FILE),
    "move": lambda files, path: files.move(path, path.with_name("elsewhere")),
    "set_aside": lambda files, path: files.set_aside(
        path, path.with_name("elsewhere"), (), PRIVATE_DIRECTORY
    ),
    "remove": lambda files, path: files.remove(path),
    "remove_directory": lambda files, path: files.remove_directory(path),
    "remove_at_reboot": lambda files, path: files.remove_at_reboot(path),
    "descriptor": lambda files, path: files.descriptor(path),
    "set_descriptor": lambda files, path: files.set_descriptor(path, PRIVATE_FILE),
    "watch": lambda files, path: files.watch(path, recursive=False).close(),
    "watch_all": lambda files, path: files.watch_all([path]).close(),
}
CREATING = {"make_directory", "write", "append"}


@pytest.mark.parametrize("call", EVERY_CALL.values(), ids=EVERY_CALL)
def test_a_name_that_means_another_file_is_refused_by_every_call(
    world: World, call: Callable[[Files, PureWindowsPath], object]
) -> None:
    with pytest.raises(BadName):
        call(world.host.files, world.folder / "file.")


@pytest.mark.parametrize(
    "name", ["nul", "COM1.log", "a:b", "a ", "a.", "..", "a?", "a\tb", "x" * 256], ids=ascii
)
def test_bad_names_are_refused(world: World, name: str) -> None:
    with pytest.raises(BadName):
        world.host.files.write(world.folder / name, b"", PRIVATE_FILE)
    assert world.host.files.list(world.folder) == []


@pytest.mark.parametrize("name", sorted(EVERY_CALL.keys() - CREATING - {"observe", "examine"}))
def test_what_is_not_there_is_not_found(world: World, name: str) -> None:
    with pytest.raises(NotFound) as refused:
        EVERY_CALL[name](world.host.files, world.folder / "nothing")
    assert refused.value.code == 2


@pytest.mark.parametrize("name", sorted(EVERY_CALL.keys() - {"observe", "examine"}))
def test_a_missing_folder_on_the_way_is_told_apart(world: World, name: str) -> None:
    with pytest.raises(NotFound) as refused:
        EVERY_CALL[name](world.host.files, world.folder / "nothing" / "below")
    assert refused.value.code == 3


@pytest.mark.parametrize("name", sorted(EVERY_CALL.keys() - {"observe", "examine"}))
def test_a_file_on_the_way_is_no_folder(world: World, name: str) -> None:
    world.plant_file(world.folder / "file")
    with pytest.raises(NotFound) as refused:
        EVERY_CALL[name](world.host.files, world.folder / "file" / "below")
    assert refused.value.code == 3


@pytest.mark.parametrize("name", ["read", "blocks", "tail", "write", "append", "remove"])
def test_a_folder_where_a_file_was_meant(world: World, name: str) -> None:
    world.plant_folder(world.folder / "folder")
    with pytest.raises(WrongKind):
        EVERY_CALL[name](world.host.files, world.folder / "folder")
    assert world.host.files.list(world.folder) == ["folder"]


@pytest.mark.parametrize("name", ["list", "remove_directory", "watch", "watch_all"])
def test_a_file_where_a_folder_was_meant(world: World, name: str) -> None:
    world.plant_file(world.folder / "file")
    with pytest.raises(WrongKind):
        EVERY_CALL[name](world.host.files, world.folder / "file")
    assert world.host.files.list(world.folder) == ["file"]


# Reading


@pytest.mark.parametrize(
    ("limit", "content"),
    [(None, b"0123456789"), (4, b"0123"), (0, b""), (99, b"0123456789")],
    ids=["all", "four-bytes", "none", "more-than-there-is"],
)
def test_read(world: World, limit: int | None, content: bytes) -> None:
    world.plant_file(world.folder / "file", b"0123456789")
    assert world.host.files.read(world.folder / "file", limit) == content


@pytest.mark.parametrize(
    ("limit", "content"), [(4, b"6789"), (0, b""), (99, b"0123456789")], ids=["four-bytes", "none", "all"]
)
def test_tail(world: World, limit: int, content: bytes) -> None:
    world.plant_file(world.folder / "file", b"0123456789")
    assert world.host.files.tail(world.folder / "file", limit) == content


def test_a_large_file_in_blocks(world: World) -> None:
    content = bytes(range(256)) * 12_345
    world.plant_file(world.folder / "file", content)
    blocks = list(world.host.files.blocks(world.folder / "file"))
    assert b"".join(blocks) == content
    assert len(blocks) > 1


def test_a_file_read_in_blocks_may_be_renamed_meanwhile(world: World) -> None:
    world.plant_file(world.folder / "file", b"x" * 10)
    blocks = world.host.files.blocks(world.folder / "file")
    assert next(blocks) == b"x" * 10
    world.host.files.move(world.folder / "file", world.folder / "moved")
    assert list(blocks) == []


@pytest.mark.parametrize("name", ["read", "blocks", "tail"])
def test_a_file_that_is_held_alone_cannot_be_read(world: World, name: str) -> None:
    world.plant_file(world.folder / "file", b"x")
    with world.hold_open(world.folder / "file", Sharing.NOTHING), pytest.raises(InUse) as refused:
        EVERY_CALL[name](world.host.files, world.folder / "file")
    assert refused.value.code == 32


@pytest.mark.parametrize("name", ["read", "blocks", "tail"])
def test_a_file_that_is_held_for_reading_can_be_read(world: World, name: str) -> None:
    world.plant_file(world.folder / "file", b"x")
    with world.hold_open(world.folder / "file", Sharing.READING):
        assert EVERY_CALL[name](world.host.files, world.folder / "file") in (b"x", [b"x"])


def test_a_running_program_can_be_copied(world: World) -> None:
    files, path = world.host.files, world.folder / "program.exe"
    with world.run_from(path):
        assert files.write(world.folder / "copy.exe", files.blocks(path), PROGRAM_FILE) is None
    assert files.read(world.folder / "copy.exe") == world.outside(path).read_bytes()


def test_a_copy_of_a_large_file_needs_little_memory(world: World) -> None:
    size, files = 64 << 20, world.host.files
    with world.outside(world.folder / "large").open("wb") as large:
        large.truncate(size)
    tracemalloc.start()
    try:
        files.write(world.folder / "copy", files.blocks(world.folder / "large"), PROGRAM_FILE)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert world.outside(world.folder / "copy").stat().st_size == size
    assert most < 8 << 20


def test_names_are_listed_in_order_without_regard_to_case(world: World) -> None:
    for name in ("b", "A", "C", "_", "a1"):
        world.plant_file(world.folder / name)
    assert world.host.files.list(world.folder) == ["_", "A", "a1", "b", "C"]


# Folders


def test_a_folder_is_made_once(world: World) -> None:
    world.host.files.make_directory(world.folder / "folder", PRIVATE_DIRECTORY)
    assert world.outside(world.folder / "folder").is_dir()
    with pytest.raises(AlreadyExists):
        world.host.files.make_directory(world.folder / "FOLDER", PRIVATE_DIRECTORY)


def test_a_folder_is_not_made_over_a_file(world: World) -> None:
    world.plant_file(world.folder / "file", b"x")
    with pytest.raises(AlreadyExists):
        world.host.files.make_directory(world.folder / "file", PRIVATE_DIRECTORY)


def test_an_empty_folder_is_removed(world: World) -> None:
    world.host.files.make_directory(world.folder / "folder", PRIVATE_DIRECTORY)
    world.host.files.remove_directory(world.folder / "folder")
    assert world.host.files.list(world.folder) == []


def test_a_folder_that_holds_something_stays(world: World) -> None:
    world.plant_folder(world.folder / "folder")
    world.plant_file(world.folder / "folder" / "file")
    with pytest.raises(NotEmpty) as refused:
        world.host.files.remove_directory(world.folder / "folder")
    assert refused.value.code == 145
    assert world.host.files.list(world.folder / "folder") == ["file"]


# Writing


@pytest.mark.parametrize(
    "old", [None, b"", b"old content, longer than the new"], ids=["new", "empty", "over-old"]
)
@pytest.mark.parametrize(
    "content", [b"new", b"", [b"n", b"", b"ew"], []], ids=["bytes", "nothing", "pieces", "no-pieces"]
)
def test_write(world: World, old: bytes | None, content: bytes | list[bytes]) -> None:
    path = world.folder / "file"
    if old is not None:
        world.plant_file(path, old)
    assert world.host.files.write(path, content, PRIVATE_FILE) is None
    assert world.outside(path).read_bytes() == (content if isinstance(content, bytes) else b"".join(content))
    assert world.host.files.list(world.folder) == ["file"]


def test_a_large_file_is_written_in_pieces(world: World) -> None:
    piece = bytes(range(256)) * 4096
    world.host.files.write(world.folder / "file", (piece for _ in range(8)), PRIVATE_FILE)
    assert world.outside(world.folder / "file").read_bytes() == piece * 8


def test_the_old_file_stands_until_the_new_one_is_whole(world: World) -> None:
    path = world.folder / "file"
    world.host.files.write(path, b"old", PRIVATE_FILE)
    seen = []

    def content() -> Iterator[bytes]:
        yield b"ne"
        seen.append(world.host.files.read(path))
        yield b"w"

    world.host.files.write(path, content(), PRIVATE_FILE)
    assert seen == [b"old"]
    assert world.host.files.read(path) == b"new"


@wine_cannot("it keeps permission bits in place of descriptors", weaker=True)
def test_a_file_has_its_descriptor_before_its_content(world: World) -> None:
    files = world.host.files
    seen = []

    def content() -> Iterator[bytes]:
        (name,) = files.list(world.folder)
        seen.append(files.descriptor(world.folder / name))
        yield b"secret"
        seen.append(files.descriptor(world.folder / name))

    files.write(world.folder / "file", content(), PRIVATE_FILE)
    for descriptor in seen:
        assert world.granted(descriptor, Principal.USER) == 0
        assert world.under_wine or descriptor.equivalent(PRIVATE_FILE)
    assert len(seen) == 2


def test_a_file_that_is_being_written_is_nobody_elses(world: World) -> None:
    refused = []

    def content() -> Iterator[bytes]:
        yield b"half"
        (name,) = world.host.files.list(world.folder)
        with pytest.raises(InUse) as refusal:
            world.host.files.read(world.folder / name)
        refused.append(refusal.value.code)

    world.host.files.write(world.folder / "file", content(), PRIVATE_FILE)
    assert refused == [32]


def test_content_that_fails_on_its_way_leaves_the_old_file_alone(world: World) -> None:
    path = world.folder / "file"
    world.host.files.write(path, b"old", PRIVATE_FILE)

    def content() -> Iterator[bytes]:
        yield b"ne"
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        world.host.files.write(path, content(), PRIVATE_FILE)
    assert world.host.files.read(path) == b"old"
    assert world.host.files.list(world.folder) == ["file"]


def test_a_read_only_mark_does_not_hinder(world: World) -> None:
    world.plant_file(world.folder / "file", b"old", read_only=True)
    world.host.files.write(world.folder / "file", b"new", PRIVATE_FILE)
    assert world.host.files.read(world.folder / "file") == b"new"
    assert world.host.files.observe(world.folder / "file") is not None


@pytest.mark.parametrize("sharing", Sharing)
def test_a_target_that_stays_held_is_given_up(world: World, sharing: Sharing) -> None:
    path = world.folder / "file"
    world.plant_file(path, b"old")
    with world.hold_open(path, sharing), pytest.raises(InUse) as refused:
        world.host.files.write(path, b"new", PRIVATE_FILE)
    assert refused.value.code == 32
    assert world.outside(path).read_bytes() == b"old"
    assert world.host.files.list(world.folder) == ["file"]


@pytest.mark.parametrize("name", ["write", "remove"])
def test_a_target_that_is_held_for_a_moment_is_tried_again(world: World, name: str) -> None:
    path = world.folder / "file"
    world.plant_file(path, b"old")
    with ExitStack() as held:
        held.enter_context(world.hold_open(path, Sharing.NOTHING))
        scanner = threading.Timer(0.3, held.close)
        scanner.start()
        EVERY_CALL[name](world.host.files, path)
        scanner.join()
    state = world.host.files.observe(path)
    assert state is None if name == "remove" else state is not None and state.size == 0


def test_a_running_program_is_put_aside(world: World) -> None:
    files = world.host.files
    path = world.folder / "program.exe"
    with world.run_from(path):
        aside = files.write(path, b"new", PROGRAM_FILE)
        assert aside is not None
        assert aside.parent == path.parent
        assert files.read(path) == b"new"
        assert sorted(files.list(world.folder)) == sorted(["program.exe", aside.name])
        with pytest.raises(ProgramRunning):
            files.remove(aside)
    files.remove(aside)
    assert files.list(world.folder) == ["program.exe"]


def test_a_running_program_is_not_removed(world: World) -> None:
    path = world.folder / "program.exe"
    with world.run_from(path), pytest.raises(ProgramRunning) as refused:
        world.host.files.remove(path)
    assert refused.value.code == 5
    assert isinstance(refused.value, InUse)
    assert world.host.files.list(world.folder) == ["program.exe"]


def test_a_running_program_is_moved(world: World) -> None:
    path = world.folder / "program.exe"
    with world.run_from(path):
        world.host.files.move(path, world.folder / "moved.exe")
    assert world.host.files.list(world.folder) == ["moved.exe"]


# Put in place by moving


def _lying(world: World) -> PureWindowsPath:
    world.host.files.make_directory(world.folder / "stock", PRIVATE_DIRECTORY)
    world.host.files.write(world.folder / "stock" / "lying", b"new", PRIVATE_FILE)
    return world.folder / "stock" / "lying"


@pytest.mark.parametrize("former", ["nothing", "a file", "a read-only file"])
def test_a_file_that_lies_ready_is_put_in_place(world: World, former: str) -> None:
    files, path, lying = world.host.files, world.folder / "program.exe", _lying(world)
    if former != "nothing":
        world.plant_file(path, b"old", read_only=former == "a read-only file")
    assert files.put(path, lying, PROGRAM_FILE) is None
    assert files.read(path) == b"new"
    assert files.observe(lying) is None
    if not world.under_wine:
        assert files.descriptor(path).equivalent(PROGRAM_FILE)


def test_a_running_program_makes_room_for_one_that_lies_ready(world: World) -> None:
    files, path, lying = world.host.files, world.folder / "program.exe", _lying(world)
    with world.run_from(path):
        aside = files.put(path, lying, PROGRAM_FILE)
        assert aside is not None
        assert files.read(path) == b"new"
    files.remove(aside)


def test_what_cannot_be_put_in_place_goes_on_lying_ready(world: World) -> None:
    files, path, lying = world.host.files, world.folder / "file", _lying(world)
    world.plant_file(path, b"old")
    with world.hold_open(path, Sharing.NOTHING), pytest.raises(InUse):
        files.put(path, lying, PRIVATE_FILE)
    assert (files.read(path), files.read(lying)) == (b"old", b"new")
    with pytest.raises(WrongKind):
        files.put(world.folder / "stock", lying, PRIVATE_FILE)


# Adding to a file


def test_append(world: World) -> None:
    path = world.folder / "journal"
    for line in (b"one\n", b"", b"two\n"):
        world.host.files.append(path, line, PRIVATE_FILE)
    assert world.outside(path).read_bytes() == b"one\ntwo\n"


def test_what_had_come_stays_when_the_rest_does_not_come(world: World) -> None:
    def coming(*pieces: bytes) -> Iterator[bytes]:
        yield from pieces
        raise ValueError("cut off")

    path = world.folder / "part"
    for pieces in ((b"1", b"2"), (), (b"", b"3")):
        with pytest.raises(ValueError, match="cut off"):
            world.host.files.append(path, coming(*pieces), PRIVATE_FILE)
    world.host.files.append(path, iter([b"4", b"5"]), PRIVATE_FILE)
    assert world.outside(path).read_bytes() == b"12345"


def test_a_file_is_read_here_and_there(world: World) -> None:
    world.plant_file(world.folder / "file", b"0123456789")
    with world.host.files.reading(world.folder / "file") as opened:
        assert opened.size == 10
        assert opened.read(3) == b"012"
        opened.seek(8)
        assert [opened.read(9), opened.read(9)] == [b"89", b""]
        opened.seek(1)
        assert opened.read(1) == b"1"
    with pytest.raises(NotFound), world.host.files.reading(world.folder / "nothing"):
        pass


def test_nothing_is_added_to_a_file_that_somebody_else_holds(world: World) -> None:
    path = world.folder / "journal"
    world.host.files.append(path, b"one\n", PRIVATE_FILE)
    with world.hold_open(path, Sharing.NOTHING), pytest.raises(InUse):
        world.host.files.append(path, b"two\n", PRIVATE_FILE)
    assert world.outside(path).read_bytes() == b"one\n"


# Moving and removing


def test_a_file_is_moved_to_another_folder(world: World) -> None:
    files = world.host.files
    files.make_directory(world.folder / "folder", PRIVATE_DIRECTORY)
    files.write(world.folder / "file", b"x", PRIVATE_FILE)
    files.move(world.folder / "file", world.folder / "folder" / "moved")
    assert files.list(world.folder) == ["folder"]
    assert files.read(world.folder / "folder" / "moved") == b"x"


def test_a_folder_is_moved_with_what_is_in_it(world: World) -> None:
    files = world.host.files
    files.make_directory(world.folder / "folder", PROGRAM_DIRECTORY)
    files.write(world.folder / "folder" / "file", b"x", PRIVATE_FILE)
    files.move(world.folder / "folder", world.folder / "moved")
    assert files.list(world.folder) == ["moved"]
    assert files.read(world.folder / "moved" / "file") == b"x"


@wine_cannot("it keeps permission bits in place of descriptors")
def test_descriptors_move_along(world: World) -> None:
    files = world.host.files
    files.make_directory(world.folder / "folder", PROGRAM_DIRECTORY)
    files.write(world.folder / "folder" / "file", b"x", PRIVATE_FILE)
    files.move(world.folder / "folder", world.folder / "moved")
    assert files.descriptor(world.folder / "moved").equivalent(PROGRAM_DIRECTORY)
    assert files.descriptor(world.folder / "moved" / "file").equivalent(PRIVATE_FILE)


@wine_cannot("it takes a name in other capitals for the same name, and does nothing")
def test_a_name_may_change_its_capitals(world: World) -> None:
    world.host.files.write(world.folder / "file", b"x", PRIVATE_FILE)
    world.host.files.move(world.folder / "file", world.folder / "FILE")
    assert world.host.files.list(world.folder) == ["FILE"]
    assert world.host.files.read(world.folder / "file") == b"x"


def test_a_move_never_replaces(world: World) -> None:
    for name in ("one", "two"):
        world.plant_file(world.folder / name, name.encode())
    with pytest.raises(AlreadyExists):
        world.host.files.move(world.folder / "one", world.folder / "two")
    assert world.outside(world.folder / "two").read_bytes() == b"two"


@wine_cannot("it moves a folder whatever is open in it")
def test_a_folder_with_an_open_file_is_not_moved(world: World) -> None:
    world.plant_folder(world.folder / "folder")
    world.plant_file(world.folder / "folder" / "file")
    with world.hold_open(world.folder / "folder" / "file", Sharing.NOTHING), pytest.raises(InUse):
        world.host.files.move(world.folder / "folder", world.folder / "moved")
    assert world.host.files.list(world.folder) == ["folder"]


# Setting aside what another account made


def _aside(world: World, *owners: str) -> bool:
    folder = world.folder
    return world.host.files.set_aside(folder / "theirs", folder / "aside", owners, PRIVATE_DIRECTORY)


def test_a_folder_of_another_owner_is_set_aside_with_what_is_in_it(world: World) -> None:
    world.plant_folder(world.folder / "theirs")
    world.plant_file(world.folder / "theirs" / "file", b"x", read_only=True)
    assert _aside(world)
    assert world.host.files.list(world.folder) == ["aside"]
    assert world.outside(world.folder / "aside" / "file").read_bytes() == b"x"


@wine_cannot("it keeps permission bits in place of descriptors")
@pytest.mark.parametrize("before", [PROGRAM_DIRECTORY, OWNED_BY_ANOTHER], ids=["program", "another's"])
def test_a_folder_that_is_set_aside_is_closed(world: World, before: SecurityDescriptor) -> None:
    world.host.files.make_directory(world.folder / "theirs", PRIVATE_DIRECTORY)
    world.host.files.set_descriptor(world.folder / "theirs", before)
    assert _aside(world)
    assert world.host.files.descriptor(world.folder / "aside").equivalent(PRIVATE_DIRECTORY)


def test_what_a_named_owner_has_stays(world: World) -> None:
    world.host.files.make_directory(world.folder / "theirs", PROGRAM_DIRECTORY)
    owner = world.host.files.descriptor(world.folder / "theirs").owner
    assert owner is not None
    assert not _aside(world, owner)
    assert world.host.files.list(world.folder) == ["theirs"]


def test_a_file_is_set_aside_as_it_is(world: World) -> None:
    """Under another name the same file may be one of Windows': its descriptor is not touched."""
    world.host.files.write(world.folder / "theirs", b"x", PROGRAM_FILE)
    before = world.host.files.descriptor(world.folder / "theirs")
    assert _aside(world)
    assert world.host.files.descriptor(world.folder / "aside").equivalent(before)


def test_setting_aside_never_replaces(world: World) -> None:
    for name in ("theirs", "aside"):
        world.plant_folder(world.folder / name)
    with pytest.raises(AlreadyExists):
        _aside(world)
    assert world.host.files.list(world.folder) == ["aside", "theirs"]


@wine_cannot("it moves a folder whatever is open in it")
@pytest.mark.parametrize("held", ["theirs", "theirs/file"])
def test_what_is_held_open_is_not_set_aside(world: World, held: str) -> None:
    world.plant_folder(world.folder / "theirs")
    world.plant_file(world.folder / "theirs" / "file")
    with world.hold_open(world.folder / held, Sharing.NOTHING), pytest.raises(InUse):
        _aside(world)
    assert world.host.files.list(world.folder) == ["theirs"]


@wine_cannot(NO_LINKS)
def test_a_link_is_set_aside_and_what_it_leads_to_stays(world: World) -> None:
    world.plant_folder(world.folder / "real")
    world.plant_file(world.folder / "real" / "file", b"x")
    world.plant_junction(world.folder / "theirs", world.folder / "real")
    assert _aside(world)
    state = world.host.files.observe(world.folder / "aside")
    assert state is not None
    assert state.kind is FileKind.LINK
    assert world.host.files.list(world.folder / "real") == ["file"]


@pytest.mark.parametrize("name", ["folder", "file"])
def test_what_is_held_for_a_moment_is_moved(world: World, name: str) -> None:
    world.plant_folder(world.folder / "folder")
    file = world.folder / "folder" / "file"
    world.plant_file(file)
    with ExitStack() as held:
        held.enter_context(world.hold_open(file, Sharing.NOTHING))
        scanner = threading.Timer(0.3, held.close)
        scanner.start()
        world.host.files.move(file if name == "file" else file.parent, world.folder / "moved")
        scanner.join()
    assert "moved" in world.host.files.list(world.folder)


@pytest.mark.parametrize("read_only", [False, True], ids=["plain", "read-only"])
def test_a_file_is_removed(world: World, read_only: bool) -> None:
    world.plant_file(world.folder / "file", read_only=read_only)
    world.host.files.remove(world.folder / "file")
    assert world.host.files.list(world.folder) == []


def test_a_file_that_stays_held_is_not_removed(world: World) -> None:
    world.plant_file(world.folder / "file", b"x")
    with world.hold_open(world.folder / "file", Sharing.READING), pytest.raises(InUse):
        world.host.files.remove(world.folder / "file")
    assert world.host.files.list(world.folder) == ["file"]


@pytest.mark.parametrize("sharing", Sharing)
def test_a_folder_that_stays_held_is_not_removed(world: World, sharing: Sharing) -> None:
    world.plant_folder(world.folder / "folder")
    with world.hold_open(world.folder / "folder", sharing), pytest.raises(InUse) as refused:
        world.host.files.remove_directory(world.folder / "folder")
    assert refused.value.code == 32
    assert world.host.files.list(world.folder) == ["folder"]


def test_a_folder_that_is_held_for_a_moment_is_removed(world: World) -> None:
    world.plant_folder(world.folder / "folder")
    with ExitStack() as held:
        held.enter_context(world.hold_open(world.folder / "folder", Sharing.NOTHING))
        scanner = threading.Timer(0.3, held.close)
        scanner.start()
        world.host.files.remove_directory(world.folder / "folder")
        scanner.join()
    assert world.host.files.list(world.folder) == []


def remove_tree(files: Files, folder: PureWindowsPath) -> None:
    """As whoever uses the port does it."""
    for name in files.list(folder):
        state = files.observe(folder / name)
        assert state is not None
        if state.kind is FileKind.DIRECTORY:
            remove_tree(files, folder / name)
        else:
            files.remove(folder / name)
    files.remove_directory(folder)


def test_a_tree_is_removed(world: World) -> None:
    files, tree = world.host.files, world.folder / "tree"
    world.plant_folder(tree)
    world.plant_file(tree / "read-only", b"x", read_only=True)
    world.plant_folder(tree / "read-only folder", read_only=True)
    deep = tree
    for _ in range(3):
        deep /= "d" * 150
        files.make_directory(deep, PRIVATE_DIRECTORY)
        files.write(deep / ("n" * 255), b"x", PRIVATE_FILE)
        files.make_directory(deep / "empty", PRIVATE_DIRECTORY)
    remove_tree(files, tree)
    assert files.list(world.folder) == []


@wine_cannot(NO_LINKS)
def test_a_tree_is_removed_and_nothing_that_its_links_lead_to(world: World) -> None:
    files, tree, others = world.host.files, world.folder / "tree", world.folder / "others"
    for folder in (tree, tree / "below", others, others / "below"):
        world.plant_folder(folder)
    world.plant_file(others / "file", b"x")
    world.plant_link(tree / "folder link", others)
    world.plant_link(tree / "file link", others / "file")
    world.plant_link(tree / "leads nowhere", others / "nothing")
    world.plant_junction(tree / "below" / "junction", others / "below")
    world.plant_junction(tree / "below" / "round", tree)
    remove_tree(files, tree)
    assert files.list(world.folder) == ["others"]
    assert files.list(others) == ["below", "file"]
    assert files.read(others / "file") == b"x"


def test_a_tree_with_an_open_file_is_removed_later(world: World) -> None:
    files, tree = world.host.files, world.folder / "tree"
    for folder in (tree, tree / "below"):
        world.plant_folder(folder)
    for path in (tree / "a", tree / "below" / "held", tree / "z"):
        world.plant_file(path, b"x")
    with world.hold_open(tree / "below" / "held", Sharing.READING):
        with pytest.raises(InUse, match="held"):
            remove_tree(files, tree)
        with pytest.raises(NotEmpty):
            files.remove_directory(tree / "below")
    remove_tree(files, tree)
    assert files.list(world.folder) == []


def test_what_is_to_go_at_the_next_start_is_noted_where_windows_looks(world: World) -> None:
    path = world.folder / "file"
    world.plant_file(path)
    key, name = r"SYSTEM\CurrentControlSet\Control\Session Manager", "PendingFileRenameOperations"
    before = world.host.registry.read(key, name)
    world.host.files.remove_at_reboot(path)
    noted = world.host.registry.read(key, name)
    assert noted is not None
    assert isinstance(noted.data, tuple)
    place = noted.data.index(f"\\??\\{path}")
    assert noted.data[place : place + 2] == (f"\\??\\{path}", "")
    assert world.host.files.observe(path) is not None
    other = world.folder / "other"
    world.plant_file(other)
    world.host.files.remove_at_reboot(other)
    world.host.files.remove(path)
    world.host.files.keep_at_reboot(path)
    after = world.host.registry.read(key, name)
    assert after is not None
    assert isinstance(after.data, tuple)
    assert f"\\??\\{path}" not in after.data
    assert f"\\??\\{other}" in after.data
    world.host.files.keep_at_reboot(world.folder / "never noted")
    with pytest.raises(BadName):
        world.host.files.keep_at_reboot(world.folder / "other.")
    world.host.files.keep_at_reboot(other)
    assert world.host.registry.read(key, name) == before


# Links


@wine_cannot(NO_LINKS)
def test_a_link_is_told_as_such(world: World) -> None:
    world.plant_folder(world.folder / "real")
    world.plant_link(world.folder / "link", world.folder / "real")
    state = world.host.files.observe(world.folder / "link")
    assert state is not None
    assert state.kind is FileKind.LINK


@wine_cannot(NO_LINKS)
@pytest.mark.parametrize("target", ["real", "nothing"])
def test_a_link_says_where_it_leads(world: World, target: str) -> None:
    world.plant_file(world.folder / "real")
    world.plant_link(world.folder / "link", world.folder / target)
    assert world.host.files.link_target(world.folder / "link") == world.folder / target


def test_what_is_no_link_leads_nowhere(world: World) -> None:
    world.plant_file(world.folder / "file")
    with pytest.raises(HostError, match="cannot read the link") as refused:
        world.host.files.link_target(world.folder / "file")
    assert refused.value.code != 2


@wine_cannot(NO_LINKS)
@pytest.mark.parametrize("name", EVERY_CALL)
def test_no_link_is_followed_on_the_way(world: World, name: str) -> None:
    world.plant_folder(world.folder / "real")
    world.plant_file(world.folder / "real" / "file", b"x")
    world.plant_link(world.folder / "link", world.folder / "real")
    with pytest.raises(ReparsePoint):
        EVERY_CALL[name](world.host.files, world.folder / "link" / "file")
    assert world.outside(world.folder / "real" / "file").read_bytes() == b"x"


@wine_cannot(NO_LINKS)
@pytest.mark.parametrize(
    "name",
    sorted(
        EVERY_CALL.keys()
        - {"observe", "examine", "link_target", "set_aside", "remove", "make_directory", "remove_at_reboot"}
    ),
)
def test_no_link_is_followed_at_the_end(world: World, name: str) -> None:
    world.plant_folder(world.folder / "real")
    world.plant_link(world.folder / "link", world.folder / "real")
    with pytest.raises(ReparsePoint):
        EVERY_CALL[name](world.host.files, world.folder / "link")
    assert world.host.files.list(world.folder / "real") == []


@wine_cannot(NO_LINKS)
def test_a_link_is_removed_and_what_it_leads_to_stays(world: World) -> None:
    world.plant_folder(world.folder / "real")
    world.plant_link(world.folder / "link", world.folder / "real")
    world.host.files.remove(world.folder / "link")
    assert world.host.files.list(world.folder) == ["real"]


# A path for a library of this process


def test_the_native_path_of_a_file_opens_it(world: World) -> None:
    world.host.files.write(world.folder / "Key.pem", b"a key", PRIVATE_FILE)
    assert world.host.files.native_path(world.folder / "key.PEM").read_bytes() == b"a key"


def test_what_is_no_file_has_no_native_path(world: World) -> None:
    with pytest.raises(NotFound):
        world.host.files.native_path(world.folder / "nothing")
    with pytest.raises(WrongKind):
        world.host.files.native_path(world.folder)


# Watching

PATIENCE = 60.0


def changed(
    watch: Watch[FileChange] | Watch[FileChange | KeyChange | RoutingChange],
    wanted: PureWindowsPath | KeyChange,
) -> bool:
    """Whether the change is told of, among others that may be."""
    deadline = time.monotonic() + PATIENCE
    while (left := deadline - time.monotonic()) > 0:
        for change in watch.wait(left):
            if change == wanted or (isinstance(change, FileChange) and change.path in (None, wanted)):
                return True
    return False


CHANGES: dict[str, Callable[[World], object]] = {
    "new": lambda world: world.plant_file(world.folder / "new", b"x"),
    "file": lambda world: world.plant_file(world.folder / "file", b"longer than before"),
    "old": lambda world: world.host.files.remove(world.folder / "old"),
    "moved": lambda world: world.host.files.move(world.folder / "file", world.folder / "moved"),
    "replaced": lambda world: world.host.files.write(world.folder / "replaced", b"x", PRIVATE_FILE),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told(world: World, name: str) -> None:
    for planted in ("file", "old", "replaced"):
        world.plant_file(world.folder / planted)
    with world.host.files.watch(world.folder, recursive=False) as watch:
        CHANGES[name](world)
        assert changed(watch, world.folder / name)


def test_a_change_of_protection_is_told(world: World) -> None:
    world.host.files.write(world.folder / "file", b"x", PRIVATE_FILE)
    with world.host.files.watch(world.folder, recursive=False) as watch:
        world.host.files.set_descriptor(world.folder / "file", PROGRAM_FILE)
        assert changed(watch, world.folder / "file")


@wine_cannot("it watches only those folders below that are made later")
def test_a_change_far_below_is_told(world: World) -> None:
    world.plant_folder(world.folder / "a")
    world.plant_folder(world.folder / "a" / "b")
    with world.host.files.watch(world.folder, recursive=True) as watch:
        world.plant_file(world.folder / "a" / "b" / "file")
        assert changed(watch, world.folder / "a" / "b" / "file")


def test_a_change_below_is_not_told_where_it_was_not_asked_for(world: World) -> None:
    world.plant_folder(world.folder / "a")
    with world.host.files.watch(world.folder, recursive=False) as watch:
        world.plant_file(world.folder / "a" / "file")
        world.plant_file(world.folder / "last")
        deadline = time.monotonic() + PATIENCE
        told: set[PureWindowsPath | None] = set()
        while world.folder / "last" not in told and time.monotonic() < deadline:
            told |= {change.path for change in watch.wait(1)}
    assert world.folder / "last" in told
    assert world.folder / "a" / "file" not in told


def test_nothing_is_told_where_nothing_happens(world: World) -> None:
    with world.host.files.watch(world.folder, recursive=True) as watch:
        before = time.monotonic()
        assert list(watch.wait(0.2)) == []
        assert time.monotonic() - before >= 0.15


def test_what_happened_between_two_calls_is_told(world: World) -> None:
    with world.host.files.watch(world.folder, recursive=False) as watch:
        world.plant_file(world.folder / "one")
        assert changed(watch, world.folder / "one")
        world.plant_file(world.folder / "two")
        assert changed(watch, world.folder / "two")


def test_several_folders_are_watched_as_one(world: World) -> None:
    folders = [world.folder / name for name in ("a", "b", "c")]
    for folder in folders:
        world.plant_folder(folder)
    with world.host.files.watch_all(folders) as watch:
        for folder in (*folders, folders[0]):
            world.plant_file(folder / f"in {folder.name}", b"x")
            assert changed(watch, folder / f"in {folder.name}")
            world.host.files.remove(folder / f"in {folder.name}")
            assert changed(watch, folder / f"in {folder.name}")


@pytest.fixture
def key(world: World) -> Iterator[str]:
    key = f"SOFTWARE\\wmcb-contract-{secrets.token_hex(4)}"
    world.host.registry.make_key(key)
    yield key
    with suppress(NotFound):
        world.host.registry.remove_key(key)


def test_keys_of_the_registry_are_watched_beside_folders(world: World, key: str) -> None:
    registry, number = world.host.registry, RegistryValue(RegistryKind.NUMBER, 1)
    with world.host.files.watch_all([world.folder], [key]) as watch:
        for change in (
            lambda: registry.write(key, "Name", number),
            lambda: registry.write(key, "Name", RegistryValue(RegistryKind.NUMBER, 2)),
            lambda: registry.remove(key, "Name"),
            lambda: registry.make_key(f"{key}\\below"),
        ):
            change()  # type: ignore[no-untyped-call]
            assert changed(watch, KeyChange(key))
        world.plant_file(world.folder / "file", b"x")
        assert changed(watch, world.folder / "file")


@wine_cannot("it does not tell that a watched key is gone")
def test_a_watched_key_that_goes_away_is_told_and_the_others_are_watched_further(
    world: World, key: str
) -> None:
    registry = world.host.registry
    registry.make_key(f"{key}\\other")
    with world.host.files.watch_all([], [key, f"{key}\\other"]) as watch:
        registry.remove_key(f"{key}\\other")
        assert changed(watch, KeyChange(f"{key}\\other"))
        registry.write(key, "Name", RegistryValue(RegistryKind.NUMBER, 1))
        assert changed(watch, KeyChange(key))


def test_a_key_that_is_not_there_cannot_be_watched(world: World, key: str) -> None:
    with pytest.raises(NotFound):
        world.host.files.watch_all([], [key, f"{key}\\nowhere"])


def test_several_watched_folders_are_let_go_at_once(world: World) -> None:
    world.plant_folder(world.folder / "a")
    watch = world.host.files.watch_all([world.folder, world.folder / "a"])
    told: list[object] = []
    waiting = threading.Thread(target=lambda: told.append(watch.wait(10 * PATIENCE)))
    waiting.start()
    watch.close()
    waiting.join(PATIENCE)
    assert told == [[]]
    world.host.files.remove_directory(world.folder / "a")


@wine_cannot("it does not tell that a watched folder is gone")
def test_one_of_several_that_goes_away_is_told_and_the_others_are_watched_further(world: World) -> None:
    for name in ("a", "b"):
        world.plant_folder(world.folder / name)
    with world.host.files.watch_all([world.folder / "a", world.folder / "b"]) as watch:
        world.host.files.remove_directory(world.folder / "a")
        assert changed(watch, world.folder / "a")
        world.plant_file(world.folder / "b" / "file")
        assert changed(watch, world.folder / "b" / "file")


def test_errors_name_the_action_the_path_and_the_code(world: World) -> None:
    with pytest.raises(HostError) as refused:
        world.host.files.read(world.folder / "nothing")
    assert (
        str(refused.value) == f"cannot read {world.folder / 'nothing'}: it does not exist (Windows error 2)"
    )
