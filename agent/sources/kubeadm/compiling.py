"""From a JoinConfiguration, and what the cluster says, to the specification of a Windows node."""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent import spec
from agent.documents import Value, mapping
from agent.secret_fields import registers_secrets
from agent.sources import node_names
from agent.sources.kubeadm import model, runtime_endpoint
from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.kubelet_arguments import KubeletArguments, kubelet_arguments
from agent.sources.kubeadm.kubelet_configuration import NodesOwn, nodes_own
from agent.sources.kubeadm.model import JoinConfiguration, node_name
from agent.sources.kubeadm.patches import Patches
from agent.sources.kubeadm.yaml_text import dumped
from agent.sources.kubelet import folders, windows_service
from agent.sources.kubelet.decisions import notes_of
from agent.sources.kubelet.folders import ARGUMENTS_FILE, Placement, install_directory_fault
from agent.sources.kubelet.node import DOCKER_BY_DEFAULT_UNTIL, PRIORITY_CLASS, Kubelet, Node
from agent.sources.node_names import title_of_node
from agent.sources.report import Entry, Report, Severity, quoted
from agent.sources.windows_paths import Reference, UnusablePath, path_on_windows, windows_path_fault

_INSTANCE_GATE = "NodeLocalCRISocket"
_USER = "tls-bootstrap-token-user"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Found:
    """What discovery and the cluster's ConfigMaps say."""

    server: str
    """https://HOST:PORT"""
    ca_certificate: bytes
    """PEM, as the cluster gave it and the join verified it."""
    kubelet_configuration: bytes
    """The key kubelet of the ConfigMap kube-system/kubelet-config."""
    cluster: Cluster
    user: Mapping[str, Value] = field(repr=False)
    """For the TLS bootstrap, as a kubeconfig has it: {"token": ...}, mostly."""
    on_the_way: Mapping[str, Value] = field(default_factory=dict, repr=False)
    """What else a kubeconfig says of how the server is reached: tls-server-name, proxy-url."""


@dataclass(frozen=True, slots=True)
class Join:
    specification: spec.Specification | None
    """None where the report is fatal."""
    report: Report
    node_name: str
    runtime_endpoint: str
    """Of the node's annotation kubeadm.alpha.kubernetes.io/cri-socket."""


def compile_join(
    configuration: JoinConfiguration,
    found: Found,
    patches: Patches,
    node: Node,
    kubelet: Kubelet,
    placement: Placement,
) -> Join:
    """Of `node` the name counts where the configuration has none, and the runtime's endpoint where that says
    nothing that Windows can use. Nothing is raised for what cannot be done.
    """
    compilation = _Compilation(configuration, found, patches, node, kubelet, placement)
    specification = compilation.specification()
    report = compilation.report
    return Join(
        None if report.fatal else specification, report, compilation.name, compilation.node.runtime_endpoint
    )


@dataclass(slots=True)
class _Compilation:
    configuration: JoinConfiguration
    found: Found
    patches: Patches
    node: Node
    kubelet: Kubelet
    placement: Placement
    name: str = ""
    ca_certificate: PureWindowsPath = model.KUBERNETES / "pki" / "ca.crt"
    report: Report = field(default_factory=Report)
    notes: list[spec.Note] = field(default_factory=list)

    def specification(self) -> spec.Specification | None:
        self._settle_name()
        self._settle_endpoint()
        self._settle_ca_path()
        if fault := install_directory_fault(self.placement.install_directory):
            path = quoted(str(self.placement.install_directory))
            self._refuse("the install directory", f"{path} cannot be used: {fault}")
        own = nodes_own(
            self.found.kubelet_configuration,
            self.found.cluster,
            self.patches,
            self.node,
            self.kubelet,
            str(self.ca_certificate),
        )
        gates = {name: on is True for name, on in mapping(own.value.get("featureGates")).items()}
        registration = self.configuration.node_registration
        given = kubelet_arguments(registration, self.name, self.node, self.kubelet, gates)
        self.report += own.report + given.report
        if self.report.fatal:
            return None
        self.notes += notes_of((*own.decisions, *given.decisions))
        return self._of(own, given)

    def _settle_name(self) -> None:
        registration = self.configuration.node_registration
        if not registration.name and self.node.name:
            registration = replace(registration, name=self.node.name)
        self.name = node_name(registration, self.node.host_name)
        if fault := node_names.fault(self.name):
            self._refuse(
                "the node's name", f"{fault}; give another with --node-name or nodeRegistration.name"
            )

    def _settle_endpoint(self) -> None:
        given = self.configuration.node_registration.cri_socket
        if not given:
            return
        if runtime_endpoint.is_of_linux(given):
            reason = "a socket of Linux; the container runtime of this machine takes its place"
            after = self.node.runtime_endpoint
            self.notes.append(
                spec.Note(spec.Effect.CHANGED, "nodeRegistration.criSocket", reason, given, after)
            )
            return
        self.node = replace(self.node, runtime_endpoint=runtime_endpoint.endpoint(given))

    def _settle_ca_path(self) -> None:
        given = self.configuration.ca_cert_path
        try:
            path = PureWindowsPath(path_on_windows(given.replace("\\", "/")))
        except UnusablePath as fault:
            self._refuse("caCertPath", f"{quoted(given)} cannot be a path on Windows: {fault}")
            return
        if fault_of_path := windows_path_fault(path):
            self._refuse("caCertPath", f"{quoted(given)}: {fault_of_path}")
        self.ca_certificate = path

    def _of(self, own: NodesOwn, given: KubeletArguments) -> spec.Specification:
        references = (*own.references, *given.references)
        programs = list(self.placement.programs())
        files = list(self._files(own, given))
        directories = self._directories(references, [*programs, *files])
        read = {want.key for want in files} | set(directories)
        named = [
            spec.Key(kind.kind, each.windows) for each in references for kind in (spec.File, spec.Directory)
        ]
        # The runner reads the arguments, and the kubelet all else.
        reads = dict.fromkeys((*(want.key for want in files), *(key for key in named if key in read)))
        wants: list[spec.Want] = [
            *directories.values(),
            *files,
            *programs,
            spec.Credentials(model.KUBELET_CONF),
            spec.Certificates(folders.certificates(references)),
            windows_service.service(self._kubelet(own, given), self.placement, tuple(reads)),
        ]
        return spec.Specification.of(wants, self.notes, title_of_node(self.name, self.found.server))

    def _files(self, own: NodesOwn, given: KubeletArguments) -> Iterator[spec.File]:
        found = self.found
        yield spec.File(self.ca_certificate, spec.Inline(found.ca_certificate))
        bootstrap = _bootstrap_kubeconfig(found)
        yield spec.File(model.BOOTSTRAP_KUBELET_CONF, spec.Inline(bootstrap), until=model.KUBELET_CONF)
        yield spec.File(model.CONFIGURATION, spec.Inline(dumped(dict(own.value))))
        if found.cluster.feature_gates.get(_INSTANCE_GATE, True):
            instance = {"containerRuntimeEndpoint": self.node.runtime_endpoint}
            yield spec.File(model.INSTANCE_CONFIGURATION, spec.Inline(dumped(dict(instance))))
        yield spec.File(ARGUMENTS_FILE, spec.Inline(given.contents))

    def _directories(
        self, references: tuple[Reference, ...], files: list[spec.File]
    ) -> Mapping[spec.Key, spec.Directory]:
        known = folders.private([self.ca_certificate.parent], references)
        # The kubelet writes kubelet.conf there.
        kubernetes = spec.Directory(model.KUBERNETES, belongs_to_node=True)
        programs = folders.program(self.placement.install_directory)
        known |= {kubernetes.key: kubernetes, programs.key: programs}
        return folders.with_parents(known, [file.path for file in files])

    def _kubelet(self, own: NodesOwn, given: KubeletArguments) -> windows_service.Kubelet:
        words = [
            f"--config={model.CONFIGURATION}",
            f"--bootstrap-kubeconfig={model.BOOTSTRAP_KUBELET_CONF}",
            f"--kubeconfig={model.KUBELET_CONF}",
            f"--cert-dir={model.CERTIFICATES}",
            "--windows-service",
            f"--windows-priorityclass={PRIORITY_CLASS}",
            *own.flags,
        ]
        if self.kubelet.minor <= DOCKER_BY_DEFAULT_UNTIL:
            words.append("--container-runtime=remote")
        runner = self.placement.log_runner
        if runner is not None and runner.arguments_file == ARGUMENTS_FILE:
            return windows_service.Kubelet(
                tuple(words), own.value, arguments_elsewhere=given.words, makes=model.KUBELET_CONF
            )
        reason = "its arguments are on the command line too: this log runner does not read the file"
        self.notes.append(spec.Note(spec.Effect.WARNING, f"file {ARGUMENTS_FILE}", reason))
        return windows_service.Kubelet((*words, *given.words), own.value, makes=model.KUBELET_CONF)

    def _refuse(self, about: str, message: str) -> None:
        self.report += Report((Entry(Severity.ERROR, message, about),))


def _bootstrap_kubeconfig(found: Found) -> bytes:
    """bootstrap-kubelet.conf: with what the kubelet asks for its first certificate."""
    name = found.cluster.name
    called = f"{_USER}@kubernetes"  # whatever the cluster is called
    authority = base64.b64encode(found.ca_certificate).decode()
    cluster = {"certificate-authority-data": authority, "server": found.server, **found.on_the_way}
    return dumped(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": cluster}],
            "contexts": [{"name": called, "context": {"cluster": name, "user": _USER}}],
            "current-context": called,
            "users": [{"name": _USER, "user": dict(found.user)}],
        }
    )
