"""A Windows machine with the real kubelet, joined to the cluster by the real kubeadm.exe."""

from __future__ import annotations

from datetime import UTC, datetime
from http.client import INTERNAL_SERVER_ERROR
from typing import Any

from lab import kubernetes, namespace
from lab.cluster.api import Refused
from lab.cluster.cluster import Cluster
from lab.cluster.fleet import LEASES, NODES
from lab.cluster.runtime import ContainerRuntime
from lab.node import Node
from lab.running import Result
from lab.services import State
from lab.waiting import until

SERVICE = "kubelet"
_KUBELET = r"C:\k\kubelet.exe"
_KUBEADM = r"C:\k\kubeadm.exe"

_RELEASED_KUBELET = r"C:\k\released\kubelet.exe"

_FLAGS = (
    r"--config=C:\var\lib\kubelet\config.yaml"
    r" --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf"
    r" --kubeconfig=C:\etc\kubernetes\kubelet.conf"
    r" --cert-dir=C:\var\lib\kubelet\pki"
)

_NEVER = datetime.fromtimestamp(0, UTC)

JOIN_CONFIGURATION = """\
apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken:
    token: {token}
    apiServerEndpoint: {address}
    caCertHashes: ["{ca_hash}"]
nodeRegistration:
  name: {name}
  criSocket: {runtime}
  # Under Wine there are no containers feature, no firewall and no administrator's token to look for.
  ignorePreflightErrors: [all]
"""


class KubeletNode:
    """Beside `machine`, for all that is Windows': what makes it a Node. Nothing of the product is in it."""

    # Of the Node, as of the machine.
    name = namespace.HOST_NAME

    def __init__(self, cluster: Cluster, runtime: ContainerRuntime, machine: Node) -> None:
        self.cluster = cluster
        self.runtime = runtime
        self.machine = machine
        self._started = _NEVER

    # Making it

    def install(self) -> None:
        """Puts the programs on the machine, and the kubelet among its services."""
        self.machine.copy_in(kubernetes.kubelet(), _KUBELET)
        # On C:, since it takes the drive that it stands on for the one that the kubelet's files belong to.
        self.machine.copy_in(kubernetes.windows() / "kubeadm.exe", _KUBEADM)
        self.register()

    def register(self) -> None:
        """Puts the kubelet among the services."""
        self.machine.create_service(SERVICE, f"{_KUBELET} --windows-service {self.flags}", automatic=True)

    @property
    def flags(self) -> str:
        """What it is started with; the runtime because kubeadm.exe writes npipe:// before any endpoint."""
        return f"{_FLAGS} --container-runtime-endpoint={self.runtime.endpoint}"

    def join(self, configuration: str | None = None, *phase: str) -> Result:
        """Runs `kubeadm.exe join`, or one phase of it, and does not judge how it went."""
        file = self.machine.path(r"C:\k\join.yaml")
        file.parent.mkdir(exist_ok=True)
        file.write_text(configuration or self.join_configuration())
        words = ["join", *(["phase", *phase] if phase else []), r"--config=C:\k\join.yaml"]
        return self.machine.run(_KUBEADM, *words)

    def join_configuration(self, template: str = JOIN_CONFIGURATION) -> str:
        """With a fresh token."""
        return template.format(
            token=self.cluster.fresh_bootstrap_token(),
            address=self.cluster.address,
            ca_hash=self.cluster.ca_hash,
            name=self.name,
            runtime=self.runtime.endpoint,
        )

    def try_released_kubelet(self, flags: str) -> Result:
        """Runs the kubelet as released until Wine's first gap ends it, with exit code 1.

        By then it has judged its flags and its configuration, and mostly has asked for its certificate.
        """
        self.machine.copy_in(kubernetes.windows() / "kubelet.exe", _RELEASED_KUBELET)
        return self.machine.run_line(f"{_RELEASED_KUBELET} {flags}")

    # The kubelet's life

    def start(self) -> None:
        self._started = datetime.now(UTC)
        self.machine.start_service(SERVICE)
        self.machine.wait_for_service(SERVICE, State.RUNNING)

    def stop(self) -> None:
        """Returns when its process has ended; under Wine the service goes on saying STOP_PENDING."""
        self.machine.stop_service(SERVICE)
        until(lambda: not self.machine.processes("kubelet.exe"), "the kubelet has ended")

    def kill(self) -> None:
        """Whoever supervises it starts it again."""
        self._started = datetime.now(UTC)
        (process,) = self.machine.processes("kubelet.exe")
        self.machine.kill(process)

    def reboot(self) -> None:
        """Switches the machine off and on; what its containers ran has ended."""
        self.machine.power_off()
        self.runtime.lose_power()
        self._started = datetime.now(UTC)
        self.machine.boot()

    # The Node

    def wait_until_ready(self, seconds: float = 60.0) -> None:
        """Until the Node is Ready and its kubelet has spoken since it was started last."""
        until(
            lambda: self.cluster.is_ready(self.name) and self.last_heard_of() >= self._started,
            f"the Node {self.name} is Ready",
            seconds,
            self.describe,
        )

    def wait_until_not_ready(self, seconds: float = 90.0) -> None:
        until(
            lambda: not self.cluster.is_ready(self.name),
            f"the Node {self.name} is not Ready",
            seconds,
            self.describe,
        )

    def last_heard_of(self) -> datetime:
        """When the kubelet renewed its lease last; long ago if never."""
        lease = self.cluster.api.find(f"{LEASES}/{self.name}")
        return datetime.fromisoformat(lease["spec"]["renewTime"]) if lease else _NEVER

    def kubelet_configuration(self) -> dict[str, Any]:
        """What the kubelet runs with, as it answers the API server."""
        refusals: list[Refused] = []

        def answer() -> dict[str, Any] | None:
            try:
                served: dict[str, Any] = self.cluster.api.get(f"{NODES}/{self.name}/proxy/configz")
            except Refused as refused:
                if refused.code != INTERNAL_SERVER_ERROR:
                    raise
                # In the second after its TLS bootstrap the kubelet closes all of its client's connections, to
                # open them with its certificate. It may be asking over one of them whether we are allowed to
                # ask, and does not ask again.
                refusals.append(refused)
                return None
            configuration: dict[str, Any] = served["kubeletconfig"]
            return configuration

        return until(
            answer, f"the kubelet of {self.name} tells its configuration", explain=lambda: refusals[-1]
        )

    def describe(self) -> str:
        """What is known of it, for a message."""
        node = self.cluster.node(self.name)
        conditions: list[dict[str, Any]] = node["status"].get("conditions", []) if node else []
        told = [f"{c['type']}={c['status']} ({c['reason']}: {c['message']})" for c in conditions]
        running = len(self.machine.processes("kubelet.exe"))
        return f"Node: {'; '.join(told) or 'none'}; {running} kubelets, {self.machine.service(SERVICE)}"
