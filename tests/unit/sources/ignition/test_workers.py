"""Whole configurations as machine config servers make them, each with what it says beside it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from agent.sources import ignition
from agent.sources.ignition import Inline

_DATA = Path(__file__).parents[3] / "data" / "ignition"
_WORKERS = sorted(path.stem for path in _DATA.glob("worker-*.ign"))


def test_the_workers_are_there() -> None:
    assert len(_WORKERS) == 6


@pytest.mark.parametrize("name", _WORKERS)
def test_worker(name: str) -> None:
    outcome = ignition.load(name, (_DATA / f"{name}.ign").read_bytes())
    assert outcome.configuration, [str(entry) for entry in outcome.report.entries]
    assert not outcome.report.entries
    said = json.loads((_DATA / f"{name}.configuration.json").read_text())
    configuration = outcome.configuration
    assert {
        path: {"mode": file.mode, "sha256": _sha256(_contents(file))}
        for path, file in configuration.files.items()
    } == said["files"]
    assert {
        unit.name: {
            "contents": _sha256(unit.contents.encode()) if unit.contents else "",
            "dropins": sorted(unit.dropins),
            "enabled": unit.enabled,
            "masked": unit.masked,
        }
        for unit in configuration.units.values()
    } == said["units"]
    ignored = [[item.kind, item.name] for item in configuration.ignored]
    assert sorted(ignored) == sorted(said["ignored"])


def _contents(file: ignition.File) -> bytes:
    assert isinstance(file.contents, Inline)
    return file.contents.read(1 << 20)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
