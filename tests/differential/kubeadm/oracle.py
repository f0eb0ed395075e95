"""Kubeadm's own packages, as a program that answers questions (tests/lab/standins/kubeadm-oracle)."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab import cache, kubernetes, toolchains
from lab.repository import LOCKS, STANDINS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

_SOURCE = STANDINS / "kubeadm-oracle" / "main.go"
_NAME = "kubeadm-oracle"


def program() -> Path:
    """The program, built if it isn't there yet: with the modules that the lab's Kubernetes is built from."""

    def build(into: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="wmcb-lab-") as place:
            module = Path(place)
            for file in (kubernetes.MODULE / "go.mod", kubernetes.MODULE / "go.sum", _SOURCE):
                shutil.copy(file, module)
            toolchains.build_go(module, into / _NAME, goos="linux")

    key = cache.digest(LOCKS / "lab.txt", kubernetes.MODULE, _SOURCE, build)
    return cache.built(_NAME, key, build) / _NAME


@dataclass(frozen=True, slots=True)
class Answer:
    refused: str = ""
    """Why a join, or a patch, is not to be."""
    invalid: str = ""
    """Why `kubeadm config validate` says no, or why it is no KubeletConfiguration."""
    config: Any = None
    flags: str = ""


class Oracle:
    """One process for any number of questions; close it, or use it in a `with`."""

    def __init__(self, program: Path) -> None:
        self._process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def join(self, document: bytes) -> Answer:
        return self._ask({"join": _packed(document)})

    def kubelet(self, config: bytes, networks: Mapping[str, str], patches: Mapping[str, bytes]) -> Answer:
        packed = {name: _packed(content) for name, content in patches.items()}
        return self._ask({"kubelet": _packed(config), "networks": networks, "patches": packed})

    def normal(self, config: Any) -> Answer:
        """A KubeletConfiguration as Go would write it."""
        return self._ask({"normal": _packed(json.dumps(config).encode())})

    def _ask(self, question: Mapping[str, Any]) -> Answer:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(question).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the oracle ended with {self._process.wait()} over {question!r:.3000}")
        return Answer(**json.loads(line))

    def close(self) -> None:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()
