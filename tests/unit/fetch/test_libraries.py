"""What sessions use of libraries beside their documented interface: an update may take any of it away.

Each is named here, so that it is this test that fails then, and says what is gone.
"""

from __future__ import annotations

import http.client
import inspect
import socket
import ssl
import subprocess
import sys
from typing import NamedTuple

import pytest
import requests
import truststore
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPSConnection
from urllib3.util.ssltransport import SSLTransport

from agent.fetch import trust
from agent.fetch.connection import Connection, StrictResponse


class Overridden(NamedTuple):
    owner: type
    name: str
    parameters: tuple[str, ...]
    caller: object
    """Calls it, or reads it."""


OVERRIDDEN = [
    Overridden(HTTPAdapter, "cert_verify", ("conn", "url", "verify", "cert"), HTTPAdapter.send),
    Overridden(
        HTTPAdapter,
        "get_connection_with_tls_context",
        ("request", "verify", "proxies", "cert"),
        HTTPAdapter.send,
    ),
    Overridden(HTTPAdapter, "proxy_headers", ("proxy",), HTTPAdapter.proxy_manager_for),
    Overridden(HTTPAdapter, "close", (), requests.Session.close),
    Overridden(requests.Session, "get_redirect_target", ("resp",), requests.Session.resolve_redirects),
    Overridden(HTTPSConnection, "connect", (), urllib3.HTTPSConnectionPool._validate_conn),
    Overridden(HTTPSConnection, "connect", (), urllib3.HTTPSConnectionPool._prepare_proxy),
    Overridden(HTTPSConnection, "getresponse", (), urllib3.HTTPConnectionPool._make_request),
    Overridden(http.client.HTTPResponse, "begin", (), http.client.HTTPConnection.getresponse),
]


@pytest.mark.parametrize("case", OVERRIDDEN, ids=lambda case: f"{case.owner.__name__}.{case.name}")
def test_what_is_overridden_is_called(case: Overridden) -> None:
    assert tuple(inspect.signature(getattr(case.owner, case.name)).parameters)[1:] == case.parameters
    assert f".{case.name}(" in inspect.getsource(case.caller)  # type: ignore[arg-type]


USED = [
    (requests.Session, "self.adapters"),
    (requests.Session, "self.trust_env"),
    (requests.Session.send, "self.proxies"),
    (urllib3.HTTPConnectionPool._new_conn, "self.ConnectionCls("),
    (urllib3.HTTPSConnectionPool._new_conn, "self.ConnectionCls("),
    (urllib3.HTTPConnectionPool._get_conn, "is_connection_dropped(conn)"),
    (urllib3.util.connection.is_connection_dropped, "conn.is_connected"),
    (urllib3.HTTPSConnectionPool._validate_conn, "conn.is_verified"),
    (urllib3.HTTPSConnectionPool._validate_conn, "conn.proxy_is_verified"),
    (urllib3.response.HTTPResponse._error_catcher, "from e"),
    (urllib3.response.HTTPResponse, "self.length_remaining"),
    (SSLTransport.__init__, "self.incoming = ssl.MemoryBIO()"),
    (SSLTransport.__init__, "self.outgoing = ssl.MemoryBIO()"),
    (SSLTransport.__init__, "self.sslobj = ssl_context.wrap_bio("),
    (SSLTransport.__init__, "self._ssl_io_loop(self.sslobj.do_handshake)"),
    (SSLTransport._ssl_io_loop, "self.socket.sendall("),
    (SSLTransport._ssl_io_loop, "self.socket.recv("),
    (SSLTransport.makefile, "self.socket._io_refs += 1"),
    (SSLTransport._decref_socketios, "self.socket._decref_socketios()"),
    (socket.SocketIO.close, "self._sock._decref_socketios()"),
    (socket.socket.makefile, "self._io_refs += 1"),
    (http.client.HTTPConnection.getresponse, "self.response_class("),
    (http.client.HTTPResponse.begin, "parse_headers(self.fp)"),
]


@pytest.mark.parametrize(("owner", "text"), USED, ids=[text for _, text in USED])
def test_what_is_used_is_there(owner: object, text: str) -> None:
    assert text in inspect.getsource(owner)  # type: ignore[arg-type]


def test_http_clients_limits_of_headers_are_ours() -> None:
    assert (http.client._MAXHEADERS, http.client._MAXLINE) == (100, 65536)  # type: ignore[attr-defined]
    assert Connection.response_class is StrictResponse


def test_truststore_has_no_authorities_of_its_own_to_show() -> None:
    with pytest.raises(NotImplementedError):
        trust.machine().get_ca_certs(binary_form=True)


def test_truststore_judges_in_the_handshake_of_tls_in_memory() -> None:
    source = inspect.getsource(truststore.SSLContext)
    assert "class TruststoreSSLObject(ssl.SSLObject)" in source
    assert "self._ctx.sslobject_class = TruststoreSSLObject" in source
    made = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(
        ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="node.example"
    )
    assert type(made).do_handshake is not ssl.SSLObject.do_handshake


def test_requests_loads_neither_authorities_nor_what_guesses_encodings() -> None:
    """It looks for both while it is imported. The exe carries neither."""
    source = """
import sys, agent.fetch.session, requests.utils
print(repr(requests.utils.DEFAULT_CA_BUNDLE_PATH))
print([name for name in sys.modules if name.startswith("charset_normalizer.")])
"""
    command = [sys.executable, "-W", "error", "-c", source]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert told.stdout.split("\n")[:2] == ["''", "[]"]
