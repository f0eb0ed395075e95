"""As which Node the resident service asks: by what its kubelet is started with, and not by a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PureWindowsPath

import pytest

from agent import log_runner
from agent.engine.inventory import Inventory
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.spec import Directory, File, Inline, Protection, Service, Specification
from sandbox.service.live_api import own
from sandbox.service.test_cluster import CONF, write_credentials
from service.cluster import Kubelet, Unknown, identity, kubelet_of

KUBELET = PureWindowsPath(r"C:\k\kubelet.exe")
RUNNER = PureWindowsPath(r"C:\k\wmcb-log.exe")
LOG = PureWindowsPath(r"C:\var\log\kubelet\kubelet.log")
ARGUMENTS = CONF.with_name("kubeadm-flags.env")
OWN_NAME = "winworker"
"""Of the machine."""
NAME_OF_CLOUD = "ip-192-0-2-1.ec2.internal"


def made(host: Host, arguments: Sequence[str], file: str | None = None) -> Kubelet:
    """The kubelet of a node whose service has these arguments, and whose log runner adds those of a file."""
    write_credentials(host, "https://192.0.2.2:6443", own(f"system:node:{NAME_OF_CLOUD}"))
    if file:
        host.files.write(ARGUMENTS, file.encode(), PRIVATE_FILE)
    words = (*log_runner.arguments(LOG, ARGUMENTS), str(KUBELET), *arguments)
    service = (
        Service("kubelet", KUBELET, tuple(arguments)) if file is None else Service("kubelet", RUNNER, words)
    )
    programs = [File(path, Inline(b"MZ"), Protection.PROGRAM) for path in (KUBELET, RUNNER)]
    wants = [Directory(KUBELET.parent, Protection.PROGRAM), *programs, service]
    make_so(host, Specification.of(wants), Silent())
    found = kubelet_of(Inventory.load(StateFolder.of(host)))
    assert found is not None
    assert found.kubeconfig == CONF
    return found


KUBECONFIG = f"--kubeconfig={CONF}"
NAMES: dict[str, tuple[tuple[str, ...], str | None, str]] = {
    "the machine's": ((KUBECONFIG,), None, OWN_NAME),
    "in one word": ((KUBECONFIG, "--hostname-override=win1"), None, "win1"),
    "in two words": (("--hostname-override", "win1", "--kubeconfig", str(CONF)), None, "win1"),
    "behind a switch": (("--windows-service", "--hostname-override=win1", KUBECONFIG), None, "win1"),
    "with an underscore": ((KUBECONFIG, "--hostname_override=win1"), None, "win1"),
    "in large letters": ((KUBECONFIG, "--hostname-override= Win1 "), None, "win1"),
    "the last of two": ((KUBECONFIG, "--hostname-override=a", "--hostname_override=win1"), None, "win1"),
    "empty": ((KUBECONFIG, "--hostname-override="), None, OWN_NAME),
    "of a cloud's controller": ((KUBECONFIG, "--cloud-provider=external"), None, OWN_NAME),
    "of a cloud that is built in": (
        (KUBECONFIG, "--hostname-override=win1", "--cloud-provider=aws"),
        None,
        NAME_OF_CLOUD,
    ),
    "in kubeadm's file": ((KUBECONFIG,), 'KUBELET_KUBEADM_ARGS="--v=4 --hostname-override=win1"', "win1"),
    "with an underscore in the file": (
        (KUBECONFIG,),
        "KUBELET_KUBEADM_ARGS=--hostname_override=win1",
        "win1",
    ),
    "in the file, which counts last": (
        (KUBECONFIG, "--hostname-override=a"),
        "KUBELET_KUBEADM_ARGS=--hostname-override=win1",
        "win1",
    ),
    "beside a file of other arguments": (
        (KUBECONFIG, "--hostname-override=win1"),
        "KUBELET_KUBEADM_ARGS=--v=4",
        "win1",
    ),
    "beside a file of other variables": ((KUBECONFIG, "--hostname-override=win1"), "OTHER=1", "win1"),
    "beside a file that is not there": ((KUBECONFIG, "--hostname-override=win1"), "", "win1"),
}


@pytest.mark.parametrize(("arguments", "file", "name"), NAMES.values(), ids=NAMES)
def test_the_name_is_the_one_that_the_kubelet_finds(
    host: Host, arguments: tuple[str, ...], file: str | None, name: str
) -> None:
    assert identity(host, made(host, arguments, file))[0] == name


FAULTS: dict[str, tuple[tuple[str, ...], str | None, str]] = {
    "a file of half its arguments": (
        (KUBECONFIG,),
        'KUBELET_KUBEADM_ARGS="--hostname-override=win1',
        f"{ARGUMENTS}: a quote in it is never closed; close it: no kubelet starts with that",
    ),
    "a path": (
        (KUBECONFIG, "--hostname-override=../win1"),
        None,
        "the kubelet's --hostname-override, or else this machine's name: \"../win1\" cannot be the name of a "
        "node: only a to z, digits, hyphens and dots, and each part of it begins and ends with a letter or "
        "digit",
    ),
}


@pytest.mark.parametrize(("arguments", "file", "line"), FAULTS.values(), ids=FAULTS)
def test_what_cannot_be_its_name_is_one_line(
    host: Host, arguments: tuple[str, ...], file: str | None, line: str
) -> None:
    with pytest.raises(Unknown) as caught:
        identity(host, made(host, arguments, file))
    assert str(caught.value) == line


def test_a_service_that_knows_no_cluster_makes_no_node(host: Host) -> None:
    service = Service("exporter", KUBELET, ("--hostname-override=win1",))
    wants = [Directory(KUBELET.parent, Protection.PROGRAM), File(KUBELET, Inline(b"MZ")), service]
    make_so(host, Specification.of(wants), Silent())
    assert kubelet_of(Inventory.load(StateFolder.of(host))) is None
