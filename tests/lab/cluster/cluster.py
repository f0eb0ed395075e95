"""The cluster as one test has it."""

from __future__ import annotations

import base64
import secrets
import ssl
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

from lab.certificates import SERVER, Authority
from lab.cluster.api import Api, Refused
from lab.cluster.audit import Request
from lab.cluster.control_plane import DIRECT, HOST, KUBERNETES, PKI, PORT, ControlPlane
from lab.cluster.fleet import LEASES, NODES, Fleet
from lab.cluster.impostor import standing_between
from lab.cluster.proxy import Traffic
from lab.waiting import until
from lab.web import Web

SECRETS = "/api/v1/namespaces/kube-system/secrets"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
# What tokens made by kubeadm may do: ask for a node's certificate.
_MAY_JOIN = "system:bootstrappers:kubeadm:default-node-token"

_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: lab
clusters: [{{name: lab, cluster: {{server: "https://{address}", certificate-authority-data: {authority}}}}}]
users: [{{name: lab, user: {{client-certificate-data: {certificate}, client-key-data: {key}}}}}]
contexts: [{{name: lab, context: {{cluster: lab, user: lab}}}}]
"""


class Cluster:
    """What nodes see lies behind `proxy`; `api` and `kubectl` go past it, as the highest administrator."""

    # What a node is given, or an administrator has.
    address = f"{HOST}:{PORT}"
    admin = KUBERNETES / "admin.conf"
    super_admin = KUBERNETES / "super-admin.conf"

    def __init__(self, control_plane: ControlPlane, namespace: str) -> None:
        self._control_plane = control_plane
        self.api = control_plane.api
        self.kubectl = control_plane.kubectl
        self.proxy = control_plane.proxy
        self.authority = control_plane.authority
        self.ca_hash = control_plane.authority.public_key_hash()
        self.namespace = namespace

    @property
    def ca_certificate(self) -> str:
        return self.authority.certificate.read_text()

    # The API server's life

    @property
    def api_server(self) -> int:
        """Its process."""
        return self._control_plane.api_server

    def start_api_server(self) -> None:
        self._control_plane.start_api_server()

    def stop_api_server(self) -> None:
        self._control_plane.stop_api_server()

    def kill_api_server(self) -> None:
        self._control_plane.kill_api_server()

    def restart_api_server(self) -> None:
        self._control_plane.restart_api_server()

    @contextmanager
    def restarting_once(self, condition: Callable[[], bool]) -> Iterator[None]:
        """Restarts the API server as soon as the condition holds, which it has to do while this lasts."""
        over, restarted = threading.Event(), threading.Event()

        def watch() -> None:
            is_last = False
            while not is_last:
                # What came about just before the end is seen, too.
                is_last = over.wait(0.005)
                if condition():
                    self.restart_api_server()
                    restarted.set()
                    return

        watcher = threading.Thread(target=watch, name="restarting")
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()
        assert restarted.is_set(), (
            "the API server was to be restarted in the middle, and nothing came to that"
        )

    def impostor(self, *, lying: bool = False) -> AbstractContextManager[Web]:
        """Somebody with another authority at the API server's address (lab/cluster/impostor.py)."""
        return standing_between(self.proxy, self.api, self.authority, lying=lying)

    # What it was asked

    def requests(self, program: str | None = None, user: str | None = None) -> list[Request]:
        """What was asked since the test began, by a program (the first word of its user agent) or a user."""
        return [
            request
            for request in self._control_plane.audit.requests()
            if program in (None, request.program) and user in (None, request.user)
        ]

    def traffic(self) -> dict[str, Traffic]:
        """Bytes by the name of the program at the other end, since the test began."""
        return self.proxy.traffic()

    def forget_requests(self) -> None:
        """Sets both counts to nothing, as the beginning of a test does."""
        self._control_plane.audit.forget()
        self.proxy.forget()

    # Tokens and certificates

    def fresh_bootstrap_token(
        self, ttl: timedelta = timedelta(hours=1), *, expired: bool = False, groups: str = _MAY_JOIN
    ) -> str:
        """A token that a node can join with at once: cluster-info is signed with it already."""
        name, secret = secrets.token_hex(3), secrets.token_hex(8)
        self.api.create(
            SECRETS,
            {
                "metadata": {"name": f"bootstrap-token-{name}"},
                "type": "bootstrap.kubernetes.io/token",
                "stringData": {
                    "token-id": name,
                    "token-secret": secret,
                    "expiration": _timestamp(ttl),
                    "usage-bootstrap-authentication": "true",
                    "usage-bootstrap-signing": "true",
                    "auth-extra-groups": groups,
                },
            },
        )
        # Where the API server was restarted, its controllers have to come back first.
        until(lambda: self._signed_with(name), f"cluster-info is signed with the token {name}", 90)
        if expired:
            self.expire_token(f"{name}.{secret}")
        return f"{name}.{secret}"

    def expire_token(self, token: str) -> None:
        """Ends a token's time; the cluster then forgets it, as it does with every expired token."""
        name = token.partition(".")[0]
        self.api.patch(
            f"{SECRETS}/bootstrap-token-{name}",
            {"stringData": {"expiration": _timestamp(timedelta(hours=-1))}},
        )
        until(
            lambda: (
                not self._signed_with(name) and self.api.find(f"{SECRETS}/bootstrap-token-{name}") is None
            ),
            f"the expired token {name} is gone",
        )

    def _signed_with(self, token_id: str) -> bool:
        return f"jws-kubeconfig-{token_id}" in self.api.get(CLUSTER_INFO)["data"]

    def kubeconfig(
        self, place: Path, user: str, groups: list[str], valid_for: timedelta = timedelta(days=365)
    ) -> Path:
        """Writes a kubeconfig with a client certificate, whose time is over if `valid_for` is negative."""
        pair = self.authority.client(user, groups, valid_for)
        certificate, _, key = pair.partition("-----BEGIN PRIVATE KEY")
        place.write_text(
            _KUBECONFIG.format(
                address=self.address,
                authority=_base64(self.ca_certificate),
                certificate=_base64(certificate),
                key=_base64(f"-----BEGIN PRIVATE KEY{key}"),
            )
        )
        return place

    def knows(self, certificate_and_key: str) -> bool:
        """Whether the API server still takes somebody for whom a client certificate names."""
        with tempfile.NamedTemporaryFile("w") as pair:
            pair.write(certificate_and_key)
            pair.flush()
            asking = Api(DIRECT, PORT, HOST, self.authority.certificate, Path(pair.name))
            try:
                asking.get("/api/v1/nodes?limit=1")
            except Refused as refused:
                return refused.code != HTTPStatus.UNAUTHORIZED
            return True

    @contextmanager
    def expired_serving_certificate(self) -> Iterator[None]:
        """The API server shows whoever connects a certificate whose time is over, the lab's tools too."""
        with self._other_serving_certificate():
            pair = (PKI / "apiserver.crt").read_text() + (PKI / "apiserver.key").read_text()
            self._serve_with(self.authority.expired(pair, SERVER))
            yield

    @contextmanager
    def another_authority(self) -> Iterator[str]:
        """The API server shows a certificate of another authority, whose own is given. Of the lab's tools
        `api` trusts both.
        """
        with tempfile.TemporaryDirectory() as folder, self._other_serving_certificate():
            other = Authority.make(Path(folder), "kubernetes")
            self.api.trust(other.certificate)
            pair = (PKI / "apiserver.crt").read_text() + (PKI / "apiserver.key").read_text()
            self._serve_with(other.anew(pair, SERVER))
            yield other.certificate.read_text()

    @contextmanager
    def _other_serving_certificate(self) -> Iterator[None]:
        kept = (PKI / "apiserver.crt").read_text()
        try:
            yield
        finally:
            self._serve_with(kept)

    def _serve_with(self, certificate: str) -> None:
        # By a rename: the API server must not read half a certificate.
        unfinished = PKI / "apiserver.crt.new"
        unfinished.write_text(certificate)
        unfinished.rename(PKI / "apiserver.crt")
        wanted = ssl.PEM_cert_to_DER_cert(certificate)
        until(
            lambda: ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((DIRECT, PORT))) == wanted,
            "the API server shows its other certificate",
            90,  # it looks once a minute where it is not told by the kernel
        )

    # Nodes

    def make_nodes(self, count: int, name: str = "fleet") -> Fleet:
        """Node objects with their leases, made as kubelets make them; no machines are behind them."""
        fleet = Fleet(self.api, count, name)
        fleet.register()
        return fleet

    def node(self, name: str) -> dict[str, Any] | None:
        found: dict[str, Any] | None = self.api.find(f"{NODES}/{name}")
        return found

    def forget_node(self, name: str) -> None:
        """As if it had never joined. The lease of a Node that is gone goes by itself, sooner or later."""
        for collection in (NODES, LEASES):
            try:
                self.api.delete(f"{collection}/{name}")
            except Refused as refused:
                if refused.code != HTTPStatus.NOT_FOUND:
                    raise
        self.api.delete(REQUESTS)

    def is_ready(self, name: str) -> bool:
        node = self.node(name)
        conditions = node["status"].get("conditions", []) if node else []
        return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

    # The next test

    def begin(self) -> None:
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        self.forget_requests()

    def tidy(self) -> None:
        """Leaves what the next test may rely on: a network without faults, no Node, no request, no token."""
        self.proxy.delay(0)
        self._control_plane.start_api_server()
        tokens = f"{SECRETS}?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken"
        for collection in (NODES, LEASES, REQUESTS, tokens):
            self.api.delete(collection)
        # Its content goes in the background; the next test has another namespace.
        self.api.delete(f"/api/v1/namespaces/{self.namespace}")


def _timestamp(from_now: timedelta) -> str:
    return (datetime.now(UTC) + from_now).strftime("%Y-%m-%dT%H:%M:%SZ")


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
