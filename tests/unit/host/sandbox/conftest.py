from __future__ import annotations

import json
import os
import pathlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from agent.host.sandbox.machine import Machine

REPOSITORY = pathlib.Path(__file__).parents[4]


@dataclass
class Sandbox:
    directory: pathlib.Path
    machine: Machine

    def set_facts(self, **facts: Any) -> None:
        (self.directory / ".sandbox" / "facts.json").write_text(json.dumps(facts))

    def other_process(self, code: str) -> list[str]:
        """A command that runs these Python statements, in which `host` is this same sandbox."""
        opening = (
            f"import pathlib, sys; sys.path.insert(0, {os.fspath(REPOSITORY)!r})\n"
            "from agent.host.sandbox import open_sandbox\n"
            f"host = open_sandbox(pathlib.Path({os.fspath(self.directory)!r}), run_services=True)\n"
        )
        return [sys.executable, "-c", opening + code]


@pytest.fixture
def sandbox(tmp_path: pathlib.Path) -> Iterator[Sandbox]:
    machine = Machine(tmp_path, run_services=True)
    yield Sandbox(tmp_path, machine)
    machine.shut_down()
