"""Cluster API's user data at a cloud's metadata service, the real cloudbase-init, and a Ready Node."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, unquote

import pytest

from cluster.test_join import Joiner, check_joined
from lab import cloudbase_init
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.fixtures import web
from lab.node import Node
from lab.repository import ROOT
from lab.waiting import until
from lab.web import Web
from windows.exe import SHIPPED

__all__ = ["web"]

_FILES = ROOT / "packaging" / "cloudbase-init"
_RENDERED = ROOT / "tests" / "data" / "cloudconfig"
_USER_DATA = r"C:\ProgramData\cloudbase-init\user-data"
_SCRIPTS = r"C:\LocalScripts"
_SENTINEL = r"C:\run\cluster-api\bootstrap-success.complete"
_CONFIGURATION = r"C:\run\kubeadm\kubeadm-join-config.yaml"

# What the provider's packages were given, and wrote down as it stands.
_ADDRESS = "10.77.0.1:6443"
_HASH = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
_TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - nobody's
_RUNTIME = "npipe:////./pipe/containerd-containerd"
_ZONE = '{{ ds.meta_data["availability-zone"] }}'


_LOGS = (cloudbase_init.LOG, r"C:\ProgramData\wmcb\logs\wmcb.log")
_END_OF_A_LOG = 6000


class Booted(Joiner):
    """What becomes of it is decided by cloudbase-init and wmcb, whose logs tell why it is no node."""

    def describe(self) -> str:
        return "\n".join([super().describe(), *map(self._end_of, _LOGS)])

    def _end_of(self, log: str) -> str:
        path = self.machine.path(log)
        said = path.read_text(errors="replace") if path.exists() else "is not there"
        return f"{log}: {said[-_END_OF_A_LOG:]}"


@pytest.fixture
def machine(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Joiner:
    made = Booted(cluster, container_runtime, node)
    made.install()
    node.copy_in(SHIPPED, r"C:\k\wmcb.exe")
    return made


def _user_data(machine: Joiner, name: str) -> bytes:
    rendered = _RENDERED / name
    if rendered.suffix != ".ign":
        return _of_this_cluster(machine, rendered.read_text()).encode()
    document = json.loads(rendered.read_text())
    (file,) = (each for each in document["storage"]["files"] if each["path"] == "/etc/kubeadm.yml")
    configuration = unquote(file["contents"]["source"].removeprefix("data:,"))
    file["contents"]["source"] = f"data:,{quote(_of_this_cluster(machine, configuration))}"
    return json.dumps(document).encode()


def _of_this_cluster(machine: Joiner, text: str) -> str:
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
    return text.replace(_ZONE, "zone-b")


def _command(machine: Joiner, web: Web, name: str) -> tuple[str, ...]:
    """What cloudbase-init's service does at a boot."""
    configuration = (_FILES / name / "cloudbase-init.conf").read_text()
    place = {"local_scripts_path": _SCRIPTS} if name == "local-scripts" else {}
    return cloudbase_init.command(machine.machine, web, configuration, **place)


def _boot(machine: Joiner, web: Web, name: str) -> None:
    done = machine.machine.run(*_command(machine, web, name))
    assert done.code == 0, done.err


def _add_script(machine: Joiner) -> None:
    scripts = machine.machine.path(_SCRIPTS)
    scripts.mkdir()
    scripts.joinpath("join.cmd").write_text((_FILES / "local-scripts" / "join.cmd").read_text())


def _log(machine: Joiner) -> str:
    return machine.machine.path(cloudbase_init.LOG).read_text(errors="replace")


def _secrets(machine: Joiner) -> list[str]:
    """Of the tokens that there are, or were."""
    path = "/api/v1/namespaces/kube-system/secrets?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken"
    tokens = machine.cluster.api.items(path)
    return [base64.b64decode(each["data"]["token-secret"]).decode() for each in tokens]


@pytest.mark.parametrize(
    "rendered", ["worker-templated.yaml", "worker-everything.yaml", "ignition-worker-everything.ign"]
)
def test_by_a_local_script(machine: Joiner, web: Web, rendered: str) -> None:
    cloudbase_init.serve(web, _user_data(machine, rendered), "instance", machine.name)
    _add_script(machine)
    _boot(machine, web, "local-scripts")
    check_joined(machine)
    assert machine.has(_SENTINEL), _log(machine)
    assert [place for secret in _secrets(machine) for place in machine.machine.holding(secret)] == []
    assert machine.has(r"C:\tools\new") == ("everything" in rendered)


def test_by_user_data_and_the_name_of_kubeadm(machine: Joiner, web: Web) -> None:
    cloudbase_init.serve(web, _user_data(machine, "worker-commands.yaml"), "instance", machine.name)
    # Where Wine's services find it without being started anew.
    machine.machine.copy_in(SHIPPED, r"C:\windows\kubeadm.exe")
    _boot(machine, web, "user-data")
    check_joined(machine)
    assert machine.has(_SENTINEL), _log(machine)
    assert machine.has(r"C:\tools\new")


POWER_FAILS = {
    "when the user data is there": _USER_DATA,
    "when its files are written": _CONFIGURATION,
    "when a command has run": r"C:\tools\new",
    "when the bootstrap token is there": r"C:\etc\kubernetes\bootstrap-kubelet.conf",
    "when it is admitted": r"C:\etc\kubernetes\kubelet.conf",
    "when Cluster API is told": _SENTINEL,
}
"""By when the power fails, what is seen then."""


@pytest.mark.parametrize("when", POWER_FAILS)
def test_the_next_boot_finishes_it(machine: Joiner, web: Web, when: str) -> None:
    cloudbase_init.serve(web, _user_data(machine, "worker-commands.yaml"), "instance", machine.name)
    _add_script(machine)
    running = machine.machine.start(*_command(machine, web, "local-scripts"))
    until(lambda: machine.has(POWER_FAILS[when]) or running.ended, when)
    assert machine.has(POWER_FAILS[when]), _log(machine)
    machine.machine.power_off()
    machine.machine.boot()
    _boot(machine, web, "local-scripts")
    check_joined(machine)
    assert machine.has(_SENTINEL), _log(machine)
    assert not machine.has(_CONFIGURATION), "a token is in it"
