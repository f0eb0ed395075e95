"""`wmcb prepare` on a bare Windows machine, by a document that wants something of each kind.

From a mirror over TLS, behind the proxy that the document is about: made, kept, killed, taken back.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator

import pytest

from lab import repository
from lab.certificates import Authority
from lab.features import INSTALL_PENDING, KEY, STAGED, UNINSTALL_PENDING, Features
from lab.features import INSTALLED as IS_ON
from lab.namespace import HOST_NAME
from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from lab.web import Page, Proxy, Web
from unit.artifacts.archives_made import tar_gz
from windows.bare_machine import (
    DOCUMENT,
    GIVEN,
    KUBELET,
    PARTS,
    PUBLISHED,
    BareMachine,
    change_by_hand,
    left,
    log,
    otherwise,
)
from windows.exe import DOWNLOADED, INSTALLED, PLACE, SERVICE, download
from windows.test_fetching import trust
from windows.test_networks import endpoints_adapter

MADE = r"C:\ProgramData\wmcb\made"
SOON_SECONDS = 60.0
_OF_OTHERS = "|".join(
    [
        r"C:\\(given|standins|users)\\",
        r"C:\\ProgramData\\Microsoft\\Windows\\HNS\\asked",
        r"C:\\Program Files\\containerd\\config\.toml: file, mode",  # its values are the same
        r"HKEY_USERS\\",
        r"HKEY_LOCAL_MACHINE\\Hardware\\",
        r"HKEY_LOCAL_MACHINE\\Software\\(Lab|standins)",
        r"HKEY_LOCAL_MACHINE\\Software\\Microsoft\\Windows Defender",  # its stand-in
        # WinHTTP writes down, too, that there is no proxy.
        r"HKEY_LOCAL_MACHINE\\Software\\Microsoft\\Windows\\CurrentVersion\\Internet Settings\\Connections",
        r"HKEY_LOCAL_MACHINE\\Software\\.*SystemCertificates",  # Wine makes a store for whoever looks
        r"HKEY_LOCAL_MACHINE\\System\\[^\\]+\\(Control\\Video|Hardware Profiles)",
        r"HKEY_LOCAL_MACHINE\\System\\[^\\]+\\Services\\SharedAccess",  # the firewall's stand-in
        r"HKEY_LOCAL_MACHINE\\System\\[^\\]+\\Services\\Tcpip\\Parameters\\PersistentRoutes: new, a key",
    ]
)
"""What the stand-ins, and Wine at the first program that needs them, have made meanwhile."""


@pytest.fixture
def machine(node: Node, secure_web: Web, web_authority: Authority, proxy: Proxy) -> Iterator[BareMachine]:
    with endpoints_adapter():
        yield BareMachine(node, secure_web, web_authority, proxy)


def test_a_bare_machine_is_prepared_once_and_kept_and_a_reset_leaves_what_it_says(
    machine: BareMachine,
) -> None:
    """One test for all, since each node costs seconds."""
    node, web = machine.node, machine.web
    before = node.snapshot()

    planned = node.run(DOWNLOADED, *machine.words, "--dry-run")
    assert planned.code == 0, planned.err
    assert "+ create    artifact kubelet.exe" in planned.out
    assert web.requests == []

    result = node.run(DOWNLOADED, *machine.words)
    assert (result.code, result.out.splitlines()[0][:27]) == (0, "this machine is prepared: j"), result.err
    asked = [request.path for request in web.requests]
    assert asked[:2] == [f"{PUBLISHED}.sha256", PUBLISHED]
    assert len(asked) == 5
    assert node.path(KUBELET).read_bytes() == node.path(GIVEN).read_bytes()
    assert {r"C:\k", PLACE} <= set(machine.path)
    rule = {"LPort=10250", "Protocol=6", "Action=Allow"}
    assert rule <= set(machine.firewall.rules["wmcb kubelet"])
    called = node.run(rf"{PLACE}\kubeadm.exe", "version", "-o", "short")
    assert called.out == "v1.36.3\n", called.err
    assert otherwise(machine) == []
    _names_no_signature(machine, planned.out + planned.err + result.out + result.err)

    assert machine.holds(r"C:\given\once.txt") == b"once\r\n"

    again = node.run(INSTALLED, *machine.words)
    assert (again.code, again.out) == (0, "nothing to do: this machine is prepared as is wanted\n"), again.err
    assert len(web.requests) == 5
    assert node.run(INSTALLED, "status").code == 0

    _is_kept(machine)

    gone = node.run(DOWNLOADED, "reset")
    assert gone.code == 0, gone.err
    assert "  Windows feature RemoteAccess stays enabled: others may rely on it by now" in gone.out
    assert node.run(DOWNLOADED, "daemon", "uninstall").code == 0
    assert left(machine) == ["a feature"]
    changes = before.changes_until(node.snapshot())
    assert [line for line in changes if not re.match(_OF_OTHERS, line)] == []


def _names_no_signature(machine: BareMachine, said: str) -> None:
    """The query of a URL is for administrators alone."""
    assert "swordfish" not in said
    held = set(machine.node.holding("swordfish"))
    notes = {path for path in held if path.startswith("C:\\ProgramData\\wmcb\\artifacts\\")}
    assert held - notes == {
        DOCUMENT,
        *(rf"C:\ProgramData\wmcb\{name}" for name in ("node.json", "node.json.copy")),
    }
    assert all(machine.is_private(path) for path in held - {DOCUMENT})


def _is_kept(machine: BareMachine) -> None:
    node = machine.node
    assert node.run(INSTALLED, "daemon", "install").code == 0
    node.start_service(SERVICE)
    made = node.path(MADE)
    until(lambda: made.is_dir() and len(list(made.iterdir())) >= 5, "copies are kept", SOON_SECONDS)
    service = "a service"
    told = [name for name, part in PARTS.items() if part.is_told and name != service]
    untold = [name for name, part in PARTS.items() if not part.is_told]
    change_by_hand(machine, told)
    for name in told:
        _is_made_again(machine, name)
    # By itself: it is restarted with what it reads, too.
    change_by_hand(machine, [service])
    _is_made_again(machine, service)
    # The rest it sees when it looks at everything: every ten minutes, and when it starts. Before that a
    # restart for another change would make a service's settings as they were, and leave nothing to tell.
    node.stop_service(SERVICE)
    node.wait_for_service(SERVICE, State.STOPPED)
    change_by_hand(machine, untold)
    node.start_service(SERVICE)
    for name in untold:
        _is_made_again(machine, name)


def _is_made_again(machine: BareMachine, name: str) -> None:
    part = PARTS[name]
    put_right = re.compile(rf"daemon: {re.escape(part.resource)} .*(put right|was started)")
    until(lambda: put_right.search(log(machine)), f"{name} is put right", SOON_SECONDS, lambda: log(machine))
    assert part.found(machine) == part.wanted, name


# An image


def test_an_image_is_prepared_and_keeps_nothing_of_the_machine_that_it_was_made_on(
    machine: BareMachine,
) -> None:
    node = machine.node
    named = DOCUMENT.replace("node.yaml", "named.yaml")
    node.path(named).write_text(NAMED.removeprefix("---\n"))
    refused = node.run(DOWNLOADED, "prepare", "--node-config", named, "--for-image")
    assert (refused.code, refused.out, refused.err) == (
        2, "",
        f"wmcb: {named} line 3, column 11 at $.hostName: an image has no name: each of its copies gets one\n",
    )  # fmt: skip
    node.path(named).unlink()

    result = node.run(DOWNLOADED, *machine.of_every_node, "--for-image")
    assert result.code == 0, result.err
    kept = [path for path in node.path(r"C:\ProgramData\wmcb").rglob("*") if path.is_file()]
    assert kept
    name = HOST_NAME.encode()
    for path in kept:
        content = path.read_bytes().lower()
        assert name not in content, path
        assert name.decode().encode("utf-16-le") not in content, path
    assert not node.path(r"C:\ProgramData\wmcb\logs").exists()
    assert list(node.path(r"C:\var\lib\kubelet\pki").iterdir()) == []
    fit = node.run(INSTALLED, "preflight", "--image")
    assert fit.code == 0, fit.out
    key = node.path(r"C:\ProgramData\ssh\ssh_host_ed25519_key")
    key.parent.mkdir()
    key.touch()
    unfit = node.run(INSTALLED, "preflight", "--image")
    assert unfit.code == 3, unfit.out
    assert r"C:\ProgramData\ssh\ssh_host_ed25519_key is the key by which" in unfit.out
    assert node.run(INSTALLED, "status").code == 0, "each copy goes on from there"
    again = node.run(INSTALLED, *machine.of_every_node)
    assert (again.code, again.out[:13]) == (0, "nothing to do"), again.err


# Killed


class Journal:
    """Of the configuration's run, while that is under way or was cut off."""

    def __init__(self, machine: BareMachine) -> None:
        self._place = machine.node.path(r"C:\ProgramData\wmcb") / "journal"

    def kinds(self) -> list[str]:
        """Of each step, in their order."""
        try:
            lines = self._place.read_bytes().splitlines(keepends=True)[1:]
        except FileNotFoundError:
            return []
        return [json.loads(line)["key"][0] for line in lines if line.endswith(b"\n")]


WITHOUT_PROXY = {"HTTP_PROXY": None, "HTTPS_PROXY": None}
"""Wine takes the variable for WinHTTP's default where there is none."""
KINDS = {
    *("artifact", "command", "containerd_configuration", "defender_exclusion", "directory", "dns_suffixes"),
    *("environment_variable", "event_source", "file", "firewall_rule", "hns_endpoint", "hns_network"),
    *("ip_forwarding", "path_entry", "proxy", "registry_key", "registry_value", "route", "service"),
    *("time_service", "trusted_certificate", "windows_feature"),
}


@pytest.fixture
def begun(machine: BareMachine) -> BareMachine:
    """What every node needs is there by then."""
    result = machine.node.run(DOWNLOADED, *machine.of_every_node)
    assert result.code == 0, result.err
    return machine


def test_killed_at_each_kind_of_step_the_same_command_finishes_it(begun: BareMachine) -> None:
    node, journal = begun.node, Journal(begun)
    met: set[str] = set()
    kills = 0
    while True:
        result, was_killed = node.run_unless(
            lambda: not met.issuperset(journal.kinds()),
            *(INSTALLED, *begun.configuration),
            environment=WITHOUT_PROXY,
        )
        if not was_killed:
            break
        met.update(journal.kinds())
        kills += 1
    assert result.code == 0, result.err
    assert "a run was interrupted" in result.err
    assert met == KINDS
    assert kills > len(KINDS) // 3, "some steps are over before it is noticed that they have begun"
    assert otherwise(begun) == []
    assert len(begun.web.requests) == 5, "what was fetched is fetched once"
    assert node.run(INSTALLED, "status").code == 0
    gone = node.run(DOWNLOADED, "reset", "--features")
    assert gone.code == 0, gone.err
    assert left(begun) == []


def test_killed_it_can_be_taken_back(begun: BareMachine) -> None:
    node, journal = begun.node, Journal(begun)
    before = node.snapshot()
    for kind in ("registry_value", "hns_endpoint", "event_source"):
        node.run_until(
            lambda kind=kind: kind in journal.kinds(),  # type: ignore[misc]
            *(INSTALLED, *begun.configuration),
            environment=WITHOUT_PROXY,
        )
        undone = node.run(INSTALLED, "--rollback")
        assert undone.code == 0, undone.err
        assert undone.out.startswith("the machine is as it was before the interrupted run\n")
    assert left(begun) == ["a feature"], "which others may rely on by now"
    changes = before.changes_until(node.snapshot())
    of_others = rf"{_OF_OTHERS}|C:\\ProgramData\\wmcb\\logs\\"
    assert [line for line in changes if not re.match(of_others, line)] == []


# With a restart in the middle

PROFILE = (repository.ROOT / "packaging" / "profiles" / "containerd.yaml").read_text()
NAMED = """---
apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
hostName: node-7
"""
HUB = "https://github.com/"
CONTAINERD = r"C:\Program Files\containerd\containerd.exe"
TCPIP = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"


def publish_profile(node: Node, web: Web) -> bytes:
    """What it fetches, with the checksums beside it; containerd.exe, which is in it."""
    program = StandinKubelet(node, CONTAINERD, address="127.0.0.1:10999", starts=r"C:\starts.txt").content
    shutil.rmtree(node.path(CONTAINERD).parent)
    archives = {
        "containerd": tar_gz(("bin/containerd.exe", program)),
        "crictl": tar_gz(("crictl.exe", b"MZ")),
    }
    for source, checksums in re.findall(rf"source: {HUB}(\S+)\n *checksums: {HUB}(\S+)", PROFILE):
        content = archives["crictl" if "crictl" in source else "containerd"]
        web.pages[f"/hub/{source}"] = Page(content)
        web.pages[f"/hub/{checksums}"] = Page(hashlib.sha256(content).hexdigest().encode())
    return program


def test_what_a_restart_did_not_bring_about_is_an_error_and_no_reason_for_another(node: Node) -> None:
    """Windows, or somebody, takes it back each time."""
    download(node)
    node.path(DOCUMENT).parent.mkdir()
    node.path(DOCUMENT).write_text(NAMED.replace("hostName: node-7", "windowsFeatures: [{name: Containers}]"))
    words = (DOWNLOADED, "prepare", "--node-config", DOCUMENT)
    assert node.run(*words).code == 1003
    node.reboot()
    taken_back = ("/v", "State", "/t", "REG_DWORD", "/d", str(STAGED), "/f")
    for _ in range(2):
        assert node.run("reg.exe", "add", KEY.format("Containers"), *taken_back).code == 0
        result = node.run(*words, "--allow-reboot")
        assert result.code == 1, result.out
        last = result.err.splitlines()[-1]
        assert last.startswith(
            "wmcb: this machine was restarted for windows feature Containers, and feature is "
        )
        assert node.service("wmcb-continue") is None


def test_the_profile_for_containerd_is_gone_on_with_after_the_restart_that_it_takes(
    node: Node, secure_web: Web, web_authority: Authority
) -> None:
    download(node)
    trust(node, web_authority)
    program = publish_profile(node, secure_web)
    node.path(DOCUMENT).parent.mkdir()
    node.path(DOCUMENT).write_text(PROFILE + NAMED)
    features = Features(node)
    words = ("prepare", "--node-config", DOCUMENT, "--mirror", f"{HUB}={secure_web.url('/hub/')}")

    result = node.run(DOWNLOADED, *words, "--allow-reboot")
    assert result.code == 1003, result.err
    for line in (
        "  this machine is called node-7 when it has been restarted",
        "  Windows feature Containers is enabled when Windows has been restarted",
    ):
        assert line in result.out.splitlines()
    assert features.state("Containers") == INSTALL_PENDING
    assert node.path(CONTAINERD).read_bytes() == program
    assert node.service("containerd") is None, "it needs the feature"
    asked = len(secure_web.requests)

    node.reboot()
    until(lambda: node.service("wmcb-continue") is None, "it has been gone on with", SOON_SECONDS)
    node.wait_for_service("containerd", State.RUNNING)
    assert features.state("Containers") == IS_ON
    key = node.registry(TCPIP)
    assert key is not None
    assert key.data("Hostname") == "node-7"
    assert len(secure_web.requests) == asked
    assert node.run(INSTALLED, *words).out.startswith("nothing to do")

    gone = node.run(DOWNLOADED, "reset", "--features")
    assert gone.code == 0, gone.err
    for line in (
        "  this machine is called win1 again when it has been restarted",
        "  Windows feature Containers is disabled when Windows has been restarted",
    ):
        assert line in gone.out.splitlines()
    assert "stays: " not in gone.err
    assert features.state("Containers") == UNINSTALL_PENDING
    assert not node.path(r"C:\Program Files\containerd").exists()
