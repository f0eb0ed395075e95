"""JoinConfigurations, KubeletConfigurations and patches from a seed: most nearly right, some wrong.

The fields are written down here anew, so that a mistake in the product's own tables shows.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import yaml

_TOKENS = ["abcdef.0123456789abcdef", "zzzzzz.zzzzzzzzzzzzzzzz"]
_BAD_TOKENS = ["", "abcdef", "ABCDEF.0123456789abcdef", "abcdef.0123456789abcde", "abcdef.0123456789abcdef\n"]
_HASHES = ["sha256:" + "0123456789abcdef" * 4, "SHA256:" + "ABCDEF0123456789" * 4]
_ENDPOINTS = ["10.0.0.1:6443", "control.example:443", "[fd00::1]:6443", "a:1"]
_BAD_ENDPOINTS = ["", "10.0.0.1", "fd00::1:6443", "[fd00::1]", "[fd00::1", "a]:1", "a[b]:1", "[a]b:1"]
_NAMES = ["win1", "WIN1", " win1 ", "a.b-c.d", "1", "a" * 63]
_BAD_NAMES = ["a_b", "-a", "a.", "a..b", "ä", "a b", "a" * 254, "  "]
# Unix is npipe to the oracle, which is built for Linux.
_SOCKETS = ["npipe:////./pipe/containerd-containerd", "npipe:////./pipe/cri-dockerd", ""]
_BAD_SOCKETS = ["http://%zz", "npipe://a:b:c%", "npipefoo"]
_CA_PATHS = ["/etc/kubernetes/pki/ca.crt", "/a.crt", ""]
_BAD_CA_PATHS = ["a.crt", "/etc/kubernetes/pki/ca.pem", "./ca.crt"]
_FILES = [
    "https://config.example/a",
    "https://config.example:443/a?b#c",
    "/etc/hostname",
    "file:///etc/hostname",
]
_BAD_FILES = ["", "http://config.example/a", "ftp://a", "https://a:b", "https://%zz/", ":", "https://a b/"]
_POLICIES = ["Always", "IfNotPresent", "Never", ""]
_BAD_POLICIES = ["always", "Sometimes"]
_DURATIONS = ["0", "0s", "5m", "1h30m", "1.5s", "-1m", "+10ms", ".5h", "1us", "100h0m0.25s"]
_BAD_DURATIONS = ["", "5", "1d", "m", "1h 2m", "9999999h", "abc", 5, True, {}]
_TIMES = ["2032-02-29T3:04:05Z", "2030-01-02T03:04:05Z", "2030-01-02T03:04:05.5+01:00"]
_BAD_TIMES = ["2030-02-29T03:04:05Z", "2030-01-02", "2030-13-02T03:04:05Z", "now"]
_EFFECTS = ["NoSchedule", "NoExecute", "PreferNoSchedule", "", "Whatever"]
_TEXTS = [
    "",
    "a",
    "x y",
    "ä\u00df",
    "\U0001f600",
    "a/b",
    "null",
    "true",
    "1",
    "~",
    "1e3",
    "0x1",
    "yes",
    "<<",
    "=",
    "'\"",
]
_JUNK = [b"", b"\t", b":", b"'", b"-", b"\xff", b"{", b"\n", b"\r\n", b"&a ", b"*a", b"!!str "]
_OTHERS: list[Any] = [None, True, False, 0, 5, -1, 1.5, "a", "", [], {}, [1], ["a"], {"a": 1}, [None], [[]]]


class Documents:
    def __init__(self, random: Random) -> None:
        self.random = random

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def of(self, *choices: Sequence[Any]) -> Any:
        """One of the first in most cases."""
        return self.random.choice(choices[0] if len(choices) == 1 or self.chance(0.96) else choices[1])

    def some(self, make: Callable[[], Any], most: int = 3) -> list[Any]:
        return [make() for _ in range(self.random.randrange(most + 1))]

    # Joins

    def join(self) -> bytes:
        version = self.random.choice(["v1beta3", "v1beta4"])
        document: dict[str, Any] = {"apiVersion": f"kubeadm.k8s.io/{version}", "kind": "JoinConfiguration"}
        if self.chance(0.97):
            document["discovery"] = self._discovery(version)
        if self.chance(0.7):
            document["nodeRegistration"] = self._registration(version)
        if self.chance(0.2):
            document["caCertPath"] = self.of(_CA_PATHS, _BAD_CA_PATHS)
        if self.chance(0.2):
            document["skipPhases"] = self.some(lambda: self.of(_TEXTS))
        if self.chance(0.2):
            document["patches"] = {"directory": self.of(_TEXTS)}
        if self.chance(0.3) and version == "v1beta4":
            document["timeouts"] = self._timeouts()
        if self.chance(0.1) and version == "v1beta4":
            document["dryRun"] = self.chance(0.5)
        if self.chance(0.15):
            self._spoil(document)
        return self._damaged(self._written(document))

    def _discovery(self, version: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self.chance(0.85):
            made["bootstrapToken"] = self._bootstrap_token()
        if not made or self.chance(0.04):
            made["file"] = {"kubeConfigPath": self.of(_FILES, _BAD_FILES)}
        if self.chance(0.15):
            made["tlsBootstrapToken"] = self.of(_TOKENS, _BAD_TOKENS)
        if version == "v1beta3" and self.chance(0.2):
            made["timeout"] = self.of(_DURATIONS, _BAD_DURATIONS)
        return made

    def _bootstrap_token(self) -> dict[str, Any]:
        made: dict[str, Any] = {"token": self.of(_TOKENS, _BAD_TOKENS)}
        if self.chance(0.98):
            made["apiServerEndpoint"] = self.of(_ENDPOINTS, _BAD_ENDPOINTS)
        if self.chance(0.9):
            made["caCertHashes"] = [self.of(_HASHES) for _ in range(self.random.choice([1, 1, 1, 2, 0]))]
        if self.chance(0.15):
            made["unsafeSkipCAVerification"] = self.chance(0.8)
        return made

    def _registration(self, version: str) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self.chance(0.7):
            made["name"] = self.of(_NAMES, _BAD_NAMES)
        if self.chance(0.4):
            made["criSocket"] = self.of(_SOCKETS, _BAD_SOCKETS)
        if self.chance(0.3):
            made["taints"] = self.of([None, [], self.some(self._taint), self.some(self._taint)])
        if self.chance(0.5):
            names = [
                "v",
                "node-ip",
                "node-labels",
                "max-pods",
                "a b",
                "register-with-taints",
                "hostname-override",
            ]
            pairs = self.some(lambda: (self.of(names, [""]), self.of([*_TEXTS, "b", "1"])))
            extra: Any = [{"name": name, "value": value} for name, value in pairs]
            made["kubeletExtraArgs"] = dict(pairs) if version == "v1beta3" else extra
        if self.chance(0.2):
            made["ignorePreflightErrors"] = self.some(lambda: self.of(["all", "Swap", "ALL", ""]))
        if self.chance(0.2):
            made["imagePullPolicy"] = self.of(_POLICIES, _BAD_POLICIES)
        if self.chance(0.2) and version == "v1beta4":
            made["imagePullSerial"] = self.chance(0.5)
        return made

    def _taint(self) -> dict[str, Any]:
        made: dict[str, Any] = {"key": self.of(_TEXTS), "effect": self.of(_EFFECTS)}
        if self.chance(0.5):
            made["value"] = self.of(_TEXTS)
        if self.chance(0.1):
            made["timeAdded"] = self.of(_TIMES, _BAD_TIMES)
        return made

    def _timeouts(self) -> dict[str, Any]:
        names = ["controlPlaneComponentHealthCheck", "kubeletHealthCheck", "kubernetesAPICall", "etcdAPICall"]
        names += ["tlsBootstrap", "discovery", "upgradeManifests"]
        return {name: self.of(_DURATIONS, _BAD_DURATIONS) for name in names if self.chance(0.4)}

    # KubeletConfigurations and their patches

    def kubelet(self) -> tuple[bytes, dict[str, str], dict[str, bytes]]:
        """The configuration of a cluster, its networks, and patches."""
        config = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            **self._settings(0.2),
        }
        networks = {
            "serviceSubnet": self.of(["10.96.0.0/12", "fd00::/108", "10.0.0.0/24,fd00::/108", "10.0.0.0/29"]),
            "dnsDomain": self.of(["cluster.local", "example.org"]),
            "certificatesDir": self.of(["/etc/kubernetes/pki", "/srv/pki"]),
        }
        patches = dict(self._patch() for _ in range(self.random.randrange(4)))
        return self._written(config), networks, patches

    def _settings(self, probability: float) -> dict[str, Any]:
        return {name: make(self) for name, make in _SETTINGS.items() if self.chance(probability)}

    def _patch(self) -> tuple[str, bytes]:
        kind = self.random.choice(["json", "merge", "strategic", ""])
        name = f"kubeletconfiguration{self.of(['', '0', '1', '-a'])}{kind and '+'}{kind}"
        extension = self.of(["yaml", "json"], ["yml", "txt"])
        text = "\n---\n".join(
            self._written(
                self._operations() if kind == "json" else self._change(strategic=kind != "merge"), extension
            )
            .decode()
            .strip()
            for _ in range(self.of([1, 1, 1, 2]))
        )
        folder = self.of(["", "", "a/"])
        return (
            f"{folder}{self.of([name], ['etcd', 'kubelet', f'{name}+', f'{name}+x'])}.{extension}",
            text.encode(),
        )

    def _operations(self) -> Any:
        if self.chance(0.02):
            return self.of(_OTHERS)
        return [self._operation() for _ in range(1 + self.random.randrange(3))]

    def _operation(self) -> Any:
        paths = [f"/{name}" for name in _SETTINGS] + _PATHS
        made: dict[str, Any] = {
            "op": self.of(
                ["add", "replace", "add", "replace", "remove", "test", "move", "copy"], ["insert", 1, None]
            ),
            "path": self.of(paths, ["", "a", "/", "//", 5, None, "/maxPods/a", "/clusterDNS/7"]),
        }
        if self.chance(0.9):
            name = made["path"][1:] if isinstance(made["path"], str) else ""
            made["value"] = _SETTINGS[name](self) if name in _SETTINGS else self.of(_OTHERS)
        if made["op"] in ("move", "copy"):
            made["from"] = self.of(paths, ["", None])
        return made

    def _change(self, *, strategic: bool) -> Any:
        if self.chance(0.02):
            return self.of(_OTHERS)
        made = self._settings(0.06)
        for name in list(made):
            if self.chance(0.15):
                made[name] = None
            elif isinstance(made[name], dict) and strategic and self.chance(0.2):
                made[name]["$patch"] = self.of(["replace", "delete"], ["merge", None])
            elif isinstance(made[name], dict) and strategic and self.chance(0.1):
                made[name]["$retainKeys"] = self.of([[*made[name]], [*made[name], "a"]], [["a"], "a"])
            elif isinstance(made[name], list) and strategic and self.chance(0.2):
                made[f"$deleteFromPrimitiveList/{name}"] = made.pop(name)
        return made

    # Wrong ones

    def _spoil(self, document: dict[str, Any]) -> None:
        """One place of it gets another value, another name, or a neighbour."""
        places = list(_places(document))
        holder, key = self.random.choice(places)
        kind = self.random.randrange(4)
        if kind == 0 or isinstance(holder, list):
            holder[key] = self.of(_OTHERS)
        elif kind == 1:
            holder[self.of(["unknown", key.capitalize(), key.upper(), f"{key} "])] = holder.pop(key)
        elif kind == 2:
            holder[self.of(["unknown", "Kind", "timeout", "name", "controlplane"])] = self.of(_OTHERS)
        else:
            del holder[key]

    def _written(self, value: Any, extension: str = "") -> bytes:
        if extension == "json" or (not extension and self.chance(0.2)):
            return json.dumps(value, indent=self.of([None, 2, "\t"]), ensure_ascii=self.chance(0.5)).encode()
        style = self.of([False, False, None], [True])
        text: str = yaml.safe_dump(
            value, default_flow_style=style, allow_unicode=True, sort_keys=self.chance(0.5)
        )
        return text.encode()

    def _damaged(self, text: bytes) -> bytes:
        if self.chance(0.1):
            return self._with_others(text)
        if self.chance(0.05):
            lines = text.split(b"\n")
            place = self.random.randrange(len(lines))
            line = self.of(
                [lines[self.random.randrange(len(lines))], b"# comment", b"", b"---", b"  ", b"--- # a"]
            )
            lines.insert(place, line)
            return b"\n".join(lines)
        if self.chance(0.05):
            place = self.random.randrange(len(text))
            junk: bytes = self.of(_JUNK)
            damaged: bytes = text[:place] + junk + text[place + self.random.randrange(3) :]
            return damaged
        return text

    def _with_others(self, text: bytes) -> bytes:
        cluster = (
            b"apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.36.0\n"
        )
        others = [
            cluster,
            b"apiVersion: a/b\nkind: C\n",
            b"apiVersion: v1\nkind: ConfigMap\n",
            b"",
            b"\n",
            b"# a\n",
            text,
        ]
        parts = [text, self.of(others)]
        self.random.shuffle(parts)
        separator: bytes = self.of([b"---\n", b"--- # next\n", b"---\r\n"], [b"--- a\n", b"----\n"])
        return separator.join(part if part.endswith(b"\n") or not part else part + b"\n" for part in parts)


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        found += [(value, key), *_places(inner)]
    return found


_AMOUNTS = ["100Mi", "10%", "1Gi", "500m", "2"]


def _map(*names: str) -> Callable[[Documents], Any]:
    return lambda documents: {name: documents.of(_AMOUNTS) for name in names if documents.chance(0.6)}


def _one(*choices: Any) -> Callable[[Documents], Any]:
    return lambda documents: copy.deepcopy(documents.of(choices))


_ADDRESSES = ["10.96.0.10", "10.0.0.9", "fd00::a"]
_SPANS = ("0s", "10s", "1m30s", "2h")
_SETTINGS: dict[str, Callable[[Documents], Any]] = {
    "maxPods": _one(10, 110, 250),
    "staticPodPath": _one("/etc/kubernetes/manifests", "/srv/pods", "C:\\pods", ""),
    "clusterDNS": lambda documents: documents.some(lambda: documents.of(_ADDRESSES)),
    "clusterDomain": _one("cluster.local", "other.example", ""),
    "cgroupDriver": _one("systemd", "cgroupfs", ""),
    "rotateCertificates": _one(True, False),
    "serverTLSBootstrap": _one(True, False),
    "healthzPort": _one(10248, 10249, 0),
    "healthzBindAddress": _one("127.0.0.1", "0.0.0.0", ""),  # noqa: S104 (compared with)
    "readOnlyPort": _one(0, 10255),
    "resolvConf": _one("/run/systemd/resolve/resolv.conf", ""),
    "syncFrequency": _one(*_SPANS),
    "imageMinimumGCAge": _one(*_SPANS),
    "shutdownGracePeriod": _one(*_SPANS),
    "evictionHard": _map("memory.available", "nodefs.available", "nodefs.inodesFree"),
    "evictionSoft": _map("memory.available", "nodefs.available"),
    "systemReserved": _map("cpu", "memory"),
    "kubeReserved": _map("cpu", "memory", "ephemeral-storage"),
    "featureGates": lambda documents: {
        name: documents.chance(0.5) for name in ("NodeLogQuery", "AllAlpha", "A") if documents.chance(0.4)
    },
    "enforceNodeAllocatable": _one(["pods"], [], ["pods", "system-reserved"]),
    "registerWithTaints": _one(
        [], [{"key": "a", "effect": "NoSchedule"}], [{"key": "b", "value": "c", "effect": "NoExecute"}]
    ),
    "authentication": lambda documents: {
        name: value
        for name, value in {
            "anonymous": {"enabled": documents.chance(0.5)},
            "webhook": {"enabled": documents.chance(0.5), "cacheTTL": documents.of(_SPANS)},
            "x509": {"clientCAFile": documents.of(["/etc/kubernetes/pki/ca.crt", "/srv/ca.crt", ""])},
        }.items()
        if documents.chance(0.6)
    },
    "authorization": _one(
        {"mode": "Webhook"}, {"mode": "AlwaysAllow"}, {"webhook": {"cacheAuthorizedTTL": "1m"}}, {}
    ),
    "logging": _one(
        {"format": "json"},
        {"verbosity": 3, "flushFrequency": "5s"},
        {"options": {"json": {"splitStream": True}}},
    ),
    "tlsCipherSuites": _one([], ["TLS_AES_128_GCM_SHA256"]),
    "memorySwap": _one({}, {"swapBehavior": "NoSwap"}),
    "crashLoopBackOff": _one({}, {"maxContainerRestartPeriod": "100s"}),
    "shutdownGracePeriodByPodPriority": _one([], [{"priority": 1, "shutdownGracePeriodSeconds": 2}]),
    "staticPodURLHeader": _one({}, {"a": ["b"]}, {"a": ["c", "d"], "e": []}),
    "containerRuntimeEndpoint": _one("", "unix:///run/containerd/containerd.sock"),
}  # fmt: skip
_PATHS = [
    "/authentication/anonymous/enabled",
    "/authentication/webhook/cacheTTL",
    "/authentication/x509",
    "/clusterDNS/0",
    "/clusterDNS/-",
    "/clusterDNS/-1",
    "/evictionHard/memory.available",
    "/featureGates/A",
    "/logging/options/json/infoBufferSize",
    "/logging/verbosity",
    "/kubeReserved/a~1b",
    "/enforceNodeAllocatable/01",
]
