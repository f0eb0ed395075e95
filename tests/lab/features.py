"""Windows' features on a node as its stand-in keeps them (standins/dismapi.c), seen from outside."""

from __future__ import annotations

from lab.node import Node
from lab.standin import Standin

UNINSTALL_PENDING, STAGED, INSTALLED, INSTALL_PENDING = 1, 2, 4, 5
"""Of DismPackageFeatureState."""
KEY = r"HKLM\SOFTWARE\standins\features\{}"


class Features(Standin):
    def __init__(self, node: Node) -> None:
        super().__init__(node, "dism")

    def state(self, name: str) -> int:
        key = self._node.registry(KEY.format(name))
        assert key is not None
        state = key.data("State")
        assert isinstance(state, int)
        return state
