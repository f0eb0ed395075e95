"""The command lines of OpenShift's daemon, with the exe in its place beside a real kubelet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cluster.conftest import Figure
from cluster.test_join import Joiner
from lab import roots
from lab.cluster.cluster import Cluster
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from lab.powershell import PowerShell
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from windows.exe import SHIPPED

DAEMON = r"C:\k\windows-instance-config-daemon.exe"
SERVICE = "windows-instance-config-daemon"
KUBECONFIG = r"C:\k\wicd-kubeconfig"
LOGS = r"C:\var\log\wicd"
PREFIX = "windowsmachineconfig.openshift.io/"
NODES = "/api/v1/nodes"
TURNS = r"C:\k\turns.txt"
BUNDLE = r"C:\k\ca-bundle.crt"
CERTIFICATES = r"C:\ProgramData\wmcb\certificates"
EXAMPLE = (Path(__file__).parents[1] / "data" / "certificates" / "example-root.pem").read_text()
THUMBPRINT = "F793B9AFDADEF1099F17694239BE478D8B336074"
OVERLAY_CERTIFICATES = [f"ovnkube-client-2026-11-{day}-08-00-00.pem" for day in range(10, 14)]
SOON_SECONDS = 60.0
LARGEST_LOG = 1_000_000
FILLING = "x" * LARGEST_LOG

FIRST = {"name": "first", "path": r"C:\k\first.exe --windows-service", "bootstrap": True, "priority": 0}
SECOND = {
    "name": "second",
    "path": r"C:\k\second.exe --windows-service --node=NODE_NAME",
    "nodeVariablesInCommand": [{"name": "NODE_NAME", "nodeObjectJsonPath": "{.metadata.name}"}],
    "dependencies": ["first"],
    "bootstrap": False,
    "priority": 1,
}
THIRD = {"name": "third", "path": r"C:\k\third.exe --windows-service", "bootstrap": False, "priority": 2}
SCRIPT = {
    "path": r"C:\k\network.ps1 -Node NODE_NAME",
    "variableName": "NETWORK_ID",
    "nodeArgs": [{"name": "NODE_NAME", "nodeObjectJsonPath": "{.metadata.name}"}],
}
SCRIPTED = {**THIRD, "path": rf"{THIRD['path']} --network=NETWORK_ID", "powershellPreScripts": [SCRIPT]}
THIRD_EXE = {"path": r"C:\k\third.exe", "checksum": "0" * 64}
ENVIRONMENT = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"

# As much as the operator gives its daemon.
RIGHTS = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {{name: {name}}}
rules:
- {{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}}
- {{apiGroups: [""], resources: [nodes], verbs: [get, list, {watch}patch, update]}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {{name: {name}}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {name}}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: wicd}}]
"""


class OfOperator(Joiner):
    """A node that has joined, and what the operator brings to it."""

    def bring(self) -> None:
        done = self.wmcb(*self.by_file())
        assert done.code == 0, done.err
        self.wait_until_ready()
        self.machine.copy_in(SHIPPED, DAEMON)
        self.machine.path(LOGS).mkdir(parents=True)
        self.cluster.kubeconfig(self.machine.path(KUBECONFIG), "wicd", [])
        self.machine.path(BUNDLE).write_text("# none yet\n")
        self.services = {
            name: StandinKubelet(
                self.machine, rf"C:\k\{name}.exe", address=f"127.0.0.1:{20248 + number}", turns=TURNS
            )
            for number, name in enumerate(("first", "second", "third"))
        }
        self.say("1", FIRST, SECOND)

    def say(self, version: str, *services: dict[str, Any], files: object = (), **variables: str) -> None:
        """Of variables SITE alone is watched, whether it is to have a value or not."""
        data = {"services": json.dumps(services), "files": json.dumps(files)}
        data |= {"environmentVars": json.dumps(variables), "watchedEnvironmentVars": '["SITE"]'}
        thing = {"metadata": {"name": f"windows-services-{version}"}, "immutable": True, "data": data}
        self.cluster.api.create(f"/api/v1/namespaces/{self.cluster.namespace}/configmaps", thing)

    def ask_for(self, version: str) -> None:
        self.annotate("desired-version", version)

    def annotate(self, name: str, value: str | None) -> None:
        change = {"metadata": {"annotations": {f"{PREFIX}{name}": value}}}
        self.cluster.api.patch(f"{NODES}/{self.name}", change)

    def annotation(self, name: str) -> str | None:
        found: str | None = self.node()["metadata"]["annotations"].get(f"{PREFIX}{name}")
        return found

    def daemon(self, *words: str) -> str:
        named = ("--kubeconfig", KUBECONFIG, "--namespace", self.cluster.namespace)
        done = self.machine.run(DAEMON, *words, *named)
        assert done.code == 0, done.err
        return done.out

    def begin(self) -> None:
        line = (
            f"{DAEMON} controller --windows-service --log-dir {LOGS} --log-file-max-size 1"
            f" --kubeconfig {KUBECONFIG} --namespace {self.cluster.namespace} --ca-bundle {BUNDLE}"
        )
        self.machine.create_service(SERVICE, line, automatic=True)
        self.machine.start_service(SERVICE)

    def runs(self, service: str) -> bool:
        found = self.machine.service(service)
        return found is not None and found.state is State.RUNNING

    def has_seen_what_is_wanted(self) -> bool:
        asked = self.cluster.requests(program="wmcb")
        return any((each.verb, each.resource) == ("watch", "configmaps") for each in asked)

    def version(self) -> str | None:
        return self.annotation("version")

    def believes(self) -> bool:
        """Whom the bundle names."""
        found = self.machine.registry(roots.KEY)
        return found is not None and THUMBPRINT in found.keys

    def turns(self) -> list[str]:
        """Starts and stops of the operator's services since this was asked last, in their order."""
        written = self.machine.path(TURNS)
        lines = written.read_text().splitlines() if written.exists() else []
        written.unlink(missing_ok=True)
        return [line.removesuffix(".exe") for line in lines]

    def comes(self, condition: Callable[[], object], what: str) -> None:
        until(condition, what, SOON_SECONDS, self.describe)

    def log(self) -> str:
        log = self.machine.path(rf"{LOGS}\wmcb.log")
        return log.read_text() if log.exists() else "no log"

    def describe(self) -> str:
        """With its logs, but for what a test has filled them with."""
        logs = sorted(self.machine.path(LOGS).iterdir())
        told = [f"{log.name}: {log.read_text().replace(FILLING, '...')}" for log in logs]
        return "\n".join([super().describe(), f"{self.machine.service(SERVICE)}", *told])


@pytest.fixture
def operated(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> Iterator[OfOperator]:
    operated = OfOperator(cluster, container_runtime, node)
    operated.install()
    operated.bring()
    yield operated
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", cluster.namespace)


@pytest.mark.parametrize("watch", ["watch, ", ""], ids=["may watch Nodes", "may list them only"])
def test_bootstrap_controller_and_cleanup(operated: OfOperator, watch: str, figure: Figure) -> None:
    rights = RIGHTS.format(name=operated.cluster.namespace, watch=watch)
    operated.cluster.kubectl("apply", "-f", "-", stdin=rights)
    assert operated.daemon("bootstrap", "--desired-version", "1").startswith("1 service run, by ConfigMap")
    assert operated.runs("first")
    assert operated.machine.service("second") is None

    overlay = operated.machine.path(r"C:\k\cni\config")
    overlay.mkdir(parents=True)
    for name in ("cni.conf", *OVERLAY_CERTIFICATES):
        (overlay / name).write_text("of hybrid-overlay-node.exe")
    operated.ask_for("1")
    operated.begin()
    operated.comes(lambda: operated.runs("second"), "it runs")
    operated.comes(lambda: operated.version() == "1", "the Node is told its version")
    settings = operated.machine.service_settings("second")
    assert f"--node={operated.name}" in json.dumps(settings, default=str)
    (process,) = operated.machine.processes("first.exe")
    operated.machine.kill(process)
    operated.comes(lambda: operated.runs("first") and operated.runs("second"), "both run again")
    if watch:
        roots.remember(operated.machine)
        operated.machine.path(BUNDLE).write_text(EXAMPLE)
        operated.comes(operated.believes, "the machine believes whom the bundle names")
        operated.comes(lambda: operated.annotation("reboot-required") is not None, "a restart is asked for")
        # As if it had been restarted: by that Wine 10.0 would forget the certificate.
        operated.machine.path(CERTIFICATES).unlink()
        operated.annotate("reboot-required", None)
        operated.say("2", FIRST)
        operated.ask_for("2")
        operated.comes(lambda: operated.version() == "2", "the Node is told its version")
        assert operated.machine.service("second") is None
    daemons = [each for each in operated.machine.processes() if SERVICE in " ".join(each.command)]
    figure(
        "resident memory of the operator's daemon", sum(each.resident_bytes for each in daemons) / 1e6, "MB"
    )

    assert sorted(each.name for each in overlay.iterdir()) == ["cni.conf", *OVERLAY_CERTIFICATES[-2:]]
    operated.machine.stop_service(SERVICE)
    operated.machine.wait_for_service(SERVICE, State.STOPPED)
    operated.daemon("cleanup")
    assert operated.machine.service("first") is None
    assert operated.version() is None
    assert not operated.believes()
    operated.wait_until_ready()


def test_a_restart_that_the_operator_is_asked_for_and_the_order_of_services(operated: OfOperator) -> None:
    """One test for both, since each Ready Node costs seconds."""
    rights = RIGHTS.format(name=operated.cluster.namespace, watch="watch, ")
    operated.cluster.kubectl("apply", "-f", "-", stdin=rights)
    operated.say("2", THIRD, SECOND, FIRST, SITE="lab")
    operated.ask_for("2")
    operated.begin()
    operated.comes(lambda: operated.annotation("reboot-required") is not None, "a restart is asked for")
    assert operated.machine.service("second") is None, "what it runs would lack the variable"
    operated.cluster.forget_requests()
    operated.reboot()
    operated.comes(operated.has_seen_what_is_wanted, "Windows starts it")
    operated.wmcb("status")  # which takes longer than to make the services
    assert operated.machine.service("second") is None, "the operator has not seen to it yet"
    operated.annotate("reboot-required", None)
    operated.comes(lambda: operated.version() == "2", "the Node is told its version")
    assert operated.turns() == ["start first", "start second", "start third"]
    assert "SITE=lab" in operated.services["second"].starts[-1]["environ"]
    assert operated.annotation("reboot-required") is None

    # A change of one service restarts what depends on it, and nothing else.
    changed = {**FIRST, "path": rf"{FIRST['path']} --round=2"}
    operated.say("3", changed, SECOND, THIRD, SITE="lab")
    operated.ask_for("3")
    operated.comes(lambda: operated.version() == "3", "the Node is told its version")
    assert operated.turns() == ["stop second", "stop first", "start first", "start second"]
    operated.say("4", THIRD, SITE="lab")
    operated.ask_for("4")
    operated.comes(lambda: operated.version() == "4", "the Node is told its version")
    assert operated.turns() == ["stop second", "stop first"]
    assert operated.machine.service("first") is None
    assert operated.runs("third")

    # What a script prints becomes part of a command; before it prints anything all stays as it is.
    powershell = PowerShell(operated.machine)
    with operated.machine.path(rf"{LOGS}\wmcb.log").open("a") as log:
        log.write(f"{FILLING}\n")
    operated.say("5", SCRIPTED, files=[THIRD_EXE], SITE="lab")
    operated.ask_for("5")
    operated.comes(lambda: "the script of service third ended with exit code 1" in operated.log(), "it fails")
    assert (operated.version(), operated.turns()) == ("4", [])
    powershell.prints("4f8d\r\n")
    operated.annotate("hint", "another Node is a reason not to wait with it")
    operated.comes(lambda: operated.version() == "5", "the Node is told its version")
    asked = f'-NonInteractive -ExecutionPolicy Bypass -Command "C:\\k\\network.ps1 -Node {operated.name}"'
    assert all(line.endswith(asked) for line in powershell.asked)
    assert operated.services["third"].starts[-1]["arguments"][-1] == "--network=4f8d"
    assert operated.machine.path(rf"{LOGS}\wmcb.1.log").stat().st_size > LARGEST_LOG, "it was too large"
    assert r"C:\k\third.exe is not the one that is wanted" in operated.log()

    # A watched variable that is to have no value any more takes a restart as well.
    operated.say("6", THIRD)
    operated.ask_for("6")
    operated.comes(lambda: operated.annotation("reboot-required") is not None, "a restart is asked for")
    environment = operated.machine.registry(ENVIRONMENT)
    assert environment is not None
    assert "SITE" not in environment.values
    assert operated.version() == "5"
    operated.wait_until_ready()
