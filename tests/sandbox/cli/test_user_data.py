"""`wmcb --user-data` on a machine that is a folder: all before the join, the join, and all after it."""

from __future__ import annotations

import json
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from sandbox.cli.given import WORKER
from sandbox.cli.test_join import Cluster, cluster, windows
from unit.kube.api_server import CLUSTER_INFO, ROOT, TOKEN
from unit.kube.test_token_discovery import pinned

if TYPE_CHECKING:
    from sandbox.cli.given import Answer, Machine

__all__ = ["cluster", "windows"]

DATA_FOLDER = Path(__file__).parents[2] / "data" / "cloudconfig"
CONFIGURATION = r"C:\run\kubeadm\kubeadm-join-config.yaml"
SENTINEL = r"C:\run\cluster-api\bootstrap-success.complete"

JOIN = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {{token: {token}, apiServerEndpoint: "{place}", caCertHashes: ["{pin}"]}}
nodeRegistration: {{name: win1}}
"""
DATA = """\
#cloud-config
write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
{configuration}
-   path: /run/cluster-api/placeholder
    owner: root:root
    permissions: '0640'
    content: "This placeholder file is used to create the /run/cluster-api sub directory"
-   path: /opt/first.txt
    content: first
runcmd:
  - 'echo before'
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > {sentinel}
  - 'echo after'
"""


@pytest.fixture
def given(windows: Machine, cluster: Cluster) -> str:
    configuration = JOIN.format(token=TOKEN, place=cluster.server.place, pin=pinned(ROOT))
    indented = "".join(f"      {line}\n" for line in configuration.splitlines())
    return windows.give(
        "user-data",
        DATA.format(configuration=indented, sentinel="/run/cluster-api/bootstrap-success.complete"),
    )


def carry_out(machine: Machine, given: str) -> Answer:
    return machine.wmcb("--user-data", given, "--kubelet-version", "1.36")


def has(machine: Machine, path: str) -> bool:
    return machine.host.files.observe(PureWindowsPath(path)) is not None


def test_from_user_data_to_a_node(windows: Machine, given: str) -> None:
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-1] == "this user data has been carried out: this machine is a node"
    assert windows.host.services.read("kubelet") is not None
    assert windows.read(r"C:\opt\first.txt") == b"first"
    assert has(windows, SENTINEL)
    assert windows.wmcb("status").code == 0


def test_again_nothing_is_done(windows: Machine, cluster: Cluster, given: str) -> None:
    carry_out(windows, given)
    before, asked = windows.picture(), len(cluster.server.asked)
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("nothing to do")
    assert len(cluster.server.asked) == asked
    windows_logs = {name: seen for name, seen in windows.picture().items() if r"\logs" not in name}
    assert windows_logs == {name: seen for name, seen in before.items() if r"\logs" not in name}


def test_a_join_that_fails_is_tried_again(windows: Machine, cluster: Cluster, given: str) -> None:
    cluster.has_node(ready=True)
    failed = carry_out(windows, given)
    assert failed.code == 1
    assert "a Node win1 is in the cluster already" in failed.err
    assert windows.host.services.read("kubelet") is None
    assert not has(windows, SENTINEL)
    assert has(windows, CONFIGURATION)
    cluster.has_node(ready=False)
    assert carry_out(windows, given).code == 0
    assert has(windows, SENTINEL)


def test_reset_takes_all_of_it(windows: Machine, given: str) -> None:
    windows.host.services.start("containerd")
    before = windows.picture()
    carry_out(windows, given)
    assert windows.wmcb("reset").code == 0
    assert windows.picture() == before


def test_no_secret_is_told(windows: Machine, given: str) -> None:
    answer = carry_out(windows, given)
    secret = TOKEN.partition(".")[2]
    logs = windows.place.glob("**/wmcb/logs/*")
    assert not any(secret in told for told in (answer.out, answer.err, *(log.read_text() for log in logs)))


def test_bad_user_data_changes_nothing(windows: Machine, cluster: Cluster) -> None:
    before = windows.picture()
    answer = carry_out(windows, windows.give("user-data", "#cloud-config\nwrite_files: 5\n"))
    assert answer.code == 2
    assert "write_files" in answer.error_lines[-1]
    assert windows.picture() == before
    assert not [asked for asked in cluster.server.asked if CLUSTER_INFO in asked.target]


def ignition(machine: Machine, cluster: Cluster) -> str:
    """As the provider's own package renders it, with another join configuration in it."""
    document = json.loads((DATA_FOLDER / "ignition-worker.ign").read_text())
    configuration = JOIN.format(token=TOKEN, place=cluster.server.place, pin=pinned(ROOT))
    for file in document["storage"]["files"]:
        if file["path"] == "/etc/kubeadm.yml":
            file["contents"]["source"] = f"data:,{quote(configuration)}"
    return machine.give("worker.ign", json.dumps(document))


@pytest.mark.parametrize("option", ["--user-data", "--ignition"])
def test_the_provider_s_ignition_format(windows: Machine, cluster: Cluster, option: str) -> None:
    answer = windows.wmcb(option, ignition(windows, cluster), "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-1].endswith("this machine is a node")
    assert has(windows, SENTINEL)


def test_a_worker_s_ignition_is_no_user_data(windows: Machine) -> None:
    answer = windows.wmcb("--user-data", str(WORKER))
    assert answer.code == 2
    assert answer.error_lines[-1].endswith("--ignition takes a worker's")
