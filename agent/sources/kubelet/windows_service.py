"""The kubelet as a Windows service, and how one sees that it is well."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.sources.durations import seconds
from agent.sources.kubelet.documents import Value
from agent.sources.kubelet.folders import KUBELET_LOG, Placement
from agent.spec import File, HealthCheck, Key, Restart, Service

NAME = "kubelet"
"""The kubelet itself answers the service control manager under this name, and no other."""

_HEALTHZ_PORT = 10248
_ON_LOOPBACK = ("", "127.0.0.1", "0.0.0.0", "::", "::1", "localhost")  # noqa: S104 (compared with)
_RESTART = Restart(after_seconds=(5.0,), forgiven_after_seconds=600)
_LONGEST_SHUTDOWN = 86_400.0


@dataclass(frozen=True, slots=True)
class Kubelet:
    """As it is to run."""

    arguments: tuple[str, ...]
    configuration: Mapping[str, Value]
    environment: Mapping[str, str] = field(default_factory=dict)
    arguments_elsewhere: tuple[str, ...] = ()
    """What its log runner reads in a file at each start, and puts behind the others."""
    makes: PureWindowsPath | None = None
    """What it writes when the cluster has taken it in."""


def service(kubelet: Kubelet, placement: Placement, reads: tuple[Key, ...]) -> Service:
    """`reads` is what the kubelet is told of, apart from programs."""
    own = (str(placement.kubelet_path), *kubelet.arguments)
    runner = placement.log_runner
    command = own if runner is None else (str(placement.log_runner_path), *runner.arguments, *own)
    return Service(
        NAME,
        type(placement.kubelet_path)(command[0]),
        command[1:],
        display_name="Kubernetes kubelet",
        description=placement.description,
        dependencies=tuple(filter(None, (placement.runtime_service,))),
        environment=kubelet.environment,
        restart=_RESTART,
        preshutdown_seconds=_shutdown(kubelet),
        start_within_seconds=placement.well_within_seconds,
        health=_health(kubelet, placement.well_within_seconds),
        makes=kubelet.makes,
        log=KUBELET_LOG if runner else None,
        reads=reads if runner is None else (Key(File.kind, own[0]), *reads),
    )


def _shutdown(kubelet: Kubelet) -> float | None:
    """As long as the kubelet wants for ending its pods. It would set the same itself when it starts."""
    period = kubelet.configuration.get("shutdownGracePeriod")
    wanted = seconds(period) if isinstance(period, str) else None
    return min(abs(wanted), _LONGEST_SHUTDOWN) if wanted else None


def _health(kubelet: Kubelet, seconds: float) -> HealthCheck | None:
    address = _said(kubelet, "healthz-bind-address", "healthzBindAddress", "")
    port = _said(kubelet, "healthz-port", "healthzPort", _HEALTHZ_PORT)
    number = int(port) if isinstance(port, int) or (isinstance(port, str) and port.isdecimal()) else 0
    return (
        HealthCheck(number, within_seconds=seconds)
        if address in _ON_LOOPBACK and 0 < number < 1 << 16
        else None
    )


def _said(kubelet: Kubelet, flag: str, field: str, otherwise: Value) -> Value:
    """A flag goes before the configuration."""
    given = _flag((*kubelet.arguments, *kubelet.arguments_elsewhere), flag)
    found = kubelet.configuration.get(field) if given is None else given
    return otherwise if found is None else found


def _flag(arguments: Sequence[str], name: str) -> str | None:
    values = [word.partition("=")[2] for word in arguments if word.startswith(f"--{name}=")]
    return values[-1] if values else None
