"""A large document costs twice its size at most: contents are neither copied nor held unpacked."""

from __future__ import annotations

import base64
import gzip
import json
import random
import tracemalloc
from typing import Any

import pytest

from agent.sources import ignition, worker
from agent.sources.kubelet.node import Kubelet, Node
from agent.spec import File, Inline

_FILES = 100
_UNIT = {"name": "kubelet.service", "contents": "[Service]\nExecStart=/usr/bin/kubelet\n"}


def _document(size: int, *, compressed: bool) -> bytes:
    chance = random.Random(1)  # noqa: S311 - to be repeated, not to be secret
    files: list[dict[str, Any]] = []
    for number in range(_FILES):
        data = chance.randbytes(size * 3 // 4 // _FILES)
        source = "data:;base64," + base64.b64encode(gzip.compress(data, 1) if compressed else data).decode()
        contents = {"source": source, **({"compression": "gzip"} if compressed else {})}
        files.append({"path": f"/etc/kubernetes/{number}", "contents": contents})
    document = {
        "ignition": {"version": "3.4.0"},
        "storage": {"files": files},
        "systemd": {"units": [_UNIT]},
    }
    return json.dumps(document).encode()


@pytest.mark.parametrize("compressed", [False, True])
def test_memory(compressed: bool) -> None:
    size = 8_000_000
    waiting = [_document(size, compressed=compressed)]
    tracemalloc.start()
    try:
        # Nobody keeps the bytes: what is measured begins without them, and has to hold the text instead.
        outcome = ignition.load("worker.ign", waiting.pop())
        made = worker.compiled(outcome, Node(), Kubelet(), worker.Placement(Inline(b"MZ")))
        assert made.specification
        hashes = [
            want.content.sha256
            for want in made.specification.wants
            if isinstance(want, File) and want.content
        ]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(hashes) > _FILES
    assert peak < 2.2 * size
