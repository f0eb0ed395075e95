"""A NodeConfiguration's settings of Windows, seen from outside: registry, Path, proxy, host name."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from lab import roots
from lab.node import Node
from lab.registry import Value
from lab.waiting import until
from windows.exe import SERVICE
from windows.test_bootstrap import Machine

DOCUMENT = r"C:\given files\node.yaml"
HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
TEXT = r"""registryValues:
- {key: 'HKLM\SOFTWARE\Contoso\Agent', name: Level, dword: 3}
- {key: 'HKLM\SOFTWARE\Contoso\Agent', name: Home, expandable: '%SystemRoot%\agent'}
- {key: 'HKLM\SOFTWARE\Contoso\Agent', name: Large, qword: 18446744073709551615}
- {key: 'HKLM\SOFTWARE\Contoso\Agent', name: Names, strings: [one, two words]}
- {key: 'HKLM\SOFTWARE\Contoso\Agent', name: Blob, binary: 00 ff}
- {key: 'HKLM\SOFTWARE\Contoso\Agent', string: käse}
pathEntries: ['C:\Tools', 'C:\windows\SYSTEM32\']
proxy:
  http: http://user:swordfish@proxy.example:3128
  cluster: {podNetworks: [10.244.0.0/16]}
dnsSuffixes: [example.com, corp.example.com]
"""
CERTIFICATES = Path(__file__).parents[1] / "data" / "certificates"
ROOTS = [(CERTIFICATES / f"{name}-root.pem").read_text() for name in ("example", "other")]
BLOCKS = "".join(f"- |\n{textwrap.indent(pem, '  ')}" for pem in ROOTS)
AGENT = r"HKLM\SOFTWARE\Contoso\Agent"
ENVIRONMENT = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
TCPIP = r"HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
URL = "http://user:swordfish@proxy.example:3128"
VALUES = {
    "Level": Value("REG_DWORD", 3),
    "Home": Value("REG_EXPAND_SZ", r"%SystemRoot%\agent"),
    "Large": Value("REG_QWORD", 2**64 - 1),
    "Names": Value("REG_MULTI_SZ", ["one", "two words"]),
    "Blob": Value("REG_BINARY", b"\x00\xff"),
    "": Value("REG_SZ", "käse"),
}
BY_AN_INSTALLER = r"""
import winreg
def opened(key):
    return winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, winreg.KEY_ALL_ACCESS)
with opened(r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment") as key:
    path, kind = winreg.QueryValueEx(key, "Path")
    left = [entry for entry in path.split(";") if entry != r"C:\Tools"]
    winreg.SetValueEx(key, "Path", 0, kind, ";".join([*left, r"C:\Installed"]))
with opened(r"SOFTWARE\Contoso\Agent") as key:
    winreg.SetValueEx(key, "Level", 0, winreg.REG_SZ, "4")
    winreg.DeleteValue(key, "Names")
with opened(r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters") as key:
    winreg.SetValueEx(key, "SearchList", 0, winreg.REG_SZ, "elsewhere.example")
with opened(r"SOFTWARE\Microsoft\SystemCertificates\ROOT\Certificates") as key:
    winreg.DeleteKey(key, "F793B9AFDADEF1099F17694239BE478D8B336074")
"""
BELIEVED = """
import ssl
for encoded, _, purposes in ssl.enum_certificates("ROOT"):
    if b"Example" in encoded and purposes is True:
        print(ssl.DER_cert_to_PEM_cert(encoded), end="")
"""
PROXY_BY_WINHTTP = """
import sys
sys.path.insert(0, r"Z:\\repo")
from agent.host.windows.machine import open_windows
print(open_windows().proxies.default())
"""


@pytest.fixture
def machine(node: Node) -> Machine:
    return Machine(node)


def give(machine: Machine, text: str) -> None:
    machine.node.path(DOCUMENT).write_text(HEAD + text, encoding="utf-8")


def data(node: Node, key: str, name: str) -> object:
    found = node.registry(key)
    return None if found is None else found.data(name)


def path_of(node: Node) -> tuple[str, str]:
    """Its type, and what is in it."""
    found = node.registry(ENVIRONMENT)
    assert found is not None
    return found["Path"].type, str(found["Path"].data)


def believed(node: Node) -> set[str]:
    """By whoever asks Windows, whom a document gave."""
    told = node.python("-c", BELIEVED)
    assert told.code == 0, told.err
    return {pem for pem in ROOTS if pem in told.out}


def is_made(node: Node) -> bool:
    found = node.registry(AGENT)
    return (
        found is not None
        and found.values == VALUES
        and data(node, TCPIP, "SearchList") == "example.com,corp.example.com"
        and r"C:\Tools" in path_of(node)[1].split(";")
    )


def test_settings_are_made_kept_and_taken_back(machine: Machine) -> None:
    """One test for all, since each node costs seconds."""
    node = machine.node
    roots.remember(node)
    (kind, path), winhttp = path_of(node), node.python("-c", PROXY_BY_WINHTTP).out
    give(machine, f"{TEXT}trustedCertificates:\n{BLOCKS}")
    plan = machine.bootstrap("--node-config", DOCUMENT, "--dry-run")
    assert "CN=Example Root,O=Example, until 2126-" in plan.out
    assert believed(node) == set()
    result = machine.bootstrap("--node-config", DOCUMENT)
    assert result.code == 0, result.err
    assert is_made(node)
    assert believed(node) == set(ROOTS)
    assert path_of(node) == (kind, rf"{path};C:\Tools"), "system32 was there in other letters"
    assert data(node, ENVIRONMENT, "HTTPS_PROXY") == URL
    without = "localhost,127.0.0.1,::1,.svc,.cluster.local,10.244.0.0/16"
    assert data(node, ENVIRONMENT, "NO_PROXY") == without
    by_winhttp = node.python("-c", PROXY_BY_WINHTTP).out
    assert "server='proxy.example:3128'" in by_winhttp
    assert "*.svc;*.cluster.local;10.244.*" in by_winhttp
    told = node.holding("swordfish")
    assert told == [DOCUMENT, "HKLM"], "where it was given, and the machine's variables"
    assert "swordfish" not in result.out + result.err

    assert machine.bootstrap("--node-config", DOCUMENT).out.startswith("nothing to do")
    assert machine.wmcb("status").code == 0

    assert machine.wmcb("daemon", "install").code == 0
    node.start_service(SERVICE)
    log = node.path(r"C:\ProgramData\wmcb\logs\wmcb.log")
    until(lambda: "keeping kubelet" in log.read_text(), "the node is kept")
    changed = node.python("-c", BY_AN_INSTALLER)
    assert changed.code == 0, changed.err
    until(lambda: is_made(node), "the settings are as they were made", explain=log.read_text)
    until(lambda: believed(node) == set(ROOTS), "both are believed again", explain=log.read_text)
    assert path_of(node)[1].endswith(r";C:\Tools;C:\Installed"), "where it was"

    reset = machine.wmcb("reset")
    assert reset.code == 0, reset.err
    assert node.registry(r"HKLM\SOFTWARE\Contoso") is None
    assert believed(node) == set()
    assert path_of(node) == (kind, rf"{path};C:\Installed")
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"):
        assert data(node, ENVIRONMENT, name) is None
    assert data(node, TCPIP, "SearchList") is None
    assert node.python("-c", PROXY_BY_WINHTTP).out == winhttp


def test_a_host_name_takes_one_restart_and_the_node_is_made_after_it(machine: Machine) -> None:
    node = machine.node
    give(machine, "hostName: node-7\n")
    result = machine.bootstrap("--node-config", DOCUMENT)
    assert result.code == 1003, result.err
    assert "  this machine is called node-7 when it has been restarted" in result.out.splitlines()
    assert node.service("kubelet") is None

    # The same, but it sees to the restart, and to all that comes after.
    result = machine.bootstrap("--node-config", DOCUMENT, "--allow-reboot")
    assert result.code == 1003, result.err
    assert "goes on by itself" in result.err
    node.reboot()
    log = node.path(r"C:\ProgramData\wmcb\logs\wmcb.log")
    until(lambda: node.service("wmcb-continue") is None, "it has been gone on with", 60, log.read_text)
    assert data(node, TCPIP, "Hostname") == "node-7"
    until(machine.runs, "the kubelet runs", explain=log.read_text)
    assert machine.bootstrap("--node-config", DOCUMENT).out.startswith("nothing to do")
