"""The lab's cache holds whole things only, one of each."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("the lab runs on Linux", allow_module_level=True)

import os
import subprocess
import time
from pathlib import Path

from lab import cache


@pytest.fixture(autouse=True)
def kept_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WMCB_LAB_CACHE", str(tmp_path))
    return tmp_path


def write(into: Path) -> None:
    (into / "file").write_text("made")


def test_a_thing_is_built_once() -> None:
    first = cache.built("thing", "1", write)
    assert (first / "file").read_text() == "made"

    def again(_: Path) -> None:
        raise AssertionError("it is there already")

    assert cache.built("thing", "1", again) == first


def test_other_ingredients_make_another_thing() -> None:
    assert cache.built("thing", "1", write) != cache.built("thing", "2", write)


def test_a_failed_build_leaves_nothing(kept_in: Path) -> None:
    def fail(into: Path) -> None:
        write(into)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        cache.built("thing", "1", fail)
    assert [path.name for path in kept_in.iterdir()] == ["thing.lock"]
    assert cache.built("thing", "1", write).exists()


def test_what_a_killed_build_left_is_swept(kept_in: Path) -> None:
    left = kept_in / ".thing.unfinished-abc"
    left.mkdir()
    write(left)
    cache.built("thing", "1", write)
    assert not left.exists()


@pytest.mark.parametrize(("days", "stays"), [(13, True), (15, False)])
def test_a_version_long_unused_makes_room_for_another(days: int, stays: bool) -> None:
    old = cache.built("thing", "0" * 16, write)
    neighbour = cache.built("thing-else", "0" * 16, write)
    then = time.time() - days * 24 * 3600
    for place in (old, neighbour):
        os.utime(place, (then, then))
    cache.built("thing", "1" * 16, write)
    assert old.exists() == stays
    assert neighbour.exists()


def test_a_version_in_use_is_kept() -> None:
    old = cache.built("thing", "0" * 16, write)
    os.utime(old, (0, 0))
    cache.built("thing", "0" * 16, write)
    cache.built("thing", "1" * 16, write)
    assert old.exists()


def test_two_labs_at_once_build_a_thing_once(kept_in: Path) -> None:
    program = (
        "from lab import cache\n"
        "from lab.waiting import until\n"
        "def note(name):\n"
        "    with (cache.folder() / name).open('a') as log: log.write('x')\n"
        "def build(into):\n"
        "    note('builds')\n"
        "    until(lambda: (cache.folder() / 'come').read_text() == 'xx', 'both have come')\n"
        "note('come')\n"
        "cache.built('thing', '1', build)\n"
    )
    both = [subprocess.Popen([sys.executable, "-c", program], cwd="tests") for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    assert (kept_in / "builds").read_text() == "x"


def made_of(tmp_path: Path, change: str) -> str:
    folder = tmp_path / change
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "a").write_text("2" if change == "content" else "1")
    (folder / ("other" if change == "name" else "b")).write_text("1")
    return cache.digest("text" if change != "text" else "other", folder, write)


@pytest.mark.parametrize("change", ["content", "name", "text"])
def test_a_key_changes_with_what_a_thing_is_made_of(tmp_path: Path, change: str) -> None:
    assert made_of(tmp_path, change) != made_of(tmp_path, "nothing")


def test_a_key_is_the_same_for_the_same(tmp_path: Path) -> None:
    assert made_of(tmp_path, "nothing") == made_of(tmp_path, "nothing again")
