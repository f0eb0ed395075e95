"""Which wmcb.exe the cluster wants of a node, by what its ConfigMap says of that node, and only if it may."""

from __future__ import annotations

import base64
import time
from pathlib import Path
from typing import Any

import pytest

from agent.sources.node_configuration.schema import API, KIND
from ansible_collections.wmcb.windows.plugins.module_utils import minisign
from ansible_collections.wmcb.windows.plugins.module_utils.own_program import place_of
from ansible_collections.wmcb.windows.plugins.module_utils.sources import Unusable
from lab.minisign import Signer, trusted_comment, written
from unit.kube.api_server import ROOT
from unit.kube.test_token_discovery import pinned

DATA = Path(__file__).parents[2] / "data" / "signatures"
WHERE = {"namespace": "kube-system", "name": "windows-nodes"}
HEAD = f"apiVersion: {API}\nkind: {KIND}\n"
ONE, OTHER = "1a" * 32, "2b" * 32
URL = "https://files.example/wmcb.exe"
THIS, BLUE, RED = "nodes: {names: [win1]}", "nodes: {labels: {pool: blue}}", "nodes: {labels: {pool: red}}"
POOL = {"kubernetes.io/os": "windows", "pool": "blue"}


def program(sha256: str, head: str = "", source: str = URL) -> str:
    return f"{HEAD}{head}\nself: {{source: '{source}', sha256: {sha256}, withinSeconds: 60}}\n"


class Cluster:
    def __init__(self, data: dict[str, str] | None, labels: dict[str, str] | None = None) -> None:
        self._config_map = None if data is None else {"data": data}
        self._node = None if labels is None else {"metadata": {"labels": labels}}

    def authorities(self) -> str:
        return base64.b64encode(ROOT.pem).decode()

    def find(self, kind: str, name: str, namespace: str | None = None) -> Any:
        if kind == "node":
            return self._node if name == "win1" else None
        return self._config_map if (namespace, name) == ("kube-system", "windows-nodes") else None


FOUND: dict[str, tuple[str, dict[str, str] | None]] = {
    "for all": (program(ONE), None),
    "in capital letters": (program(ONE.upper()), None),
    "by name": (
        f"{program(ONE, THIS)}---\n{program(OTHER, 'nodes: {names: [win11]}')}",
        None,
    ),
    "by what every Windows node is": (program(ONE, "nodes: {labels: {kubernetes.io/os: windows}}"), None),
    "by a label that its Node has": (
        f"{program(ONE, BLUE)}---\n{program(OTHER, RED)}",
        POOL,
    ),
    "by a label that only its Node could have": (
        f"{program(OTHER, BLUE)}---\n{program(ONE, THIS)}",
        None,
    ),
    "twice the same": (f"{program(ONE)}---\n{program(ONE, THIS)}", None),
    "beside one without": (f"{HEAD}rollout: {{start: 2030-13-01T00:00:00Z}}\n---\n{program(ONE)}---\n", None),
}


@pytest.mark.parametrize(("text", "labels"), FOUND.values(), ids=FOUND)
def test_what_is_found(text: str, labels: dict[str, str] | None) -> None:
    cluster: Any = Cluster({"node.yaml": text}, labels)
    assert place_of(WHERE, "win1", cluster) == {"url": URL, "sha256": ONE}


UNUSABLE: dict[str, tuple[dict[str, str] | None, str]] = {
    "no ConfigMap": (None, "there is no ConfigMap kube-system/windows-nodes"),
    "another key": ({"nodes.yaml": ""}, "windows-nodes has no key node.yaml"),
    "none for this node": (
        {"node.yaml": program(ONE, "nodes: {names: [win2]}")},
        r"names no wmcb.exe \(self\) for the node win1",
    ),
    "several": (
        {"node.yaml": f"{program(ONE)}---\n{program(OTHER)}"},
        "names another wmcb.exe in each of several documents for the node win1",
    ),
    "no YAML": ({"node.yaml": "self: ["}, "is no NodeConfiguration"),
    "another document": ({"node.yaml": "kind: Pod\napiVersion: v1\n"}, "is no NodeConfiguration"),
    "of a later version": (
        {"node.yaml": program(ONE).replace("v1beta1", "v2")},
        "is no NodeConfiguration",
    ),
    "a list": ({"node.yaml": "- self\n"}, "is no NodeConfiguration"),
    "nodes as a list": ({"node.yaml": program(ONE, "nodes: [win1]")}, "is no NodeConfiguration"),
    "no checksum": ({"node.yaml": f"{HEAD}self: {{source: '{URL}'}}\n"}, "is no NodeConfiguration"),
    "a checksum that is a path": ({"node.yaml": program("../../.bashrc")}, "has no sha256 of its wmcb.exe"),
    "a share": ({"node.yaml": program(ONE, source=r"\\files\wmcb.exe")}, "on a share or a machine"),
}


@pytest.mark.parametrize(("data", "fault"), UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used(data: dict[str, str] | None, fault: str) -> None:
    cluster: Any = Cluster(data)
    with pytest.raises(Unusable, match=fault):
        place_of(WHERE, "win1", cluster)


def signed(name: str) -> str:
    return (DATA / name).read_text()


KEY, TEXT, SIGNATURE = signed("key.pub"), signed("node.yaml"), signed("node.yaml.minisig")
FITS = {"of the file": KEY, "of its last line": KEY.splitlines()[1]}
FAULTS: dict[str, tuple[str, str, str]] = {
    "another text": (TEXT + "\n", SIGNATURE, "what is signed was changed"),
    "another key's": (TEXT, signed("other.minisig"), "it is by another key"),
    "the old kind": (TEXT, signed("legacy.minisig"), "or one of the old kind"),
    "no signature": (TEXT, "it was me", "no signature of minisign's"),
    "nothing": (TEXT, "", "no signature of minisign's"),
    "cut off": (TEXT, "\n".join(SIGNATURE.splitlines()[:2]), "no signature of minisign's"),
    "another comment": (TEXT, SIGNATURE.replace("build 12", "build 13"), "its trusted comment was changed"),
}


@pytest.mark.parametrize("key", FITS.values(), ids=FITS)
def test_a_signature_of_minisigns_own(key: str) -> None:
    assert minisign.fault_of(TEXT, SIGNATURE, key) == ""


@pytest.mark.parametrize(("text", "signature", "fault"), FAULTS.values(), ids=FAULTS)
def test_what_is_not_signed_so(text: str, signature: str, fault: str) -> None:
    assert fault in minisign.fault_of(text, signature, KEY)


def test_no_key() -> None:
    assert minisign.fault_of(TEXT, SIGNATURE, SIGNATURE) == "this is no public key of minisign's"
    assert minisign.fault_of(TEXT, SIGNATURE, "") == "this is no public key of minisign's"


WITHOUT = {"node.yaml": program(ONE)}
WITH = {**WITHOUT, "node.yaml.minisig": SIGNATURE}
UNSIGNED: dict[str, tuple[dict[str, str], str, str]] = {
    "no signature": (WITHOUT, "minisign.pub", "is not signed: it has no key node.yaml.minisig"),
    "a signature of something else": (WITH, "minisign.pub", "what is signed was changed"),
    "no file with a key": (WITH, "other.pub", "other.pub cannot be read"),
}


@pytest.mark.parametrize(("data", "key", "fault"), UNSIGNED.values(), ids=UNSIGNED)
def test_where_it_has_to_be_signed(data: dict[str, str], key: str, fault: str, tmp_path: Path) -> None:
    cluster: Any = Cluster(data)
    (tmp_path / "minisign.pub").write_text(KEY)
    with pytest.raises(Unusable, match=fault):
        place_of({**WHERE, "public_key": str(tmp_path / key)}, "win1", cluster)


OWN, ANOTHER, NOW = pinned(ROOT), f"sha256:{'f' * 64}", time.time()
BOUND = trusted_comment("kube-system/windows-nodes", OWN, signed=NOW - 60, expires=NOW + 3600)
MISPLACED = {
    "for this place and time": (BOUND, ""),
    "for two clusters": (BOUND.replace("cluster=", f"cluster={ANOTHER} cluster="), ""),
    "what minisign writes itself": (
        "timestamp:1\tfile:node.yaml\thashed",
        "does not say for which ConfigMap",
    ),
    "a field of a later release": (f"{BOUND} nodes=win1", "does not say for which ConfigMap"),
    "two expiries": (f"{BOUND} expires=2099-01-01T00:00:00Z", "does not say for which ConfigMap"),
    "another ConfigMap": (BOUND.replace("kube-system", "test"), "it is for ConfigMap test/windows-nodes"),
    "another cluster": (BOUND.replace(OWN, ANOTHER), f"it is for another cluster, {ANOTHER}"),
    "expired": (BOUND.replace(written(NOW + 3600), written(NOW - 1)), "it has expired by the clock"),
    "signed later than now": (BOUND.replace(written(NOW - 60), written(NOW + 1000)), "is wrong"),
}


@pytest.mark.parametrize(("comment", "fault"), MISPLACED.values(), ids=MISPLACED)
def test_what_a_signature_is_for(comment: str, fault: str, tmp_path: Path) -> None:
    signer, text = Signer(), program(ONE)
    cluster: Any = Cluster({"node.yaml": text, "node.yaml.minisig": signer.signature(text, comment)})
    key = tmp_path / "minisign.pub"
    key.write_text(signer.public_key)
    where = {**WHERE, "public_key": str(key)}
    if not fault:
        assert place_of(where, "win1", cluster)["sha256"] == ONE
        return
    with pytest.raises(Unusable, match=fault):
        place_of(where, "win1", cluster)
