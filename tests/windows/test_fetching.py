"""wmcb.exe fetches what a pointer Ignition names: its own TLS, Windows' authorities, proxies, failures."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from lab import repository, roots
from lab.certificates import Authority
from lab.node import Node
from lab.running import Result
from lab.standin_kubelet import StandinKubelet
from lab.web import Page, Proxy, Web
from windows.exe import DOWNLOADED, download

WORKER = (repository.ROOT / "tests" / "data" / "ignition" / "worker-3.4.ign").read_bytes()
KUBELET = r"C:\given\kubelet.exe"
POINTER = r"C:\given\pointer.ign"
PATH = "/config/worker"
WINDOWS_TRUST = """
import ctypes, ctypes.wintypes as w, ssl, sys
crypt32 = ctypes.WinDLL("crypt32", use_last_error=True)
crypt32.CertOpenStore.restype = w.HANDLE
crypt32.CertOpenStore.argtypes = w.LPVOID, w.DWORD, w.LPVOID, w.DWORD, w.LPCWSTR
crypt32.CertAddEncodedCertificateToStore.argtypes = w.HANDLE, w.DWORD, w.LPCSTR, w.DWORD, w.DWORD, w.LPVOID
crypt32.CertCloseStore.argtypes = w.HANDLE, w.DWORD
der = ssl.PEM_cert_to_DER_cert(open(sys.argv[1]).read())
LOCAL_MACHINE, SYSTEM_PROVIDER, REPLACE = 0x20000, 10, 3
store = crypt32.CertOpenStore(SYSTEM_PROVIDER, 0, None, LOCAL_MACHINE, "Root")
assert store, ctypes.get_last_error()
added = crypt32.CertAddEncodedCertificateToStore(store, 1, der, len(der), REPLACE, None)
assert added, ctypes.get_last_error()
crypt32.CertCloseStore(store, 0)
"""


@pytest.fixture
def machine(lasting: Node) -> Node:
    return prepared(lasting)


def prepared(node: Node) -> Node:
    download(node)
    StandinKubelet(node, KUBELET, version="1.31.0")
    return node


def pointer(url: str, authority: Authority | None = None, **more: Any) -> bytes:
    ignition: dict[str, Any] = {"version": "3.4.0", "config": {"merge": [{"source": url}]}, **more}
    if authority:
        pem = base64.b64encode(authority.certificate.read_bytes()).decode()
        trusted = [{"source": f"data:text/plain;charset=utf-8;base64,{pem}"}]
        ignition["security"] = {"tls": {"certificateAuthorities": trusted}}
    return json.dumps({"ignition": ignition}).encode()


def plan(machine: Node, document: bytes, *words: str, **environment: str) -> Result:
    place = machine.path(POINTER)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(document)
    given = ("--ignition", POINTER, "--kubelet", KUBELET, "--ignore-preflight-errors", "all")
    return machine.run(DOWNLOADED, "plan", *given, *words, environment=environment)


def trust(node: Node, authority: Authority) -> None:
    """What `certutil -addstore Root` does."""
    roots.remember(node)
    node.copy_in(authority.certificate, r"C:\authority.crt")
    done = node.python("-c", WINDOWS_TRUST, r"C:\authority.crt")
    assert done.code == 0, done.err


def succeeded(result: Result) -> bool:
    assert result.code == 0, result.err
    return "kubelet.conf" in result.out


def test_a_machine_config_server_with_its_own_authority(
    machine: Node, secure_web: Web, web_authority: Authority
) -> None:
    secure_web.pages[PATH] = Page(WORKER)
    assert succeeded(plan(machine, pointer(secure_web.url(PATH), web_authority)))
    (request,) = secure_web.requests
    assert request.headers["Accept"] == "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"
    assert request.headers["User-Agent"].startswith("Ignition/2.")


def test_who_is_not_trusted_is_named(machine: Node, secure_web: Web) -> None:
    result = plan(machine, pointer(secure_web.url(PATH)))
    assert result.code == 1
    line = result.err.splitlines()[-1]
    assert "certificate of web.test:" in line
    assert "the authority CN=A test's own authority, which is not trusted here" in line
    assert secure_web.requests == []


def test_what_windows_trusts_is_trusted(node: Node, secure_web: Web, web_authority: Authority) -> None:
    prepared(node)
    trust(node, web_authority)
    secure_web.pages[PATH] = Page(WORKER)
    assert succeeded(plan(node, pointer(secure_web.url(PATH))))


def test_through_the_proxy_of_the_machine(
    machine: Node, secure_web: Web, web_authority: Authority, proxy: Proxy
) -> None:
    secure_web.pages[PATH] = Page(WORKER)
    document = pointer(secure_web.url(PATH), web_authority)
    assert succeeded(plan(machine, document, HTTPS_PROXY=proxy.url))
    assert [(asked.method, asked.path) for asked in proxy.requests] == [
        ("CONNECT", f"web.test:{secure_web.port}")
    ]
    assert succeeded(plan(machine, document, HTTPS_PROXY=proxy.url, NO_PROXY=".test"))
    assert len(proxy.requests) == 1


def test_through_the_proxy_of_the_document(machine: Node, web: Web, proxy: Proxy) -> None:
    web.pages[PATH] = Page(WORKER)
    document = pointer(web.url(PATH, "nobody-knows.test"), proxy={"httpProxy": proxy.url})
    assert succeeded(plan(machine, document, "--allow-plain-http", HTTP_PROXY="http://127.0.0.1:1"))
    assert [asked.method for asked in proxy.requests] == ["GET"]


def test_a_server_that_is_gone_is_told_in_a_line(machine: Node, web: Web) -> None:
    result = plan(machine, pointer(f"{web.url(PATH)}?token=hidden"), "--allow-plain-http")
    assert result.code == 1
    assert f"web.test:{web.port} answers 404 Not Found" in result.err.splitlines()[-1]
    assert "hidden" not in result.err
