from __future__ import annotations

import pathlib

import pytest

from sandbox.cli.given import CONTAINERD, Machine, program


@pytest.fixture
def bare(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> Machine:
    """A machine fresh from its installation."""
    machine = Machine(tmp_path, capsys)
    machine.place.mkdir()
    assert machine.host
    return machine


@pytest.fixture
def machine(bare: Machine) -> Machine:
    """With containerd."""
    bare.put(CONTAINERD.command[0], program())
    bare.host.services.create(CONTAINERD)
    return bare
