"""One look at a file, and one at all that is in a folder."""

from __future__ import annotations

import hashlib

import pytest

from agent.host.errors import BadName, InUse, NotFound, WrongKind
from agent.host.files import Entry, Examined, FileKind
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_FILE
from contract.world import Sharing, World, wine_cannot

NO_LINKS = "it has no symbolic links or junctions"


@pytest.mark.parametrize("size", [0, 1, 5_000, 1 << 20, (1 << 20) + 1])
def test_a_file_is_what_the_calls_for_each_say(world: World, size: int) -> None:
    files, path, content = world.host.files, world.folder / "file", b"x" * size
    files.write(path, content, PRIVATE_FILE)
    state = files.observe(path)
    assert state is not None
    descriptor = files.descriptor(path)
    assert files.examine(path) == Examined(state, descriptor)
    digest = hashlib.sha256(content).hexdigest()
    assert files.examine(path, content=True) == Examined(state, descriptor, digest)


@pytest.mark.parametrize("content", [False, True])
def test_a_folder_has_no_content(world: World, content: bool) -> None:
    found = world.host.files.examine(world.folder, content=content)
    assert found is not None
    assert found.state.kind is FileKind.DIRECTORY
    assert found.descriptor == world.host.files.descriptor(world.folder)
    assert found.sha256 is None


@wine_cannot(NO_LINKS)
@pytest.mark.parametrize("content", [False, True])
def test_of_a_link_nothing_is_told_but_that_it_is_one(world: World, content: bool) -> None:
    world.plant_file(world.folder / "file", b"x")
    world.plant_link(world.folder / "link", world.folder / "file")
    found = world.host.files.examine(world.folder / "link", content=content)
    assert found is not None
    assert (found.state.kind, found.descriptor, found.sha256) == (FileKind.LINK, None, None)


@pytest.mark.parametrize("name", ["nothing", "no folder\\nothing"])
def test_nothing_is_there(world: World, name: str) -> None:
    assert world.host.files.examine(world.folder / name, content=True) is None


def test_what_is_being_written_is_not_read(world: World) -> None:
    path = world.folder / "file"
    world.plant_file(path, b"x")
    with world.hold_open(path, Sharing.NOTHING):
        with pytest.raises(InUse):
            world.host.files.examine(path, content=True)
        assert world.host.files.examine(path) is not None
    with world.hold_open(path, Sharing.READING):
        assert world.host.files.examine(path, content=True) is not None


def test_entries_are_what_the_calls_for_each_say(world: World) -> None:
    files, folder = world.host.files, world.folder
    files.write(folder / "b", b"x", PRIVATE_FILE)
    files.write(folder / "A", b"x", PROGRAM_FILE)
    files.make_directory(folder / "c", PRIVATE_DIRECTORY)
    files.write(folder / "c" / "inside", b"x", PRIVATE_FILE)
    world.plant_file(folder / "d")
    kinds = {"A": FileKind.FILE, "b": FileKind.FILE, "c": FileKind.DIRECTORY, "d": FileKind.FILE}
    expected = [Entry(name, kind, files.descriptor(folder / name)) for name, kind in kinds.items()]
    assert list(files.entries(folder)) == expected


@wine_cannot(NO_LINKS)
def test_a_link_is_an_entry_and_not_followed(world: World) -> None:
    world.plant_folder(world.folder / "real")
    world.plant_link(world.folder / "link", world.folder / "real")
    assert [entry.kind for entry in world.host.files.entries(world.folder)] == [
        FileKind.LINK,
        FileKind.DIRECTORY,
    ]


def test_what_is_no_folder_has_no_entries(world: World) -> None:
    world.plant_file(world.folder / "file")
    with pytest.raises(WrongKind):
        list(world.host.files.entries(world.folder / "file"))
    with pytest.raises(NotFound):
        list(world.host.files.entries(world.folder / "nothing"))
    with pytest.raises(BadName):
        list(world.host.files.entries(world.folder / "nothing."))
