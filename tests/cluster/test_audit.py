"""`wmcb.exe audit` on a node of kubeadm.exe: it finds how its kubelet is set up wrongly, mends that, and a
reset gives it back. Of the files' protection Wine keeps too little to be judged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lab.cluster.kubelet_node import KubeletNode
from lab.node import Node
from windows.exe import DOWNLOADED, download

CONFIGURATION = r"C:\var\lib\kubelet\config.yaml"
CLOSED, OPEN = (f"anonymous:\n    enabled: {word}\n" for word in ("false", "true"))
WRONG = {"4.2.1", "4.2.4"}


def audit(node: Node, *words: str) -> Mapping[str, dict[str, Any]]:
    told = node.run(DOWNLOADED, "audit", "--output", "json", *words)
    assert told.out, told.err
    return {each["id"]: each for each in json.loads(told.out)["controls"]}


def of_the_kubelet(found: Mapping[str, dict[str, Any]], result: str) -> set[str]:
    return {name for name, each in found.items() if name.startswith("4.2.") and each["result"] == result}


def test_a_kubelet_that_lets_anybody_in_is_found_and_put_right(ready_node: KubeletNode) -> None:
    node = ready_node.machine
    download(node)
    place = node.path(CONFIGURATION)
    as_made = place.read_text()
    assert of_the_kubelet(audit(node), "fail") == set()
    assert as_made.count(CLOSED) == 1
    wrong = f"{as_made.replace(CLOSED, OPEN)}readOnlyPort: 10255\n"
    place.write_text(wrong)

    found = audit(node)
    assert of_the_kubelet(found, "fail") == WRONG
    assert found["4.2.1"]["reason"] == "authentication.anonymous.enabled is true"
    mended = audit(node, "--fix")
    assert of_the_kubelet(mended, "fail") == set()
    assert {name for name in WRONG if mended[name]["mended"]} == WRONG
    ready_node.stop()
    ready_node.start()
    ready_node.wait_until_ready()
    served = ready_node.kubelet_configuration()
    assert served["authentication"]["anonymous"]["enabled"] is False
    assert "readOnlyPort" not in served

    gone = node.run(DOWNLOADED, "reset")
    assert gone.code == 0
    assert f"the kubelet that was here before wmcb stays, as the Node {ready_node.name}" in gone.out
    assert place.read_text() == wrong
