"""What the tests of OpenShift's bootstrapper state, and that initialize-kubelet answers the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from sandbox.cli.given import Answer, Machine

PEERS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[2] / "data" / "peers" / "wmcb.yaml").read_bytes()
)
UNIT = """[Service]
ExecStart=/usr/bin/hyperkube kubelet --config=/etc/kubernetes/kubelet.conf {flags} \\
  --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig --kubeconfig=/var/lib/kubelet/kubeconfig \\
  --container-runtime=remote --container-runtime-endpoint=/var/run/crio/crio.sock \\
  --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${{ID}}
"""
FILES = {
    "/etc/kubernetes/kubeconfig": "apiVersion:%20v1%0Akind:%20Config%0A",
    "/etc/kubernetes/kubelet-ca.crt": "authority",
    "/etc/kubernetes/cloud.conf": "%7B%7D",
}
DONE = (0, "Bootstrapping completed successfully\n", "")


def initialize(
    machine: Machine,
    given: Sequence[str],
    flags: Sequence[str] = (),
    units: object = None,
    version: str = "1.22",
) -> Answer:
    unit = {"name": "kubelet.service", "contents": UNIT.format(flags=" ".join(flags))}
    files = [
        {"path": path, "mode": 384, "contents": {"source": f"data:,{content}"}}
        for path, content in FILES.items()
    ]
    document = {
        "ignition": {"version": "3.1.0"},
        "systemd": {"units": [unit] if units is None else units},
        "storage": {"files": files},
    }
    path = machine.give("worker.ign", json.dumps(document))
    words = ("--ignition-file", path, "--kubelet-path", machine.kubelet, "--kubelet-version", version)
    return machine.wmcb("initialize-kubelet", *words, "--platform-type", "none", *given)


@pytest.mark.parametrize("row", PEERS["arguments"], ids=lambda row: row["name"])
def test_arguments(machine: Machine, row: dict[str, Any]) -> None:
    assert initialize(machine, row["given"], row["unit"]) == DONE
    installed = machine.host.services.read("kubelet")
    assert installed is not None
    command = installed.definition.command
    assert set(row.get("here", row["answer"])) <= set(command)
    assert not [word for word in command if "absent" in row and word.startswith(row["absent"])]
    if "here" in row:
        assert not set(row["answer"]) & set(command), "they agree by now"


@pytest.mark.parametrize("row", PEERS["configuration"], ids=lambda row: f"{row['field']} {row['given']}")
def test_configuration(machine: Machine, row: dict[str, Any]) -> None:
    assert initialize(machine, row["given"], version="1.31") == DONE
    configuration = json.loads(machine.read(r"C:\k\kubelet.conf"))
    assert configuration[row["field"]] == row.get("here", row["answer"])


@pytest.mark.parametrize("row", PEERS["refused"], ids=lambda row: row["name"])
def test_refused(machine: Machine, row: dict[str, Any]) -> None:
    assert initialize(machine, row["given"], units=row.get("units")).code == 2
