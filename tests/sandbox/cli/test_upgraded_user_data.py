"""`wmcb upgrade` on a node that user data made: all else of the user data stays, and is not done again."""

from __future__ import annotations

from pathlib import PureWindowsPath

from sandbox.cli.given import Machine
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_user_data import carry_out, given
from unit.kube.api_server import ROOT, kubeconfig_of

__all__ = ["cluster", "given", "windows"]


def things(machine: Machine) -> set[str]:
    return {name for name in machine.picture() if r"wmcb\logs" not in name}


def test_it_stays(windows: Machine, cluster: Cluster, given: str) -> None:
    assert carry_out(windows, given).code == 0
    windows.put(r"C:\etc\kubernetes\kubelet.conf", kubeconfig_of(cluster.server.url, ROOT).encode())
    before = things(windows)
    planned = windows.wmcb("upgrade", "--kubelet-version", "1.36", "--dry-run")
    assert r"C:\opt\first.txt" not in planned.out
    answer = windows.wmcb("upgrade", "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert before - things(windows) == {r"file C:\etc\kubernetes\bootstrap-kubelet.conf"}, "it has joined"
    assert carry_out(windows, given).out.startswith("nothing to do")
    assert windows.wmcb("reset").code == 0
    assert r"file C:\opt\first.txt" not in things(windows)


def test_the_advice_for_drift_can_be_followed(windows: Machine, cluster: Cluster, given: str) -> None:
    assert carry_out(windows, given).code == 0
    windows.put(r"C:\etc\kubernetes\kubelet.conf", kubeconfig_of(cluster.server.url, ROOT).encode())
    assert windows.wmcb("upgrade", "--kubelet-version", "1.36").code == 0
    joined, own = r"C:\var\lib\kubelet\config.yaml", r"C:\opt\first.txt"
    windows.put(joined, b"kind: KubeletConfiguration\n")
    windows.host.files.remove(PureWindowsPath(own))
    status = windows.wmcb("status")
    assert status.code == 1
    assert f"run {windows.called} upgrade to repair what the join made" in status.out
    assert f"repair it by hand, or run {windows.called} reset and carry it out again" in status.out
    assert windows.wmcb("upgrade", "--kubelet-version", "1.36").code == 0
    after = windows.wmcb("status")
    assert joined not in after.out
    assert f"{own} is gone" in after.out
    windows.put(own, b"first")
    assert windows.wmcb("status").code == 0, "repaired by hand"
