"""A file with wider rights than a folder of the node above it: the stricter ones count, in any order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import PureWindowsPath

import pytest

from agent.engine.repairing import drifted
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE
from sandbox.cli.given import WORKER, Answer, Machine
from sandbox.cli.test_join import Cluster, cluster, join, windows
from sandbox.service.keeper import Keeper
from service.repairs import FULL_LOOK_SECONDS
from service.telling import Event

Step = Callable[[Machine, Cluster], Answer]

__all__ = ["cluster", "windows"]

PATH = PureWindowsPath(r"C:\etc\kubernetes\x")
BELOW = PureWindowsPath(r"C:\etc\kubernetes\below\x")
NODE_YAML = r"""
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
files:
- {path: 'C:\etc\kubernetes\x', text: hello, protection: program}
- {path: 'C:\etc\kubernetes\below\x', text: hello, protection: program}
"""
FOLDER_YAML = r"""
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
directories:
- {path: 'C:\k', protection: private}
"""
USER_DATA = """\
#cloud-config
write_files:
- {{path: 'C:\\etc\\kubernetes\\x', permissions: '0644', content: hello}}
- {{path: 'C:\\etc\\kubernetes\\below\\x', permissions: '0644', content: hello}}
- path: /run/kubeadm/kubeadm-join-config.yaml
  permissions: '0640'
  content: |
{configuration}
runcmd:
- {join} && echo success > /run/cluster-api/bootstrap-success.complete
"""
FILES_ALONE = USER_DATA.split("- path", maxsplit=1)[0].format()
JOIN = "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml"


def prepare(windows: Machine, cluster: Cluster) -> Answer:  # noqa: ARG001 - as the other steps have it
    return windows.wmcb("prepare", "--node-config", windows.give("node.yaml", NODE_YAML))


def prepare_a_private_folder(windows: Machine, cluster: Cluster) -> Answer:  # noqa: ARG001
    return windows.wmcb("prepare", "--node-config", windows.give("folder.yaml", FOLDER_YAML))


def user_data_that_joins(windows: Machine, cluster: Cluster) -> Answer:
    lines = cluster.join_configuration().splitlines()
    given = USER_DATA.format(configuration="".join(f"    {line}\n" for line in lines), join=JOIN)
    return windows.wmcb("--user-data", windows.give("user-data", given), "--kubelet-version", "1.36")


def user_data(windows: Machine, cluster: Cluster) -> Answer:  # noqa: ARG001
    return windows.wmcb("--user-data", windows.give("files", FILES_ALONE), "--kubelet-version", "1.36")


def ignition(windows: Machine, cluster: Cluster) -> Answer:  # noqa: ARG001
    return windows.wmcb("--ignition", str(WORKER), "--kubelet", windows.kubelet, "--kubelet-version", "1.31")


def rights(windows: Machine) -> set[str]:
    files = windows.host.files
    return {str(files.descriptor(path)) for path in (PATH, BELOW) if files.observe(path) is not None}


ORDERS: dict[str, Sequence[Step]] = {
    "user data that joins": [user_data_that_joins],
    "the same again": [user_data_that_joins, user_data_that_joins],
    "prepare, then join": [prepare, join],
    "join, then prepare": [join, prepare],
    "prepare, join, and prepare again": [prepare, join, prepare],
    "join, then user data": [join, user_data],
    "user data, then join": [user_data, join],
    "prepare, then an Ignition": [prepare, ignition],
    "an Ignition, then prepare": [ignition, prepare],
    r"prepare C:\k private, then an Ignition": [prepare_a_private_folder, ignition],
}


@pytest.mark.parametrize("steps", ORDERS.values(), ids=ORDERS)
def test_the_stricter_rights_count(windows: Machine, cluster: Cluster, steps: Sequence[Step]) -> None:
    has_joined = False
    for step in steps:
        answer = step(windows, cluster)
        assert answer.code == 0, answer.err
        has_joined = has_joined or step not in (prepare, prepare_a_private_folder, user_data)
        if has_joined:
            assert rights(windows) <= {str(PRIVATE_FILE)}
        status = windows.wmcb("status")
        assert status.code == 0, status.out
    (windows.place / ".sandbox" / "events.jsonl").unlink()
    keeper = Keeper(windows.place, windows.host)
    keeper.pass_time(2 * FULL_LOOK_SECONDS)
    assert Event.REPAIRED not in dict(keeper.told())
    assert drifted(windows.host).drifts == ()
    assert rights(windows) <= {str(PRIVATE_FILE)}
    assert windows.wmcb("status").code == 0


def test_what_the_file_asked_for_is_made_when_no_node_closes_its_folder(
    windows: Machine, cluster: Cluster
) -> None:
    prepare(windows, cluster)
    join(windows, cluster)
    assert windows.wmcb("reset", "--keep-prepared").code == 0
    assert rights(windows) == {str(PRIVATE_FILE)}
    assert windows.wmcb("status").code == 0
    assert prepare(windows, cluster).code == 0
    assert rights(windows) == {str(PROGRAM_FILE)}
    assert windows.wmcb("status").code == 0
    assert windows.wmcb("reset").code == 0
    assert rights(windows) == set()


def test_a_folder_that_another_part_opens_closes_no_file_of_that_part(
    windows: Machine, cluster: Cluster
) -> None:
    files, kubelet = windows.host.files, PureWindowsPath(r"C:\k\kubelet.exe")
    assert prepare_a_private_folder(windows, cluster).code == 0
    assert files.descriptor(kubelet.parent) == PRIVATE_DIRECTORY
    assert ignition(windows, cluster).code == 0
    assert files.descriptor(kubelet.parent) == PROGRAM_DIRECTORY
    assert files.descriptor(kubelet) == PROGRAM_FILE


def test_a_join_that_fails_leaves_the_file_as_it_was(windows: Machine, cluster: Cluster) -> None:
    prepare(windows, cluster)
    windows.facts(answers={"10248": 500})
    answer = join(windows, cluster, "--start-timeout", "0.5")
    assert (answer.code, "the machine is as it was before" in answer.err) == (1, True)
    assert rights(windows) == {str(PROGRAM_FILE)}
    assert windows.wmcb("status").code == 0


def test_a_plan_shows_what_becomes_of_the_file(windows: Machine, cluster: Cluster) -> None:
    prepare(windows, cluster)
    plan = join(windows, cluster, "--dry-run", "-v")
    assert plan.code == 0, plan.err
    assert rf"~ change    file {PATH}" in plan.out.splitlines()
