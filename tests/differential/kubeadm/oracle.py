"""Kubeadm's own packages, as a program that answers questions (tests/lab/standins/kubeadm-oracle)."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from differential.answering import Oracle
from lab import cache, kubernetes, toolchains
from lab.repository import LOCKS, STANDINS

_SOURCE = STANDINS / "kubeadm-oracle" / "main.go"
_NAME = "kubeadm-oracle"


def _program() -> Path:
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


class KubeadmOracle(Oracle):
    def __init__(self) -> None:
        super().__init__(_program())

    def join(self, document: bytes) -> Answer:
        return self._ask({"join": _packed(document)})

    def kubelet(self, config: bytes, networks: Mapping[str, str], patches: Mapping[str, bytes]) -> Answer:
        packed = {name: _packed(content) for name, content in patches.items()}
        return self._ask({"kubelet": _packed(config), "networks": networks, "patches": packed})

    def normal(self, config: Any) -> Answer:
        """A KubeletConfiguration as Go would write it."""
        return self._ask({"normal": _packed(json.dumps(config).encode())})

    def _ask(self, question: Mapping[str, Any]) -> Answer:
        return Answer(**self.answer(question))


def _packed(content: bytes) -> str:
    return base64.b64encode(content).decode()
