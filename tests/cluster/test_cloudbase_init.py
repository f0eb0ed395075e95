"""Cluster API's user data at a cloud's metadata service, the real cloudbase-init, and a Node that is Ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from cluster.test_join import Joiner, check_joined
from lab import cloudbase_init
from lab.fixtures import web
from lab.repository import ROOT
from windows.exe import SHIPPED

if TYPE_CHECKING:
    from lab.cluster.cluster import Cluster
    from lab.cluster.runtime import ContainerRuntime
    from lab.node import Node
    from lab.web import Web

__all__ = ["web"]

_FILES = ROOT / "packaging" / "cloudbase-init"
_RENDERED = ROOT / "tests" / "data" / "cloudconfig"
_SENTINEL = r"C:\run\cluster-api\bootstrap-success.complete"
_CONFIGURATION = r"C:\run\kubeadm\kubeadm-join-config.yaml"

# What the provider's packages were given, and wrote down as it stands.
_ADDRESS = "10.77.0.1:6443"
_HASH = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
_TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - nobody's
_RUNTIME = "npipe:////./pipe/containerd-containerd"
_ZONE = '{{ ds.meta_data["availability-zone"] }}'


@pytest.fixture
def machine(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Joiner(cluster, container_runtime, node)
    made.install()
    node.copy_in(SHIPPED, r"C:\k\wmcb.exe")
    return made


def _user_data(machine: Joiner, name: str) -> bytes:
    text = (_RENDERED / f"{name}.yaml").read_text()
    changes = {
        _ADDRESS: machine.cluster.address,
        _HASH: machine.cluster.ca_hash,
        _TOKEN: machine.cluster.fresh_bootstrap_token(),
        _RUNTIME: machine.runtime.endpoint,
        "name: 'win-1'": f"name: '{machine.name}'",
    }
    for said, meant in changes.items():
        assert said in text or said.startswith("name")
        text = text.replace(said, meant)
    return text.replace(_ZONE, "zone-b").encode()


def _boot(machine: Joiner, web: Web, name: str, **changes: str) -> None:
    configuration = (_FILES / name / "cloudbase-init.conf").read_text()
    done = cloudbase_init.run(machine.machine, web, configuration, **changes)
    assert done.code == 0, done.err


def _log(machine: Joiner) -> str:
    return machine.machine.path(cloudbase_init.LOG).read_text(errors="replace")


@pytest.mark.parametrize("rendered", ["worker-templated", "worker-everything"])
def test_by_a_local_script(machine: Joiner, web: Web, rendered: str) -> None:
    cloudbase_init.serve(web, _user_data(machine, rendered), "instance", machine.name)
    scripts = machine.machine.path(r"C:\LocalScripts")
    scripts.mkdir()
    script = (_FILES / "local-scripts" / "join.cmd").read_text()
    scripts.joinpath("join.cmd").write_text(script)
    _boot(machine, web, "local-scripts", local_scripts_path=r"C:\LocalScripts")
    check_joined(machine)
    assert machine.has(_SENTINEL), _log(machine)
    assert not machine.has(_CONFIGURATION), "a token is in it"
    assert machine.has(r"C:\tools\new") == (rendered == "worker-everything")


def test_by_user_data_and_the_name_of_kubeadm(machine: Joiner, web: Web) -> None:
    cloudbase_init.serve(web, _user_data(machine, "worker-commands"), "instance", machine.name)
    # Where Wine's services find it without being started anew.
    machine.machine.copy_in(SHIPPED, r"C:\windows\kubeadm.exe")
    _boot(machine, web, "user-data")
    check_joined(machine)
    assert machine.has(_SENTINEL), _log(machine)
    assert machine.has(r"C:\tools\new")
