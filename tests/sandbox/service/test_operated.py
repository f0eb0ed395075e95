"""What the resident service makes of what OpenShift's operator says."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.engine.machine_lock import COMMAND_LOCK
from agent.engine.progress import Silent
from agent.engine.run import reset
from agent.engine.state_folder import StateFolder
from agent.host.port import Completed, Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.host.sandbox.processes import SandboxProcesses
from agent.host.sddl import SecurityDescriptor
from agent.host.services import ServiceState
from lab.waiting import until
from sandbox.cli.given import program
from sandbox.service.keeper import Keeper
from sandbox.service.live_api import LiveApi
from sandbox.service.test_cluster import CERTIFICATE, CONF, api, write_credentials
from service.cluster import Seen, Unknown
from service.keeping import Keeping
from service.operated import Asked, Operated, OperatorCluster
from service.operator_services import make_services
from service.reporting import Marks
from service.telling import Event, Telling
from service.work_queue import Signal, Signals, Source
from unit.kube.api_server import status

__all__ = ["api"]

DATA = Path(__file__).parents[2] / "data" / "services_configmap"
AWS: dict[str, Any] = json.loads((DATA / "aws.json").read_bytes())["data"]
NODE: dict[str, Any] = json.loads((DATA / "node.json").read_bytes())
PREFIX = "windowsmachineconfig.openshift.io/"
VERSION = NODE["metadata"]["annotations"][f"{PREFIX}desired-version"]
POWERSHELL = PureWindowsPath(r"C:\Windows\System32\WindowsPowerShell\v1.0\powershell.exe")
ENVIRONMENT = {
    "HTTP_PROXY": "http://dev:swordfish@proxy.example:3128/",
    "NO_PROXY": "localhost,.cluster.local",
}
CLUSTER = Signal(Source.CLUSTER)
WRITABLE = SecurityDescriptor.parse("O:BAG:BAD:AI(A;ID;FA;;;SY)(A;ID;FA;;;BA)(A;ID;0x1301bf;;;AU)")
"""As files are in a folder that an administrator made in C:\\."""


class SaidCluster:
    def __init__(self) -> None:
        self.node: Any = None
        self.is_ready = False
        self.asked = Asked(VERSION, f"operator/windows-services-{VERSION}")
        self.trouble: str | None = None
        self.restricted = ""

    def follow(self) -> None: ...


class KeptMarks:
    def __init__(self) -> None:
        self.marks: list[Mapping[str, str | None]] = []

    def put(self, annotations: Mapping[str, str | None]) -> None:
        self.marks.append(annotations)


class Worker(Keeper):
    """A machine with the operator's programs, and a PowerShell that prints a word."""

    def __init__(self, folder: pathlib.Path, host: Host, **ports: dict[str, Any]) -> None:
        self.cluster, self.marks = SaidCluster(), KeptMarks()
        self.environment = dict(ENVIRONMENT)
        self.bundle: PureWindowsPath | None = None
        self.put(host, POWERSHELL, b"#!/bin/sh\necho printed\n")
        for service in json.loads(AWS["services"]):
            self.put(host, PureWindowsPath(service["path"].split()[0]), program())
        super().__init__(folder, host, **ports)

    @staticmethod
    def put(host: Host, path: PureWindowsPath, content: bytes) -> None:
        for folder in reversed(path.parents[:-1]):
            if host.files.observe(folder) is None:
                host.files.make_directory(folder, PROGRAM_DIRECTORY)
        host.files.write(path, content, PROGRAM_FILE)

    def begin(self) -> None:
        super().begin()
        telling = Telling(self.host, self.log.append)
        operated = Operated(
            self.host,
            self.cluster,  # type: ignore[arg-type]
            self.marks,  # type: ignore[arg-type]
            telling,
            self.bundle,
            self.environment,
        )
        self.keeping = Keeping(self.host, self.signals, telling, self.watches, operated)  # type: ignore[arg-type]

    def says(self, *, is_ready: bool = False, annotations: Mapping[str, str] = {}, **changes: Any) -> None:
        """The operator, of a version whose ConfigMap is as recorded but for `changes`."""
        self.cluster.node = {
            **NODE,
            "metadata": {
                **NODE["metadata"],
                "annotations": {**NODE["metadata"]["annotations"], **annotations},
            },
        }
        data = {**AWS, **{key: json.dumps(value) for key, value in changes.items()}}
        self.cluster.asked = replace(self.cluster.asked, config_map=Seen({"data": data}))
        self.cluster.is_ready = is_ready
        self.happened(CLUSTER)

    def services(self) -> dict[str, ServiceState]:
        names = [each["name"] for each in json.loads(AWS["services"])]
        known = self.host.services.list()
        return {name: known[name].state for name in names if name in known}


@pytest.fixture
def worker(tmp_path: pathlib.Path, host: Host) -> Worker:
    return Worker(tmp_path, host)


def restart(worker: Worker) -> None:
    """By the operator, who has been asked."""
    worker.clock.restarted(worker.clock.boot() + 1)
    worker.begin()
    worker.says()


ALL = ["containerd", "csi-proxy", "hybrid-overlay-node", "kube-proxy", "kubelet", "windows_exporter"]


def test_services_in_their_order_and_the_version_when_the_node_is_ready(worker: Worker) -> None:
    worker.says()
    assert worker.started == [
        "containerd",
        "kubelet",
        "windows_exporter",
        "hybrid-overlay-node",
        "csi-proxy",
        "kube-proxy",
    ]
    assert set(worker.services().values()) == {ServiceState.RUNNING}
    overlay = worker.host.services.read("hybrid-overlay-node")
    assert overlay is not None
    assert NODE["metadata"]["name"] in overlay.definition.command
    assert worker.host.environment.get("HTTP_PROXY") == ENVIRONMENT["HTTP_PROXY"]
    assert worker.marks.marks == []
    worker.says(is_ready=True)
    assert worker.marks.marks == [{f"{PREFIX}version": VERSION}]
    worker.says(is_ready=True, annotations={f"{PREFIX}version": VERSION})
    assert len(worker.marks.marks) == 1
    assert len(worker.started) == 6, "nothing is started twice"


def test_it_is_kept_and_what_is_wanted_no_more_goes(worker: Worker) -> None:
    worker.says()
    worker.crash("csi-proxy")
    assert set(worker.services().values()) == {ServiceState.RUNNING}
    fewer = [each for each in json.loads(AWS["services"]) if each["name"] != "csi-proxy"]
    worker.says(services=fewer)
    assert sorted(worker.services()) == [name for name in ALL if name != "csi-proxy"]


def test_other_variables_take_a_restart_that_the_operator_is_asked_for(worker: Worker) -> None:
    worker.environment["HTTP_PROXY"] = "http://former:3128/"
    worker.begin()
    worker.says()
    assert worker.host.environment.get("HTTP_PROXY") == ENVIRONMENT["HTTP_PROXY"]
    assert worker.services() == {}
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    worker.says(annotations={f"{PREFIX}reboot-required": ""})
    worker.pass_time(700)
    assert worker.services() == {}, "until it has been restarted"
    worker.environment["HTTP_PROXY"] = ENVIRONMENT["HTTP_PROXY"]
    worker.begin()
    worker.says(annotations={f"{PREFIX}reboot-required": ""})
    assert worker.services() == {}, "until the operator has seen that it was"
    worker.says()
    assert sorted(worker.services()) == ALL


@pytest.mark.parametrize("was_set", [False, True])
def test_a_restart_that_does_not_help_is_asked_for_once(worker: Worker, *, was_set: bool) -> None:
    """Where a variable is SYSTEM's own, too, or the service's."""
    for name, value in ENVIRONMENT.items() if was_set else ():
        worker.host.environment.set(name, value)
    worker.environment["HTTP_PROXY"] = "http://of-system:3128/"
    worker.begin()
    worker.says()
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    worker.told()
    for _ in range(2):
        restart(worker)
        worker.pass_time(700)
    assert len(worker.marks.marks) == 1
    event, text = worker.told()[-1]
    assert event is Event.REFUSED
    assert f"with another HTTP_PROXY than ConfigMap operator/windows-services-{VERSION} has" in text
    assert r"HKEY_USERS\S-1-5-18\Environment" in text
    assert "of-system" not in text
    assert "swordfish" not in text
    worker.environment["HTTP_PROXY"] = ENVIRONMENT["HTTP_PROXY"]
    restart(worker)
    assert sorted(worker.services()) == ALL


def test_for_a_variable_that_is_changed_later_a_restart_is_asked_for_again(worker: Worker) -> None:
    worker.environment["HTTP_PROXY"] = "http://former:3128/"
    worker.begin()
    worker.says()
    restart(worker)
    changed = {**json.loads(AWS["environmentVars"]), "HTTP_PROXY": "http://new:3128/"}
    worker.says(environmentVars=changed)
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}] * 2
    reset(worker.host, Silent())
    assert worker.host.files.observe(StateFolder.of(worker.host).path) is None


def test_a_watched_variable_that_is_to_be_gone_takes_a_restart_too(worker: Worker) -> None:
    worker.says()
    assert worker.marks.marks == []
    fewer = {
        name: value for name, value in json.loads(AWS["environmentVars"]).items() if name != "HTTP_PROXY"
    }
    worker.says(environmentVars=fewer)
    assert worker.host.environment.get("HTTP_PROXY") is None
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}]


def test_while_nobody_can_be_asked_for_a_restart_no_version_is_told(worker: Worker) -> None:
    worker.environment["HTTP_PROXY"] = "http://former:3128/"
    worker.begin()
    worker.says(is_ready=True)
    worker.pass_time(700)
    assert worker.services() == {}
    asked = {f"{PREFIX}reboot-required": ""}
    assert {*map(str, worker.marks.marks)} == {str(asked)}
    worker.says(is_ready=True, annotations=asked)
    worker.begin()
    worker.marks.marks.clear()
    worker.says(is_ready=True)
    assert worker.marks.marks == [asked], "it was no restart"


NOT_THERE = {"name": "N", "nodeObjectJsonPath": "{.status.none}"}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param({"services": [{"name": "a"}]}, "at $.data.services.0", id="bad"),
        pytest.param(
            {"services": [{"name": "a", "path": "C:\\a.exe N", "nodeVariablesInCommand": [NOT_THERE]}]},
            "the Node has no value for it yet",
            id="no value yet",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_used_leaves_all_as_it_is(worker: Worker, changes: dict[str, Any], line: str) -> None:
    worker.says()
    worker.told()
    worker.says(**changes)
    worker.pass_time(100)
    assert sorted(worker.services()) == ALL
    refused = [text for event, text in worker.told() if event is Event.REFUSED]
    assert len(refused) == 1
    assert line in refused[0]


def test_a_script_that_fails_is_tried_again_at_longer_intervals(worker: Worker) -> None:
    worker.put(worker.host, POWERSHELL, b"#!/bin/sh\nexit 1\n")
    worker.says()
    assert worker.services() == {}
    worker.put(worker.host, POWERSHELL, b"#!/bin/sh\necho printed\n")
    worker.pass_time(12)
    assert sorted(worker.services()) == ALL


def test_a_script_has_a_console(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one Windows' PowerShell ends at once, with 0."""
    run, consoles = SandboxProcesses.run, set()

    def noted(processes: SandboxProcesses, command: Sequence[str], **how: Any) -> Completed:
        consoles.add((command[0], how.get("console", False)))
        return run(processes, command, **how)

    monkeypatch.setattr(SandboxProcesses, "run", noted)
    worker.says()
    assert sorted(worker.services()) == ALL
    assert consoles == {(str(POWERSHELL), True)}


def test_what_was_made_before_a_command_began_is_told_and_kept(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, commands = SandboxProcesses.run, ExitStack()

    def run_and_begin_a_command(processes: SandboxProcesses, command: Sequence[str], **how: Any) -> Completed:
        if worker.services():
            commands.enter_context(worker.host.processes.exclusive(COMMAND_LOCK))
        return run(processes, command, **how)

    services = json.loads(AWS["services"])
    (first,) = [each for each in services if each["name"] == "containerd"]
    del first["powershellPreScripts"]
    with commands, monkeypatch.context() as beginning:
        beginning.setattr(SandboxProcesses, "run", run_and_begin_a_command)
        worker.says(services=services)
    assert worker.services() == {"containerd": ServiceState.RUNNING}
    (text,) = [text for event, text in worker.told() if event is Event.APPLIED]
    assert text.startswith(f"ConfigMap {worker.cluster.asked.place} was applied in part: ")
    assert "create service containerd" in text
    worker.pass_time(10)
    assert sorted(worker.services()) == ALL
    (text,) = [text for event, text in worker.told() if event is Event.APPLIED]
    assert "create service kubelet" in text
    assert "service containerd" not in text


def test_what_was_made_before_a_script_failed_is_told_and_kept(worker: Worker) -> None:
    worker.put(worker.host, POWERSHELL, b"#!/bin/sh\nexit 1\n")
    services = json.loads(AWS["services"])
    (first,) = [each for each in services if each["name"] == "containerd"]
    del first["powershellPreScripts"]
    worker.says(services=services)
    assert worker.services() == {"containerd": ServiceState.RUNNING}
    ((event, text),) = [each for each in worker.told() if each[0] is not Event.KEEPING]
    assert event is Event.REFUSED
    _, _, made = text.partition("the script of service kubelet ended with exit code 1; before that: ")
    assert made.endswith("create service containerd")
    worker.pass_time(12)
    ((_, text),) = worker.told()
    assert text.endswith("the script of service kubelet ended with exit code 1; nothing was changed")
    worker.crash("containerd")
    assert worker.services() == {"containerd": ServiceState.RUNNING}


def test_a_version_without_a_config_map(worker: Worker) -> None:
    worker.says()
    worker.told()
    worker.cluster.asked = replace(worker.cluster.asked, config_map=Seen(None))
    worker.happened(CLUSTER)
    assert sorted(worker.services()) == ALL
    assert [text for _, text in worker.told()] == [
        f"there is no ConfigMap operator/windows-services-{VERSION}; nothing was changed"
    ]


def test_the_version_that_is_told_is_the_one_that_was_made(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile_another_is_asked_for(*what: Any, **how: Any) -> None:
        make_services(*what, **how)
        worker.cluster.asked = Asked("another", "operator/windows-services-another")

    monkeypatch.setattr("service.operator_services.make_services", meanwhile_another_is_asked_for)
    worker.says(is_ready=True)
    assert sorted(worker.services()) == ALL
    assert worker.marks.marks == [{f"{PREFIX}version": VERSION}]


FILES = {
    "missing": (None, ["is missing; the operator is to put it there"]),
    "another": (b"MZ 2", ["is not the one that is wanted; the operator is to put that there"]),
    "the one": (b"MZ 1", []),
}


@pytest.mark.parametrize(("content", "told"), FILES.values(), ids=FILES)
def test_files_that_the_operator_did_not_bring_are_told(
    worker: Worker, content: bytes | None, told: list[str]
) -> None:
    path = PureWindowsPath(r"C:\k\brought.exe")
    if content is not None:
        worker.put(worker.host, path, content)
    worker.says(files=[{"path": str(path), "checksum": hashlib.sha256(b"MZ 1").hexdigest().upper()}])
    lines = [text for event, text in worker.told() if event is Event.NOT_REPAIRED]
    assert lines == [f"{path} {line}" for line in told]


# What it sees of the cluster


@pytest.fixture
def seen(host: Host, api: LiveApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[OperatorCluster]:
    monkeypatch.setattr("service.cluster._FIRST_PAUSE_SECONDS", 0.05)
    monkeypatch.setattr("service.cluster._LOOK_AGAIN_SECONDS", 0.05)
    write_credentials(host, api.server.url)
    host.files.set_descriptor(CERTIFICATE, PRIVATE_FILE)
    host.files.set_descriptor(CONF.parent, PRIVATE_DIRECTORY)
    address = host.facts.addresses()[0].address
    api.nodes.put(
        "win1",
        metadata={"annotations": {f"{PREFIX}desired-version": "1"}},
        status={"addresses": [{"type": "InternalIP", "address": address}]},
    )
    cluster = OperatorCluster(host, CONF, "nodes", Signals())
    yield cluster
    for watcher in (cluster._of_node, cluster._of_config_map):
        if watcher is not None:
            watcher.stop()


def test_the_config_map_is_that_of_the_version_that_the_node_asks_for(
    host: Host, api: LiveApi, seen: OperatorCluster
) -> None:
    api.nodes.is_listed_whole = True
    api.config_maps.put("windows-services-1", data={"services": "1"})
    api.config_maps.put("windows-services-2", data={"services": "2"})
    seen.follow()
    until(lambda: seen.asked.config_map is not None and seen.asked.config_map.thing is not None, "it is seen")
    assert seen.asked.config_map is not None
    assert seen.asked.config_map.thing is not None
    assert seen.asked.config_map.thing["data"] == {"services": "1"}
    thing = api.nodes.thing("win1")
    metadata = {**thing["metadata"], "annotations": {f"{PREFIX}desired-version": "2"}}
    api.nodes.put("win1", metadata=metadata, status=thing["status"])
    until(
        lambda: (
            seen.asked.config_map is not None
            and (seen.asked.config_map.thing or {}).get("data") == {"services": "2"}
        ),
        "the other",
    )
    Marks(seen).put({f"{PREFIX}version": "2"})
    until(lambda: api.annotations().get(f"{PREFIX}version") == "2", "it is told")
    del host


def test_a_kubeconfig_that_users_may_change_is_closed_to_them_before_it_is_used(
    host: Host, api: LiveApi, seen: OperatorCluster
) -> None:
    api.nodes.is_listed_whole = True
    host.files.set_descriptor(CONF, WRITABLE)
    seen.identity()
    assert host.files.descriptor(CONF) == PRIVATE_FILE
    assert seen.restricted.startswith(f"{CONF}: users could change the operator's kubeconfig; ")


def test_that_it_was_closed_is_told_once(worker: Worker) -> None:
    worker.cluster.restricted = "kubeconfig: it is restricted now"
    worker.says()
    worker.says(is_ready=True)
    assert [text for event, text in worker.told() if event is Event.REPAIRED] == [worker.cluster.restricted]


def test_what_could_not_be_told_is_told_with_what_comes_later(
    api: LiveApi, seen: OperatorCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.reporting._FIRST_PAUSE_SECONDS", 0.05)
    api.nodes.is_listed_whole = True
    restart, version = {f"{PREFIX}reboot-required": ""}, {f"{PREFIX}version": "1"}
    marks, tried = Marks(seen), list[int]()

    def refuse() -> None:
        tried.append(1)
        raise Unknown("no route")

    with monkeypatch.context() as unreachable:
        unreachable.setattr(seen, "identity", refuse)
        marks.put(restart)
        until(lambda: tried, "it is tried")
        marks.put(version)
    until(lambda: {*restart.items(), *version.items()} <= {*api.annotations().items()}, "both are told")


def test_whoever_may_not_watch_looks_now_and_then(api: LiveApi, seen: OperatorCluster) -> None:
    api.nodes.is_listed_whole = True
    api.config_maps.refusal = status(403, "Forbidden", "no watch")
    api.config_maps.put("windows-services-1", data={"services": "1"})
    seen.follow()
    until(lambda: seen.asked.config_map is not None and seen.asked.config_map.thing is not None, "it is seen")
    api.config_maps.put("windows-services-1", data={"services": "other"})
    until(
        lambda: (
            seen.asked.config_map is not None
            and (seen.asked.config_map.thing or {}).get("data") == {"services": "other"}
        ),
        "it is seen",
    )
    assert seen.trouble is None
