"""A token for one node: made as kubeadm makes one, and gone afterwards, whatever happens."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.wmcb.windows.plugins.module_utils import joining, sources
from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Unanswered


def authority() -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kubernetes")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now).not_valid_after(now + timedelta(days=1))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return base64.b64encode(pem).decode()


class Cluster:
    """A kubeadm cluster that signs its cluster-info at once; without one it is somebody else's."""

    def __init__(self, *, is_kubeadms: bool = True, secrets: dict[str, Any] | None = None) -> None:
        self.made: dict[str, Any] = {}
        self.secrets = secrets or {}
        self._kubeconfig = json.dumps({"clusters": [{"cluster": self._cluster()}]}) if is_kubeadms else ""

    def _cluster(self) -> dict[str, str]:
        return {"server": "https://10.0.0.1:6443", "certificate-authority-data": authority()}

    def create(self, document: dict[str, Any]) -> None:
        self.made[document["metadata"]["name"]] = document

    def delete(self, _kind: str, name: str, _namespace: str) -> None:
        self.made.pop(name, None)

    def find(self, kind: str, name: str, _namespace: str) -> dict[str, Any] | None:
        if kind == "secret":
            return self.secrets.get(name)
        signatures = {f"jws-kubeconfig-{each['stringData']['token-id']}": "" for each in self.made.values()}
        return {"data": {"kubeconfig": self._kubeconfig, **signatures}} if self._kubeconfig else None


def test_one_node_one_token() -> None:
    cluster: Any = Cluster()
    with joining.invitation(cluster, "win1", {"taints": [], "name": "other"}) as invited:
        ((name, secret),) = cluster.made.items()
        document = json.loads(invited.configuration)
    assert cluster.made == {}
    given = secret["stringData"]
    assert name == f"bootstrap-token-{given['token-id']}"
    assert invited.requestor == f"system:bootstrap:{given['token-id']}"
    assert document["nodeRegistration"] == {"taints": [], "name": "win1"}
    discovery = document["discovery"]["bootstrapToken"]
    assert discovery["token"] == f"{given['token-id']}.{given['token-secret']}"
    assert discovery["apiServerEndpoint"] == "10.0.0.1:6443"
    assert discovery["caCertHashes"][0].startswith("sha256:")
    assert given["token-secret"] not in repr(invited.requestor)


def test_it_is_gone_after_a_failure() -> None:
    cluster: Any = Cluster()
    with pytest.raises(KeyError), joining.invitation(cluster, "win1", {}):
        raise KeyError
    assert cluster.made == {}


def test_a_cluster_that_kubeadm_did_not_make() -> None:
    cluster: Any = Cluster(is_kubeadms=False)
    with pytest.raises(Unanswered, match="kubeadm did not make"), joining.invitation(cluster, "win1", {}):
        pass
    assert cluster.made == {}


def test_where_an_ignition_comes_from(tmp_path: Path) -> None:
    secret = {"data": {"userData": base64.b64encode(b"{}").decode(), "broken": "?"}}
    cluster: Any = Cluster(secrets={"worker": secret})
    where = {"namespace": "machines", "name": "worker", "key": "userData"}
    made = sources.ignition({"secret": where}, cluster, tmp_path, tmp_path)
    assert made.read_bytes() == b"{}"
    assert made.stat().st_mode & 0o077 == 0

    pem = tmp_path / "root-ca.pem"
    pem.write_text("-----BEGIN")
    server = {"url": "https://api-int.example.com:22623/config/worker", "authority": str(pem)}
    pointer = sources.ignition({"machine_config_server": server}, cluster, tmp_path, tmp_path)
    ignition = json.loads(pointer.read_bytes())["ignition"]
    assert ignition["config"] == {"merge": [{"source": server["url"]}]}
    assert ignition["security"]["tls"]["certificateAuthorities"] == [{"source": "data:,-----BEGIN"}]


UNUSABLE: dict[str, tuple[dict[str, Any], str]] = {
    "another file than was meant": ({"file": "{}/it", "sha256": "00"}, "has the sha256"),
    "no such file": ({"file": "{}/none"}, "No such file"),
    "a URL that nobody can check": ({"url": "https://example.com/it"}, "a sha256 has to stand"),
    "nothing": ({}, "one of file and url"),
    "no such secret": ({"secret": {"namespace": "a", "name": "b", "key": "c"}}, "no secret a/b"),
    "no such key": ({"secret": {"namespace": "a", "name": "w", "key": "c"}}, "has no key c"),
    "what is not base64": ({"secret": {"namespace": "a", "name": "w", "key": "broken"}}, "not base64"),
}


@pytest.mark.parametrize(("source", "fault"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used(source: dict[str, Any], fault: str, tmp_path: Path) -> None:
    (tmp_path / "it").write_bytes(b"it")
    cluster: Any = Cluster(secrets={"w": {"data": {"broken": "?"}}})
    if "file" in source:
        source = {**source, "file": source["file"].format(tmp_path)}
    with pytest.raises(sources.Unusable, match=fault):
        sources.ignition(source, cluster, tmp_path, tmp_path)
