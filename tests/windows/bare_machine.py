"""A bare Windows machine, a document that wants something of each kind, and how each looks from outside.

What is looked at is what Windows, or its stand-in, keeps: the registry, files, services, HNS' documents.
"""

from __future__ import annotations

import hashlib
import json
import ssl
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple, cast

from lab import repository, roots, routes
from lab.certificates import Authority
from lab.defender import Defender
from lab.features import INSTALLED, STAGED, Features
from lab.features import KEY as KEY_OF_FEATURES
from lab.firewall import Firewall
from lab.hns import Hns
from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from lab.web import Page, Proxy, Web
from unit.artifacts.archives_made import tar_gz, zipped
from windows.exe import download
from windows.test_fetching import trust
from windows.test_settings import ROOTS, believed

GIVEN, DOCUMENT = r"C:\given\kubelet.exe", r"C:\given\node.yaml"
_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
KUBELET = r"C:\k\kubelet.exe"
AGENT, PLUGIN = r"C:\tools\agent.exe", r"C:\opt\cni\bin\win-bridge.exe"
CONTAINERD, TOML = r"C:\Program Files\containerd\containerd.exe", r"C:\Program Files\containerd\config.toml"
CNI, SETTINGS, DATA = r"C:\etc\cni\net.d\10-l3.conf", r"C:\tools\agent.json", r"C:\tools\data"
CRI = "io.containerd.grpc.v1.cri"
BEFORE = (repository.ROOT / "tests" / "data" / "containerd" / "config-2.toml").read_bytes()
PUBLISHED = "/mirror/v1.36.3/bin/windows/amd64/kubelet.exe"
FILES = "https://files.example/"
ROUTE = "10.244.3.0/24 over 10.77.0.33"
RULE, FEATURE = "agent", "RemoteAccess"
THUMBPRINT = hashlib.sha1(ssl.PEM_cert_to_DER_cert(ROOTS[0])).hexdigest().upper()  # noqa: S324 - Windows' name for it
PROGRAM = b"MZ" + b"".join(hashlib.sha256(f"{at}".encode()).digest() for at in range(3_000))

_CONTROL = r"HKLM\SYSTEM\CurrentControlSet\Control"
_SERVICES = r"HKLM\SYSTEM\CurrentControlSet\Services"
ENVIRONMENT = rf"{_CONTROL}\Session Manager\Environment"
_CONTOSO = r"HKLM\SOFTWARE\Contoso\Agent"
_TCPIP = rf"{_SERVICES}\Tcpip\Parameters"
_KEPT_ROUTES, _KEPT_ROUTE = rf"{_TCPIP}\PersistentRoutes", "10.244.3.0,255.255.255.0,10.77.0.33,256"
_CONTAINERD = rf"{_SERVICES}\containerd"
_EVENTS = rf"{_SERVICES}\EventLog\Application\agent"
_EXCLUDED = r"HKLM\SOFTWARE\Microsoft\Windows Defender\Exclusions\Paths"
_WINHTTP = r"HKLM\SOFTWARE\Microsoft\Windows\CurrentVersion\Internet Settings\Connections"

_TEXT = r"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
artifacts:
- {{name: containerd, source: '{files}containerd.tar.gz', sha256: {containerd}, protection: program,
   unpack: {{into: 'C:\Program Files\containerd', strip: 1}}}}
- {{name: CNI plug-ins, source: '{files}plugins.zip', sha256: {plugins}, protection: program,
   unpack: {{into: 'C:\opt\cni\bin'}}}}
- {{name: agent, source: '{files}agent.exe?sv=2030&sig=swordfish', sha512: {agent}, protection: program,
   path: 'C:\tools\agent.exe'}}
directories: [{{path: 'C:\tools\data'}}]
files: [{{path: 'C:\tools\agent.json', text: '{{}}'}}]
environmentVariables: [{{name: REGION, value: eu-1}}]
pathEntries: ['C:\tools']
registryValues: [{{key: 'HKLM\SOFTWARE\Contoso\Agent', name: Level, dword: 3}}]
proxy:
  http: {proxy}
  cluster: {{podNetworks: [10.244.0.0/16]}}
dnsSuffixes: [corp.example.com]
timeService: {{running: true}}
windowsFeatures: [{{name: RemoteAccess}}]
defenderExclusions: [{{path: 'C:\tools\data'}}]
firewallRules: [{{name: agent, protocol: tcp, localPorts: ['9100']}}]
networks:
- {{name: cbr0, type: l2bridge, address: 10.77.0.1, subnets: [{{prefix: 10.244.7.0/24, gateway: 10.244.7.1}}],
   hostEndpoint: {{address: 10.244.7.2, gateway: 10.244.7.1, forwarding: true}}}}
routes: [{{destination: 10.244.3.0/24, gateway: 10.77.0.33}}]
eventSources: [{{name: agent, messageFile: 'C:\tools\agent.exe'}}]
containerdConfiguration: {{version: 2, cniPrograms: 'C:\opt\cni\bin', withoutSystemdCgroup: true}}
commands: [{{name: once, text: 'echo once>>C:\given\once.txt', after: [{{file: 'C:\tools\agent.exe'}}]}}]
trustedCertificates:
- |
{authority}
cniConfigurations:
- {{path: 'C:\etc\cni\net.d\10-l3.conf', plugin: win-bridge, network: cbr0, podNetwork: 10.244.7.0/24}}
services:
- name: containerd
  program: C:\Program Files\containerd\containerd.exe
  arguments: [--windows-service]
  reads:
  - file: C:\Program Files\containerd\containerd.exe
  - containerdConfiguration: C:\Program Files\containerd\config.toml
"""


class BareMachine:
    """With what it is given to be prepared with, and a mirror of what it is to fetch, behind a proxy."""

    def __init__(self, node: Node, web: Web, authority: Authority, proxy: Proxy) -> None:
        self.node, self.web, self.proxy = node, web, proxy
        download(node)
        routes.install(node)
        trust(node, authority)
        self.hns = Hns(node)
        self.firewall, self.features, self.defender = Firewall(node), Features(node), Defender(node)
        self.clock = StandinKubelet(node, r"C:\given\w32time.exe", address="127.0.0.1:10123")
        node.create_service("W32Time", r"C:\given\w32time.exe --windows-service")
        runtime = r"C:\given\containerd.exe"
        self.containerd = StandinKubelet(
            node, runtime, address="127.0.0.1:10999", starts=r"C:\given\starts.txt"
        ).content
        node.path(runtime).unlink()
        node.path(TOML).parent.mkdir()
        node.path(TOML).write_bytes(BEFORE)
        self._publish()

    def _publish(self) -> None:
        kubelet = StandinKubelet(self.node, GIVEN, version="1.36.3").content
        self.web.pages[PUBLISHED] = Page(kubelet)
        self.web.pages[f"{PUBLISHED}.sha256"] = Page(hashlib.sha256(kubelet).hexdigest().encode())
        archives = {
            "containerd.tar.gz": tar_gz(("bin/containerd.exe", self.containerd)),
            "plugins.zip": zipped(("win-bridge.exe", PROGRAM), ("LICENSE", b"free")),
            "agent.exe?sv=2030&sig=swordfish": PROGRAM,
        }
        self.web.pages |= {f"/mirror/{name}": Page(content) for name, content in archives.items()}
        containerd, plugins, _ = (hashlib.sha256(content).hexdigest() for content in archives.values())
        agent = hashlib.sha512(PROGRAM).hexdigest()
        values = {"containerd": containerd, "plugins": plugins, "agent": agent}
        authority = textwrap.indent(ROOTS[0], "  ")
        text = _TEXT.format(files=FILES, proxy=self.proxy.url, authority=authority, **values)
        self.node.path(DOCUMENT).write_text(text)

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.of_every_node, "--node-config", DOCUMENT)

    @property
    def of_every_node(self) -> tuple[str, ...]:
        return ("prepare", "--kubernetes-version", "v1.36.3", *self._mirrors)

    @property
    def configuration(self) -> tuple[str, ...]:
        """The document alone."""
        return ("prepare", "--node-config", DOCUMENT, *self._mirrors)

    @property
    def _mirrors(self) -> tuple[str, ...]:
        mirrors = (f"{original}={self.web.url('/mirror/')}" for original in ("https://dl.k8s.io/", FILES))
        return tuple(word for mirror in mirrors for word in ("--mirror", mirror))

    # From outside

    def data(self, key: str, name: str) -> object:
        found = self.node.registry(key)
        return None if found is None else found.data(name)

    def holds(self, path: str) -> bytes | None:
        place = self.node.path(path)
        return place.read_bytes() if place.is_file() else None

    @property
    def path(self) -> list[str]:
        return str(self.data(ENVIRONMENT, "Path")).split(";")

    @property
    def is_winhttps_proxy(self) -> bool:
        kept = self.data(_WINHTTP, "WinHttpSettings")
        return isinstance(kept, bytes) and self.proxy.url.removeprefix("http://").encode() in kept

    @property
    def cni_programs(self) -> object:
        """As containerd is told, which is told of no systemd either; None where it is told nothing."""
        text = (self.holds(TOML) or b"").decode()
        cri = tomllib.loads(text)["plugins"].get(CRI, {})
        assert "# mirrored by hand" in text
        return cri.get("cni", {}).get("bin_dir") if "SystemdCgroup" not in text else None

    @property
    def network(self) -> tuple[bool, bool]:
        """Whether there is the network, and this machine's endpoint in it."""
        network, endpoint = self.hns.network("cbr0"), self.hns.endpoint("cbr0_ep")
        is_in_it = bool(network and endpoint and endpoint["HostComputeNetwork"] == network["ID"])
        return network is not None, is_in_it

    @property
    def cni_network(self) -> object:
        with suppress(ValueError):
            return json.loads(self.holds(CNI) or b"{}").get("name")
        return "no JSON"

    def runs(self, service: str) -> bool:
        found = self.node.service(service)
        return found is not None and found.state is State.RUNNING

    def is_private(self, path: str) -> bool | None:
        """Whether other users may do nothing with it; None where it is not there."""
        return not self.node.mode(path) & 0o007 if self.node.path(path).exists() else None


class Part(NamedTuple):
    """Of the document, or of what every node needs: how it looks from outside, wanted and by hand."""

    found: Callable[[BareMachine], object]
    wanted: object
    by_hand: str | Callable[[BareMachine], None]
    """How somebody changes it: a line for Windows Python, or from outside."""
    resource: str
    """As the log calls it."""
    before: object = None
    """And after a reset."""
    is_told: bool = True
    """Whether Windows tells the resident service of a change; else that sees it within ten minutes."""


def _written(path: str) -> Callable[[BareMachine], None]:
    def write(machine: BareMachine) -> None:
        machine.node.path(path).write_bytes(b"by hand")

    return write


def _open(machine: BareMachine) -> None:
    machine.node.path(DATA).chmod(0o777)


def _edited(machine: BareMachine) -> None:
    text = machine.node.path(TOML).read_text()
    machine.node.path(TOML).write_text(text.replace(r"C:\\opt\\cni\\bin", r"C:\\elsewhere"))


def _without_network(machine: BareMachine) -> None:
    """On Windows an adapter goes with it, and what that did; here `forwarding` has to be changed, too."""
    network, endpoint = machine.hns.network("cbr0"), machine.hns.endpoint("cbr0_ep")
    assert network is not None
    assert endpoint is not None
    machine.hns.call("DeleteEndpoint", endpoint["ID"], {})
    machine.hns.call("DeleteNetwork", network["ID"], {})


def log(machine: BareMachine) -> str:
    return machine.node.path(_LOG).read_text()


def _stopped(service: str) -> Callable[[BareMachine], None]:
    def stop(machine: BareMachine) -> None:
        begun = log(machine).count(f"daemon: service {service} ")
        machine.node.stop_service(service)
        # The resident service may have started it again before anybody sees it stopped.
        until(
            lambda: (
                ((now := machine.node.service(service)) is not None and now.state is State.STOPPED)
                or log(machine).count(f"daemon: service {service} ") > begun
            ),
            f"{service} is stopped",
        )

    return stop


def _set(key: str, name: str, data: object, kind: str = "SZ") -> str:
    return f"change({key!r}, {name!r}, {data!r}, winreg.REG_{kind})"


def _gone(key: str, name: str) -> str:
    return f"winreg.DeleteValue(opened({key!r}), {name!r})"


PARTS: Mapping[str, Part] = {
    "a program of an archive": Part(
        lambda it: it.holds(PLUGIN) == PROGRAM, True, _written(PLUGIN), f"file {PLUGIN}", False
    ),
    "a program by itself": Part(
        lambda it: it.holds(AGENT) == PROGRAM, True, _written(AGENT), f"file {AGENT}", False
    ),
    "a file": Part(lambda it: it.holds(SETTINGS), b"{}", _written(SETTINGS), f"file {SETTINGS}"),
    "a folder": Part(lambda it: it.is_private(DATA), True, _open, f"directory {DATA}"),
    "a variable": Part(
        lambda it: it.data(ENVIRONMENT, "REGION"),
        "eu-1",
        _set(ENVIRONMENT, "REGION", "us-1"),
        "environment variable REGION",
    ),
    "an entry of Path": Part(
        lambda it: r"C:\tools" in it.path,
        True,
        "without_entry('C:\\\\tools')",
        r"path entry C:\tools",
        False,
    ),
    "a value of the registry": Part(
        lambda it: it.data(_CONTOSO, "Level"),
        3,
        _set(_CONTOSO, "Level", 4, "DWORD"),
        rf"registry value {_CONTOSO}\Level",
    ),
    "programs' proxy": Part(
        lambda it: it.data(ENVIRONMENT, "HTTPS_PROXY") == it.proxy.url,
        True,
        _gone(ENVIRONMENT, "HTTPS_PROXY"),
        "environment variable HTTPS_PROXY",
        False,
    ),
    "WinHTTP's proxy": Part(
        lambda it: it.is_winhttps_proxy,
        True,
        _set(_WINHTTP, "WinHttpSettings", b"", "BINARY"),
        "proxy of this machine",
        False,
    ),
    "suffixes of names": Part(
        lambda it: it.data(_TCPIP, "SearchList"),
        "corp.example.com",
        _set(_TCPIP, "SearchList", ""),
        "dns suffixes of this machine",
    ),
    "the time service": Part(
        lambda it: it.runs("W32Time"), True, _stopped("W32Time"), "time service W32Time", False
    ),
    "a feature": Part(
        lambda it: it.features.state(FEATURE),
        INSTALLED,
        _set(KEY_OF_FEATURES.format(FEATURE), "State", STAGED, "DWORD"),
        f"windows feature {FEATURE}",
        STAGED,
        is_told=False,
    ),
    "an exclusion of Defender's": Part(
        lambda it: it.defender.excluded("Paths"),
        [DATA],
        _gone(_EXCLUDED, DATA),
        f"defender exclusion path {DATA}",
        [],
    ),
    "a rule of the firewall": Part(
        lambda it: "LPort=9100" in it.firewall.rules.get(RULE, ()),
        True,
        f"rules.Remove({RULE!r})",
        f"firewall rule {RULE}",
        False,
    ),
    "a container network": Part(
        lambda it: it.network,
        (True, True),
        _without_network,
        "hns network cbr0",
        (False, False),
    ),
    "a route, also for the next start": Part(
        lambda it: (routes.made(it.node), it.data(_KEPT_ROUTES, _KEPT_ROUTE) is not None),
        ({ROUTE: 256}, True),
        f"{_gone(routes.KEY, routes.ROWS)}\n{_gone(_KEPT_ROUTES, _KEPT_ROUTE)}",
        f"route {ROUTE}",
        ({}, False),
    ),
    "forwarding": Part(
        lambda it: routes.forwarding(it.node),
        {"eth0": True, "eth0peer": True},
        _set(routes.FORWARDING, "eth0", 0, "DWORD"),
        "ip forwarding 10.77.0.1",
        {"eth0": False, "eth0peer": False},
    ),
    "an authority": Part(
        lambda it: believed(it.node),
        {ROOTS[0]},
        f"winreg.DeleteKey(opened({roots.KEY!r}), {THUMBPRINT!r})",
        f"trusted certificate {THUMBPRINT}",
        set(),
    ),
    "a source of events": Part(
        lambda it: it.data(_EVENTS, "EventMessageFile"),
        AGENT,
        _set(_EVENTS, "EventMessageFile", r"C:\other.exe"),
        "event source agent",
    ),
    "containerd's configuration": Part(
        lambda it: it.cni_programs, r"C:\opt\cni\bin", _edited, f"containerd configuration {TOML}"
    ),
    "a configuration of CNI's": Part(lambda it: it.cni_network, "cbr0", _written(CNI), f"file {CNI}"),
    "a service's settings": Part(
        lambda it: (
            f"HTTPS_PROXY={it.proxy.url}" in cast("list[str]", it.data(_CONTAINERD, "Environment") or [])
        ),
        True,
        _set(_CONTAINERD, "Environment", ["HTTPS_PROXY=http://elsewhere.example"], "MULTI_SZ"),
        "service containerd had been",
        False,
    ),
    "a service": Part(
        lambda it: it.runs("containerd"),
        True,
        _stopped("containerd"),
        "service containerd had stopped",
        False,
    ),
}

_SCRIPT = r"""
import winreg
import win32com.client
def opened(key):
    return winreg.CreateKey(winreg.HKEY_LOCAL_MACHINE, key.removeprefix("HKLM\\"))
def change(key, name, data, kind):
    with opened(key) as there:
        winreg.SetValueEx(there, name, 0, kind, data)
def without_entry(entry):
    key = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
    path, kind = winreg.QueryValueEx(opened(key), "Path")
    change(key, "Path", ";".join(each for each in path.split(";") if each != entry), kind)
rules = win32com.client.Dispatch("HNetCfg.FwPolicy2").Rules
"""


def change_by_hand(machine: BareMachine, names: Iterable[str]) -> None:
    ways = [PARTS[name].by_hand for name in names]
    for way in ways:
        if not isinstance(way, str):
            way(machine)
    lines = [way for way in ways if isinstance(way, str)]
    changed = machine.node.python("-c", "\n".join([_SCRIPT, *lines]))
    assert changed.code == 0, changed.err


def otherwise(machine: BareMachine) -> list[str]:
    """What is not as it is wanted."""
    return [name for name, part in PARTS.items() if part.found(machine) != part.wanted]


def left(machine: BareMachine) -> list[str]:
    """What is not as it was before."""
    return [name for name, part in PARTS.items() if part.found(machine) != part.before]
