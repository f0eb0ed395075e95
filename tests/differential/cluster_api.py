"""Cluster API's kubeadm provider, as programs that render user data (tests/lab/standins/cluster-api*).

`python -m differential.cluster_api` renders what tests/data/cloudconfig holds anew.
"""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lab import cache, toolchains
from lab.repository import LOCKS, STANDINS

DATA = Path(__file__).resolve().parents[1] / "data" / "cloudconfig"
_SUFFIXES = {"cloud-config": "yaml", "ignition": "ign"}
_SOURCES = STANDINS / "cluster-api"
_NAME = "cluster-api"

# The last release but one with the option to try a join again; its package is for its own module alone.
_MODULE_1_8 = "sigs.k8s.io/cluster-api@v1.8.4"
_SUM_1_8 = "h1:jBKQH1H/HUdUFk8T6qDzIxZJfWw1F5ZP0ZpYQJDmTHs="
_SOURCES_1_8 = STANDINS / "cluster-api-1.8"
_NAME_1_8 = "cluster-api-1.8"


def orders() -> dict[str, dict[str, Any]]:
    made: dict[str, dict[str, Any]] = json.loads((DATA / "orders.json").read_text())
    return made


def rendered_file(name: str, order: Mapping[str, Any]) -> Path:
    """Where what the provider makes of an order is kept."""
    return DATA / f"{name}.{_SUFFIXES[order['format']]}"


def _program() -> Path:
    """Built if it isn't there yet."""

    def build(into: Path) -> None:
        toolchains.build_go(_SOURCES, into / _NAME, goos="linux")

    return cache.built(_NAME, cache.digest(LOCKS / "lab.txt", _SOURCES, build), build) / _NAME


def _program_1_8() -> Path:
    """Built if it isn't there yet, which takes minutes the first time."""

    def build(into: Path) -> None:
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder) / "module"
            shutil.copytree(_module_1_8(), module, copy_function=shutil.copyfile)
            place = module / "bootstrap" / "kubeadm" / "render"
            shutil.copytree(_SOURCES_1_8, place)
            toolchains.build_go(place, into / _NAME_1_8, goos="linux")

    made_from = (LOCKS / "lab.txt", _SOURCES_1_8, _SUM_1_8, build)
    return cache.built(_NAME_1_8, cache.digest(*made_from), build) / _NAME_1_8


def _module_1_8() -> Path:
    told = subprocess.run(
        [toolchains.go(), "mod", "download", "-json", _MODULE_1_8],
        env=toolchains.go_environment({}),
        capture_output=True,
        check=True,
    )
    module = json.loads(told.stdout)
    if module["Sum"] != _SUM_1_8:
        raise RuntimeError(f"{_MODULE_1_8} is not what it was: {module['Sum']}")
    return Path(module["Dir"])


def render(wanted: Iterable[Mapping[str, Any]]) -> list[bytes]:
    """What the provider makes of each. Raises ValueError for one that it refuses."""
    listed = list(wanted)
    old = [order for order in listed if order["format"] == "cloud-config-1.8"]
    made = iter(_rendered(_program(), [order for order in listed if order not in old]))
    made_old = iter(_rendered(_program_1_8(), old) if old else [])
    return [next(made_old if order in old else made) for order in listed]


def _rendered(program: Path, wanted: Iterable[Mapping[str, Any]]) -> list[bytes]:
    given = "\n".join(map(json.dumps, wanted))
    done = subprocess.run([program], input=given, capture_output=True, text=True, check=True)
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
