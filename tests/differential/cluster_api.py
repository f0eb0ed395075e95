"""Cluster API's kubeadm provider, as a program that renders user data (tests/lab/standins/cluster-api).

`python -m differential.cluster_api` renders what tests/data/cloudconfig holds anew.
"""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import cache, toolchains
from lab.repository import LOCKS, STANDINS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DATA = Path(__file__).resolve().parents[1] / "data" / "cloudconfig"
_SUFFIXES = {"cloud-config": "yaml", "ignition": "ign"}
_SOURCES = STANDINS / "cluster-api"
_NAME = "cluster-api"


def orders() -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = json.loads((DATA / "orders.json").read_text())
    return made


def rendered_file(name: str, order: Mapping[str, Any]) -> Path:
    """Where what the provider makes of an order is kept."""
    return DATA / f"{name}.{_SUFFIXES[order['format']]}"


def program() -> Path:
    """The program, built if it isn't there yet."""

    def build(into: Path) -> None:
        toolchains.build_go(_SOURCES, into / _NAME, goos="linux")

    return cache.built(_NAME, cache.digest(LOCKS / "lab.txt", _SOURCES, build), build) / _NAME


def render(wanted: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """What the provider makes of each. Raises ValueError for one that it refuses."""
    given = "\n".join(map(json.dumps, wanted))
    done = subprocess.run([program()], input=given, capture_output=True, text=True, check=True)
    made = []
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        if "error" in answer:
            raise ValueError(answer["error"])
        made.append(base64.b64decode(answer["userData"]))
    return made


if __name__ == "__main__":
    known = orders()
    for (name, order), data in zip(known.items(), render(known.values()), strict=True):
        rendered_file(name, order).write_bytes(data)
