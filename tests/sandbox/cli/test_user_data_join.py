"""`kubeadm join` in user data is read as kubeadm.exe reads its command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.cli.given import Machine
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_user_data import carry_out, given
from unit.kube.api_server import ROOT, TOKEN
from unit.kube.test_token_discovery import pinned

__all__ = ["cluster", "given", "windows"]


@pytest.mark.parametrize("option", ["--dry-run", "--control-plane"])
def test_a_join_that_would_be_none_is_refused(windows: Machine, cluster: Cluster, option: str) -> None:
    call = f"kubeadm join {option} {cluster.server.place} --token {TOKEN} --discovery-token-ca-cert-hash "
    answer = carry_out(windows, windows.give("data", f"#cloud-config\nruncmd:\n- {call}{pinned(ROOT)}\n"))
    assert answer.code == 2
    assert option in answer.error_lines[-1]
    assert windows.host.services.read("kubelet") is None


def test_a_configuration_of_a_dry_run_is_refused(windows: Machine, given: str) -> None:
    text = Path(given).read_text().replace("nodeRegistration:", "dryRun: true\n      nodeRegistration:")
    answer = carry_out(windows, windows.give("data", text))
    assert answer.code == 2
    assert "dryRun: true joins nothing" in answer.error_lines[-1]
    assert windows.host.services.read("kubelet") is None


@pytest.mark.parametrize(
    "options",
    [
        "--vmodule=a=1",
        "--v=5 --v=6",
        "-v5",
        "--log-file-max-size 10 --logtostderr",
        "--rootfs=",
    ],
)
def test_the_join_takes_the_options_of_kubeadms_log(windows: Machine, given: str, options: str) -> None:
    text = Path(given).read_text().replace("kubeadm join", f"kubeadm join {options}")
    answer = carry_out(windows, windows.give("data", text))
    assert answer.code == 0, answer.err
    assert windows.host.services.read("kubelet") is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--rootfs=C:/root", "--rootfs: Windows has no other root for a program"),
        ("--v=much", "--v much: expected a number, such as 5"),
        ("--xyzzy", "unknown option --xyzzy"),
        ("--node-name=Not_a_name", "--node-name: "),
        ("--skip-phases=kubelet-start", "--skip-phases kubelet-start: this phase cannot be left out here"),
        ("--skip-phases=nonsense", '--skip-phases: "nonsense": there is no such phase'),
        ("--ignore-preflight-errors=all,Swap", "--ignore-preflight-errors: all ignores every check"),
        ("--patches=C:/patches", "--patches: it cannot stand beside --config, whose file says this"),
    ],
)
def test_the_join_is_refused_as_kubeadm_exe_does(
    windows: Machine, given: str, options: str, said: str
) -> None:
    text = Path(given).read_text().replace("kubeadm join", f"kubeadm join {options}")
    answer = carry_out(windows, windows.give("data", text))
    assert answer.code == 2
    assert said in answer.error_lines[-1]
    assert windows.wmcb("status").out == "wmcb has put nothing on this machine\n", "before the first command"


def test_the_option_dry_run_that_is_off_goes_before_the_configuration(windows: Machine, given: str) -> None:
    text = Path(given).read_text().replace("nodeRegistration:", "dryRun: true\n      nodeRegistration:")
    text = text.replace("kubeadm join", "kubeadm join --dry-run=false")
    answer = carry_out(windows, windows.give("data", text))
    assert answer.code == 0, answer.err
    assert windows.host.services.read("kubelet") is not None
