"""A machine's proxy, and that nothing that wmcb keeps or shows tells its password."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest

from agent.engine.progress import Silent
from agent.engine.repairing import drifted, repair
from agent.engine.run import reset
from agent.host.port import DefaultProxy, Host
from agent.sources.node_configuration.compiling import compile_node
from agent.spec import Directory, File, Inline, Service, Specification
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, powered
from unit.sources.node_configuration.examples import HEAD, documents, obtain

SWORDFISH = "sw%40rd:fish"
URL = f"http://user:{SWORDFISH}@proxy.example:3128"
PROXY = f"""\
proxy:
  http: {URL}
  noProxy: [.example.com, 192.0.2.7]
  cluster:
    podNetworks: [10.244.0.0/16]
    serviceNetworks: [10.96.0.0/15, "fd00::/108"]
    apiServer: api.example.net
"""
NO_PROXY = (
    "localhost,127.0.0.1,::1,.svc,.cluster.local,10.96.0.0/15,fd00::/108,10.244.0.0/16,api.example.net,"
    ".example.com,192.0.2.7"
)
WINHTTP = DefaultProxy(
    "proxy.example:3128",
    "localhost;127.0.0.1;::1;*.svc;*.cluster.local;10.96.*;10.97.*;10.244.*;api.example.net;*.example.com;192.0.2.7",
)
FOLDER = Directory(PureWindowsPath(r"C:\tools"))
PROGRAM = File(FOLDER.path / "agent.exe", Inline(b"MZ"))


def specified(text: str = PROXY) -> Specification:
    compiled = compile_node(documents(HEAD + text), obtain, "node.yaml")
    assert compiled.specification is not None
    agent = Service("agent", PROGRAM.path, environment={"LEVEL": "3", "no_proxy": "*"})
    return Specification.of([*compiled.specification.wants, FOLDER, PROGRAM, agent])


def test_variables_winhttp_and_our_services_have_it_until_it_goes(host: Host) -> None:
    whole = without_state(host)
    assert run(host, specified())
    assert host.environment.get("HTTP_PROXY") == host.environment.get("HTTPS_PROXY") == URL
    assert host.environment.get("NO_PROXY") == NO_PROXY
    assert host.proxies.default() == WINHTTP
    installed = host.services.read("agent")
    assert installed is not None
    assert installed.definition.environment == {
        "HTTP_PROXY": URL, "HTTPS_PROXY": URL, "LEVEL": "3", "no_proxy": "*",
    }  # fmt: skip
    assert run(host, specified()) == []
    reset(host, Silent())
    assert without_state(host) == whole
    assert host.proxies.default() is None


@pytest.mark.parametrize(
    "before", [None, DefaultProxy("other:1", ""), DefaultProxy("http=a:1;https=b:2", "x;y")]
)
def test_winhttps_former_proxy_comes_back_and_drift_is_repaired(
    host: Host, before: DefaultProxy | None
) -> None:
    host.proxies.set_default(before)
    run(host, specified())
    host.proxies.set_default(DefaultProxy("elsewhere:1", ""))
    host.environment.set("HTTPS_PROXY", "http://elsewhere:1")
    found = {drift.key for drift in drifted(host).drifts}
    assert {key.kind for key in found} == {"proxy", "environment_variable"}
    assert repair(host, Silent(), found).left == ()
    assert host.proxies.default() == WINHTTP
    assert host.environment.get("HTTPS_PROXY") == URL
    reset(host, Silent())
    assert host.proxies.default() == before


@pytest.mark.parametrize("changes", range(0, 24, 2))
def test_no_file_of_ours_tells_the_password_whenever_it_is_killed(
    host: Host, tmp_path: Path, changes: int
) -> None:
    theirs = "http://their@domain:own-secret@before:1"
    host.environment.set("HTTP_PROXY", theirs)
    try:
        run(powered(host, Power(changes)), specified())
    except Killed:
        assert (tmp_path / "ProgramData" / "wmcb").is_dir() or changes < 4
    _assert_untold(tmp_path)
    run(host, specified())
    _assert_untold(tmp_path)
    assert host.environment.get("HTTP_PROXY") == URL
    reset(host, Silent())
    assert host.environment.get("HTTP_PROXY") == theirs


def _assert_untold(place: Path) -> None:
    for path in (place / "ProgramData").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert SWORDFISH.encode() not in content, path
        assert b"own-secret" not in content, path


ONE_SCHEME = {
    "of http": ("{http: 'http://a:1/'}", {"HTTP_PROXY": "http://a:1/", "HTTPS_PROXY": "http://a:1/"}, "a:1"),
    "of https": ("{https: 'http://[fd00::1]:1'}", {"HTTPS_PROXY": "http://[fd00::1]:1"}, "https=[fd00::1]:1"),
    "of each": (
        "{http: 'http://a:1', https: 'http://u@b:2'}",
        {"HTTP_PROXY": "http://a:1", "HTTPS_PROXY": "http://u@b:2"},
        "http=a:1;https=b:2",
    ),
}


@pytest.mark.parametrize(("text", "variables", "server"), ONE_SCHEME.values(), ids=ONE_SCHEME)
def test_one_proxy_for_all_or_one_a_scheme(
    host: Host, text: str, variables: dict[str, str], server: str
) -> None:
    run(host, specified(f"proxy: {text}"))
    assert {name: host.environment.get(name) for name in ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")} == {
        "HTTP_PROXY": None, "HTTPS_PROXY": None, "NO_PROXY": None, **variables,
    }  # fmt: skip
    assert host.proxies.default() == DefaultProxy(server, "")
