"""Any document ends in a specification or a report, never in a traceback, and in little time and memory."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from agent.sources import ignition, worker
from agent.sources.ignition import FetchFailed
from agent.sources.kubelet.node import NEWEST, OLDEST, Kubelet, Node
from agent.spec import Directory, File, Inline, Key, Protection, Service, Want

_DATA = Path(__file__).parents[3] / "data" / "ignition"
_WORKERS = [json.loads(path.read_bytes()) for path in sorted(_DATA.glob("worker-*.ign"))]
_OWN = (r"C:\etc\kubernetes", r"C:\var\lib\kubelet", r"C:\var\log\kubelet")
_ELEMENTS = [
    "etc", "kubernetes", "var", "lib", "kubelet", "manifests", "Kubernetes", "kubelet.conf", "KUBELET.CONF",
    "kubeconfig", "pki", "k", "kubelet.exe", "Windows", "..", ".", "a", "A", "nul", "x:y", "b ", "c.", "d~1",
    "\u00df", "ss", "\u017f", "s", "\u212a", "\u0130", "\U0001f600", "e" * 250,
]  # fmt: skip
_PATHS = st.lists(st.sampled_from(_ELEMENTS), min_size=1, max_size=5).map(lambda names: "/" + "/".join(names))
_OWN_PATHS = st.tuples(
    st.sampled_from(["/etc/kubernetes", "/var/lib/kubelet", ""]),
    st.lists(st.sampled_from(_ELEMENTS), min_size=1, max_size=3),
).map(lambda pair: "/".join([pair[0], *pair[1]]))
_FLAGS = [
    "--config", "--kubeconfig", "--bootstrap-kubeconfig", "--cert-dir", "--root-dir", "--client-ca-file",
    "--volume-plugin-dir", "--pod-manifest-path", "--tls-cert-file", "--node-ip", "--healthz-port", "--v",
    "--node-labels", "--cloud-config", "--no-such-flag", "--config-dir",
]  # fmt: skip
_VALUES = st.one_of(_PATHS, _OWN_PATHS, st.sampled_from(["", "1", "a=b", "${X}", "%H", "0", "C:\\x", "\\"]))


def _fetch(request: ignition.Request) -> Iterator[bytes]:
    if "fails" in request.url:
        raise FetchFailed("nobody answers")
    yield request.url.encode()


def _check(raw: bytes, kubelet: Kubelet | None = None) -> None:
    made = worker.compiled(
        ignition.load("any", raw, _fetch),
        Node(found_addresses=("192.0.2.7",)),
        kubelet or Kubelet(),
        worker.Placement(Inline(b"MZ"), worker.LogRunner("runner.exe", None)),
        _fetch,
    )
    assert made.report.fatal == (made.specification is None)
    for entry in made.report.entries:
        assert str(entry).isprintable()
        assert len(str(entry)) < 1000
    if made.specification is None:
        return
    wants = made.specification.by_key()
    assert [want for want in wants.values() if isinstance(want, Service)]
    for want in wants.values():
        if isinstance(want, File | Directory):
            _check_place(want, wants)
        if isinstance(want, File) and want.content:
            assert len(b"".join(want.content.blocks())) == want.content.size
            assert len(want.content.sha256) == 64
    for note in made.specification.notes:
        assert note.reason


def _check_place(want: File | Directory, wants: Mapping[Key, Want]) -> None:
    """It lies on C:, has its folder, and nothing of the node's own is for others to read."""
    path = want.path
    assert path.is_absolute()
    assert ".." not in path.parts
    assert len(path.parts) > 1
    assert path.parts[1].lower() != "windows"
    if len(path.parts) > 2:
        assert Key("directory", str(path.parent)) in wants
    if path.name != "pods" and any(PureWindowsPath(own) in (path, *path.parents) for own in _OWN):
        assert want.protection is Protection.PRIVATE


def _changed(document: dict[str, Any], chance: random.Random) -> None:
    """Takes away, repeats or swaps what is somewhere inside."""
    holder: Any = document
    while isinstance(holder, dict | list) and holder:
        keys: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        key = chance.choice(keys)
        inner = holder[key]
        if not isinstance(inner, dict | list) or not inner or chance.random() < 0.15:
            change = chance.choice(["drop", "repeat", "cut", "swap", "null"])
            if change == "drop":
                del holder[key]
            elif change == "repeat" and isinstance(holder, list):
                holder.append(inner)
            elif change == "cut" and isinstance(inner, str):
                at = chance.randrange(len(inner) + 1)
                holder[key] = inner[:at] + inner[at + chance.choice([0, 1, 20]) :]
            elif change == "swap":
                other = chance.choice(keys)
                holder[key], holder[other] = holder[other], inner
            else:
                holder[key] = None
            return
        holder = inner


@given(st.integers(min_value=0, max_value=2**64), st.integers(OLDEST, NEWEST))
def test_damaged_workers(seed: int, minor: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    document = json.loads(json.dumps(chance.choice(_WORKERS)))
    for _ in range(chance.choice([1, 1, 2, 5, 30])):
        _changed(document, chance)
    _check(json.dumps(document).encode(), Kubelet(minor))


@given(
    st.lists(st.tuples(st.one_of(_PATHS, _OWN_PATHS), st.sampled_from(["files", "directories", "links"]))),
    st.lists(st.tuples(st.sampled_from(_FLAGS), _VALUES), max_size=6),
    st.sampled_from(["data:,x", "data:,users:%20[]", "https://h/a", "https://fails/a", "data:;base64,"]),
    st.sampled_from(["2.2.0", "3.4.0"]),
)
def test_any_paths(
    nodes: list[tuple[str, str]], flags: list[tuple[str, str]], source: str, version: str
) -> None:
    command = " ".join(f"{name}={value}" for name, value in flags)
    storage: dict[str, list[dict[str, Any]]] = {"files": [], "directories": [], "links": []}
    taken = set()
    for path, kind in nodes:
        if path not in taken:
            taken.add(path)
            storage[kind].append(
                {"filesystem": "root", "path": path, "contents": {"source": source}, "target": "/a"}
            )
    unit = {"name": "kubelet.service", "contents": f"[Service]\nExecStart=/usr/bin/kubelet {command}\n"}
    document = {"ignition": {"version": version}, "storage": storage, "systemd": {"units": [unit]}}
    _check(json.dumps(document).encode())


_UNIT = [
    "Environment=A=b HTTP_PROXY=x@y", "EnvironmentFile=/etc/kubernetes/*", "UnsetEnvironment=A", "[Install]",
    "ExecStart=", "ExecStart=/bin/hyperkube kubelet $A ${B} %n", "# no\\", "A=b", "[X-Mine]",
    "ExecStop=/bin/a",
]  # fmt: skip
_CONFIGURATION = [
    "maxPods: 10", "staticPodPath: pods", "volumePluginDir: /var", "clusterDNS: [10.0.0.1]", "healthzPort: 0",
    "systemReserved: {memory: 1Gi}", "featureGates: {A: true}", "tlsCertFile: /a:b", "noSuchField: 1",
    "shutdownGracePeriod: 30s", "authentication: {x509: {clientCAFile: ca.crt}}", "tlsPrivateKeyFile: /a",
]  # fmt: skip
_KUBECONFIG = [
    "users: [{user: {client-key: key}}]", "clusters: [{cluster: {certificate-authority: /x/ca}}]",
    "contexts: []", "current-context: &a a", "preferences: *a", "x: {y: [1, {z: null}]}",
]  # fmt: skip


def _lines(known: list[str]) -> st.SearchStrategy[str]:
    """Mostly such as mean something; now and then anything."""
    known_ones = st.lists(st.sampled_from(known), max_size=4, unique=True)
    return st.tuples(known_ones, st.one_of(st.just(""), st.just(""), st.text(max_size=30))).map(
        lambda both: "\n".join([*both[0], both[1]])
    )


_KIND = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"


@given(_lines(_UNIT), _lines(_CONFIGURATION), _lines(_KUBECONFIG))
def test_any_text_in_what_the_kubelet_reads(unit: str, configuration: str, kubeconfig: str) -> None:
    files = {"/etc/kubernetes/kubelet.conf": _KIND + configuration, "/etc/kubernetes/kubeconfig": kubeconfig}
    contents = "[Service]\nExecStart=/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig\n"
    document = {
        "ignition": {"version": "3.4.0"},
        "storage": {
            "files": [
                {"path": path, "contents": {"source": f"data:,{quote(text, errors='replace')}"}}
                for path, text in files.items()
            ]
        },
        "systemd": {"units": [{"name": "kubelet.service", "contents": contents + unit}]},
    }
    _check(json.dumps(document).encode())
