"""Whether our reading and kubeadm's own agree, and where they are meant not to."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

from agent.sources.durations import seconds
from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.kubelet_arguments import kubelet_arguments
from agent.sources.kubeadm.kubelet_configuration import given_by_cluster, on_windows_paths, with_defaults
from agent.sources.kubeadm.model import JoinConfiguration, Taint, node_name
from agent.sources.kubeadm.patches import patched, read_patches
from agent.sources.kubeadm.reading import read
from agent.sources.kubelet.documents import NotReadable
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.report import Outcome
from differential.kubeadm.documents import Documents
from differential.kubeadm.oracle import Answer, KubeadmOracle
from differential.tally import Tally

STRICTER: Mapping[str, str] = {
    "longer than 63 characters": "no node of that name could be made: the kubelet's label for it is too long",
    "is no named pipe": "a socket where no runtime of Windows listens",
    "cannot be part of the control plane": "there is no control plane on Windows",
    "it is no hash of a public key": "a hash that no CA has; kubeadm finds out when it has found the cluster",
    "names a host that none can be called": "an address that nobody could ask; kubeadm finds out when "
    "it does",
    "has no port between 1 and 65535": "a port that there is not; kubeadm finds out when it asks there",
    "has to say its apiVersion": "apiVersion and kind in other letters, which only a part of kubeadm takes",
}
"""What we refuse and kubeadm takes, by words of our message, and why."""

STRICTER_OF_VALIDATION: Mapping[str, str] = {
    "there is no such phase": "a phase to skip that there is none of; kubeadm join finds out when it runs",
    "all ignores every check": "all beside other checks; kubeadm join finds out when it runs",
}

LENIENT: Mapping[str, str] = {
    "Go struct field TypeMeta.": "a neighbour of kind or apiVersion with their name in other letters",
    "couldn't get version/kind": "the same, with a value that is no text",
    'no kind "': "the same, with another text",
    "not a valid HTTPS URL or a file on disk": "whether a file is there is seen when it is read",
    "if a URL is used, the scheme must be https": "a path on a drive, which kubeadm takes for a URL",
}
"""What we take and kubeadm refuses, by words of its message, and why."""

LENIENT_OF_VALIDATION: Mapping[str, str] = {
    "unknown configuration APIs": "documents of other kinds have no part in a join, and are not judged",
}

STRICTER_PATCHES: Mapping[str, str] = {
    "a merge patch is a mapping": "kubeadm would write a list, of which no kubelet makes a configuration",
    "it leaves no mapping of settings": "the same, by a JSON patch",
    "has an order to set": "a directive for lists that are merged, of which there are none",
}
LENIENT_PATCHES: Mapping[str, str] = {
    "Invalid JSON Patch": "a merge patch that consists of comments, beside others in its file",
}


def compare(oracle: KubeadmOracle, seed: int, documents: int) -> Tally:
    """So many joins, and as many kubelets with patches."""
    tally = Tally()
    make = Documents(Random(f"joins {seed}"))  # noqa: S311 - to be repeated, not to be secret
    for _ in range(documents):
        _Joining(oracle, tally, make.join()).compare()
    make = Documents(Random(f"kubelets {seed}"))  # noqa: S311
    for _ in range(documents):
        _Patching(oracle, tally, *make.kubelet()).compare()
    return tally


@dataclass
class _Joining:
    oracle: KubeadmOracle
    tally: Tally
    raw: bytes

    def compare(self) -> None:
        # A pipe of Windows is a socket of Linux to a kubeadm that is built for it.
        answer = self.oracle.join(self.raw.replace(b"npipe", b"unix"))
        strict = read("document", self.raw, strictly=True)
        self._verdict("validation", strict, answer.invalid, answer)
        ours = read("document", self.raw)
        self._verdict("join", ours, answer.refused, answer)
        if ours.configuration is not None and not answer.refused:
            self._same(ours.configuration, answer)

    def _verdict(self, what: str, ours: Outcome[JoinConfiguration], refused: str, answer: Answer) -> None:
        accepted = ours.configuration is not None
        self.tally.compared[what] += 1
        self.tally.compared[f"{what} taken"] += accepted
        if accepted == (not refused):
            return
        messages = [str(entry) for entry in ours.report.errors]
        table = dict(LENIENT if accepted else STRICTER)
        if what == "validation":
            table |= LENIENT_OF_VALIDATION if accepted else STRICTER_OF_VALIDATION
        said = [refused] if accepted else messages
        for words, why in table.items():
            if any(words in text for text in said):
                self.tally.on_purpose[why] += 1
                return
        self._tell(f"{what}: we {'take' if accepted else f'refuse: {messages}'}", answer)

    def _same(self, ours: JoinConfiguration, answer: Answer) -> None:
        mine, theirs = _of_ours(ours), _of_theirs(answer.config)
        if not ours.node_registration.name:
            mine["name"] = theirs["name"]
        if mine != theirs:
            differing = {key: (mine[key], theirs[key]) for key in mine if mine[key] != theirs[key]}
            self._tell(f"configuration: ours and theirs {differing}", answer)
        self._same_flags(ours, answer)

    def _same_flags(self, ours: JoinConfiguration, answer: Answer) -> None:
        node = Node(host_name=socket.gethostname())
        registration = ours.node_registration
        name = node_name(registration, node.host_name)
        made = kubelet_arguments(registration, name, node, Kubelet(), {})
        words = [
            word for argument in registration.kubelet_extra_args for word in (argument.name, argument.value)
        ]
        words += map(str, registration.taints or ())
        if made.report.fatal or made.decisions or any(set(word) & set(" '\"_") for word in words):
            return
        if registration.extra_argument("hostname-override") not in (None, name):
            return
        self.tally.compared["kubeadm-flags.env"] += 1
        if made.contents.decode() != answer.flags:
            self._tell(f"kubeadm-flags.env: ours {made.contents!r}, theirs {answer.flags!r}", answer)

    def _tell(self, what: str, answer: Answer) -> None:
        theirs = f"refused {answer.refused!r}, invalid {answer.invalid!r}"
        self.tally.disagreements.append(f"{what}\n  kubeadm: {theirs}\n  {self.raw!r:.3000}")


def _of_ours(ours: JoinConfiguration) -> dict[str, Any]:
    registration, discovery, timeouts = ours.node_registration, ours.discovery, ours.timeouts
    token = discovery.bootstrap_token
    return {
        "name": registration.name,
        "criSocket": runtime_endpoint.endpoint(registration.cri_socket or runtime_endpoint.CONTAINERD),
        "taints": None if registration.taints is None else [str(taint) for taint in registration.taints],
        "extra": [(argument.name, argument.value) for argument in registration.kubelet_extra_args],
        "ignore": list(registration.ignore_preflight_errors),
        "policy": registration.image_pull_policy,
        "ca": ours.ca_cert_path.removeprefix("C:"),
        "token": token and (token.token, token.api_server_endpoint, list(token.ca_cert_hashes)),
        "unsafe": token is not None and token.unsafe_skip_ca_verification,
        "file": discovery.file,
        "tls": discovery.tls_bootstrap_token,
        "timeouts": [
            timeouts.kubelet_health_check,
            timeouts.kubernetes_api_call,
            timeouts.tls_bootstrap,
            timeouts.discovery,
        ],
        "patches": ours.patches_directory,
        "skip": list(ours.skip_phases),
        "dry": ours.dry_run,
    }


def _of_theirs(config: Any) -> dict[str, Any]:
    registration, discovery, timeouts = config["nodeRegistration"], config["discovery"], config["timeouts"]
    token, taints = discovery.get("bootstrapToken"), registration["taints"]
    names = ("kubeletHealthCheck", "kubernetesAPICall", "tlsBootstrap", "discovery")
    return {
        "name": registration["name"],
        "criSocket": registration["criSocket"].replace("unix", "npipe").replace(*_DEFAULT_SOCKETS),
        "taints": None if taints is None else [_taint(taint) for taint in taints],
        "extra": [(item["name"], item["value"]) for item in registration.get("kubeletExtraArgs", ())],
        "ignore": registration.get("ignorePreflightErrors", []),
        "policy": registration["imagePullPolicy"],
        "ca": config["caCertPath"],
        "token": token and (token["token"], token["apiServerEndpoint"], token.get("caCertHashes", [])),
        "unsafe": bool(token and token.get("unsafeSkipCAVerification")),
        "file": (discovery.get("file") or {}).get("kubeConfigPath"),
        "tls": discovery.get("tlsBootstrapToken", ""),
        "timeouts": [seconds(timeouts[name]) for name in names],
        "patches": (config.get("patches") or {}).get("directory", ""),
        "skip": config.get("skipPhases", []),
        "dry": config.get("dryRun", False),
    }


_DEFAULT_SOCKETS = ("npipe:///var/run/containerd/containerd.sock", runtime_endpoint.CONTAINERD)


def _taint(taint: Any) -> str:
    return str(Taint(taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")))


@dataclass
class _Patching:
    oracle: KubeadmOracle
    tally: Tally
    config: bytes
    networks: Mapping[str, str]
    patches: Mapping[str, bytes]

    def compare(self) -> None:
        answer = self.oracle.kubelet(self.config, self.networks, self.patches)
        made, messages = self._ours()
        self.tally.compared["kubelets"] += 1
        self.tally.compared["kubelets taken"] += made is not None and not answer.refused
        if (made is None) != bool(answer.refused):
            self._judge(made is not None, messages, answer)
        elif made is not None:
            self._same(made, answer)

    def _ours(self) -> tuple[Any, list[str]]:
        cluster = Cluster(
            service_subnet=self.networks["serviceSubnet"],
            dns_domain=self.networks["dnsDomain"],
            certificates_dir=self.networks["certificatesDir"],
        )
        try:
            given = given_by_cluster(self.config)
        except NotReadable as fault:
            return None, [str(fault)]
        patches = read_patches(self.patches)
        value, report = patched(on_windows_paths(with_defaults(given, cluster)), patches)
        report = patches.report + report
        return (None if report.fatal else value), [str(entry) for entry in report.errors]

    def _same(self, made: Any, answer: Answer) -> None:
        mine = self.oracle.normal(made)
        if (mine.config, bool(mine.invalid)) != (answer.config, bool(answer.invalid)):
            self._tell(
                f"ours {_differing(mine.config, answer.config)} {mine.invalid} {answer.invalid}", answer
            )

    def _judge(self, taken: bool, messages: list[str], answer: Answer) -> None:
        table = LENIENT_PATCHES if taken else STRICTER_PATCHES
        for words, why in table.items():
            if any(words in text for text in ([answer.refused] if taken else messages)):
                self.tally.on_purpose[why] += 1
                return
        self._tell(f"we {'take' if taken else f'refuse: {messages}'}", answer)

    def _tell(self, what: str, answer: Answer) -> None:
        self.tally.disagreements.append(
            f"{what}\n  kubeadm refused {answer.refused!r}\n  {self.config!r:.2000}\n  "
            f"{self.networks}\n  {self.patches}"
        )


def _differing(mine: Any, theirs: Any) -> str:
    mine, theirs = mine or {}, theirs or {}
    keys = [key for key in {*mine, *theirs} if mine.get(key) != theirs.get(key)]
    return json.dumps({key: [mine.get(key), theirs.get(key)] for key in keys})
