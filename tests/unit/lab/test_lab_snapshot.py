"""What is told of the difference between two snapshots."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("the lab runs on Linux", allow_module_level=True)

from collections.abc import Callable
from pathlib import Path

from lab.registry import Value
from lab.snapshot import Entry, Snapshot, files_below

KEY = r"HKEY_LOCAL_MACHINE\Software\Lab"


@pytest.fixture
def drive(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir(mode=0o755)
    (tmp_path / "folder" / "file").write_text("before")
    (tmp_path / "folder" / "file").chmod(0o644)
    (tmp_path / "link").symlink_to("folder")
    return tmp_path


def files(drive: Path) -> Snapshot:
    return Snapshot(files_below(drive), {})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(lambda d: (d / "new").touch(), [r"C:\new: new, file"], id="a file"),
        pytest.param(lambda d: (d / "new").mkdir(), [r"C:\new: new, folder"], id="a folder"),
        pytest.param(lambda d: (d / "folder" / "file").unlink(), [r"C:\folder\file: gone"], id="less"),
        pytest.param(
            lambda d: (d / "folder" / "file").write_text("beyond"), [r"C:\folder\file: file"], id="as long"
        ),
        pytest.param(lambda d: (d / "folder").chmod(0o700), [r"C:\folder: folder"], id="who may do what"),
        pytest.param(
            lambda d: (d / "folder" / "file").rename(d / "folder" / "File"),
            [r"C:\folder\File: new", r"C:\folder\file: gone"],
            id="capitals",
        ),
        pytest.param(
            lambda d: ((d / "link").unlink(), (d / "link").symlink_to("elsewhere")),
            [r"C:\link: link"],
            id="another target",
        ),
        pytest.param(lambda d: (d / "folder" / "file").read_text(), [], id="nothing"),
    ],
)  # fmt: skip
def test_what_changes_on_the_drive_is_told(
    drive: Path, change: Callable[[Path], object], told: list[str]
) -> None:
    before = files(drive)
    change(drive)
    lines = before.changes_until(files(drive))
    assert len(lines) == len(told)
    assert all(line.startswith(beginning) for line, beginning in zip(lines, told, strict=True)), lines


TEXT = Value("REG_SZ", "1")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        pytest.param({}, {KEY: {}}, [f"{KEY}: new, a key"], id="a key"),
        pytest.param({KEY: {}}, {}, [f"{KEY}: gone, was a key"], id="no key"),
        pytest.param(
            {KEY: {}},
            {KEY: {"": TEXT}},
            [rf"{KEY}\@: new, Value(type='REG_SZ', data='1')"],
            id="the value without a name",
        ),
        pytest.param(
            {KEY: {"a": TEXT}},
            {KEY: {"a": Value("REG_EXPAND_SZ", "1")}},
            [rf"{KEY}\a: Value(type='REG_SZ', data='1') became Value(type='REG_EXPAND_SZ', data='1')"],
            id="another type",
        ),
        pytest.param({KEY: {"a": TEXT}}, {KEY: {"a": TEXT}}, [], id="nothing"),
    ],
)
def test_what_changes_in_the_registry_is_told(
    before: dict[str, dict[str, Value]], after: dict[str, dict[str, Value]], told: list[str]
) -> None:
    assert Snapshot({}, before).changes_until(Snapshot({}, after)) == told


CONTROL = r"HKEY_LOCAL_MACHINE\System\CurrentControlSet\Control"
DISPLAY = rf"{CONTROL}\Video\{{0be1bc0b-8997-48ab-8431-70ed5df570d7}}"


@pytest.mark.parametrize(
    ("key", "name", "is_told"),
    [
        (rf"{CONTROL}\ServiceCurrent", "", False),
        (rf"{CONTROL}\ServiceCurrent", "Other", True),
        (rf"{DISPLAY}\0000", "DriverDateData", False),
        (rf"{DISPLAY}\0000", "DriverDate", False),
        (rf"{CONTROL}\Class\{{4d36e968-e325-11ce-bfc1-08002be10318}}\0000", "DriverDate", False),
        (rf"{DISPLAY}\0000", "DriverDates", True),
        (rf"{DISPLAY}\0000", "InstalledDisplayDrivers", True),
        (rf"{CONTROL}\Class", "DriverDateData", True),
    ],
)
def test_what_is_of_wine_is_left_out_and_nothing_beside_it(key: str, name: str, is_told: bool) -> None:
    before = Snapshot({}, {key: {}})
    after = Snapshot({}, {key: {name: TEXT}})
    assert bool(before.changes_until(after)) == is_told


def test_a_file_is_not_of_wine_whatever_its_name() -> None:
    entry = Entry("file", 0o644, 0, "")
    assert Snapshot({}, {}).changes_until(Snapshot({r"C:\windows\temp\x": entry}, {}))
