"""OpenShift's operator calls these: its daemon's command lines, on its ConfigMaps of services."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath

from agent.cli import options, values
from agent.cli.arguments import Option, Request
from agent.cli.engine_run import display, recorded
from agent.cli.failure import DONE, BadUsage, Failure
from agent.cli.leaving import end_pods, remove_services
from agent.cli.machine import open_as_administrator, open_machine
from agent.cli.run_log import LARGEST_BYTES, RunLog
from agent.cli.service_process import served
from agent.cli.streams import many, notice, say, tell
from agent.engine.machine_lock import Busy, held_by_command
from agent.engine.parts import OF_OPERATOR
from agent.engine.progress import Progress
from agent.engine.run import make_so
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.services import Control
from agent.kube.answers import Object, text_at, texts_at
from agent.kube.client import Client, config_map, node
from agent.kube.failure import Failed, NotFound
from agent.sources.services_configmap.model import (
    MANAGED,
    NAME_PREFIX,
    REBOOT_REQUIRED,
    VERSION,
    ServicesConfigMap,
)
from agent.spec import EnvironmentVariable, Service, Specification
from agent.spec.machine import TrustedCertificate
from service.cluster import Unknown
from service.errors import Refused
from service.operated import Operated, OperatorCluster, access_by, client_of, find_node, name_of
from service.operator_services import (
    configuration_of,
    make_services,
    only_services,
    other_files,
    remove_imported,
)
from service.program import resident
from service.reporting import Marks
from service.telling import Telling
from service.work_queue import Signals

SERVICE = "windows-instance-config-daemon"
"""As the operator registers it."""

_PATIENCE = 60.0
_LONG_SECONDS = 3600.0
_MEGABYTE = 1_000_000
_STAY = "variables that the operator's own daemon set stay"
_TAKING_EFFECT_LATER = (EnvironmentVariable.kind, TrustedCertificate.kind)
"""Kinds of which a program that runs knows nothing until Windows has been restarted."""


def bootstrap(request: Request) -> int:
    """Makes and starts the services that have to run before there is a Node."""
    version = _needed(request, options.DESIRED_VERSION)
    namespace = _needed(request, options.NAMESPACE)
    host = open_as_administrator(request)
    with _client(request, host) as client:
        found = _configuration(client, namespace, version)
    for line in other_files(host, found):
        tell(f"wmcb: warning: {line}")
    with recorded(host, f"bootstrap by {found.name}", display(request)) as told, _refusals():
        services = found.bootstrap_services()
        made = make_services(host, only_services(found), services, {}, told, is_whole=False)
    changes = sum(len(done.plan.changes) for done in made)
    say(f"{many(len(services), 'service')} run, by {found.name}; {changes or 'nothing'} changed")
    return DONE


def controller(request: Request) -> int:
    """Keeps the machine as the operator's ConfigMap says, until it is stopped."""
    kubeconfig = _kubeconfig(request)
    bundle = PureWindowsPath(text) if (text := request.value(options.CA_BUNDLE, "")) else None
    namespace = _needed(request, options.NAMESPACE)

    def wishing(host: Host, signals: Signals, telling: Telling) -> Operated:
        cluster = OperatorCluster(host, kubeconfig, namespace, signals)
        return Operated(host, cluster, Marks(cluster), telling, bundle)

    largest = _largest_log(request)
    for option in (options.CERT_DIR, options.CERT_DURATION):
        if request.has(option):
            tell(f"wmcb: {option.name} has no effect: this daemon asks by its kubeconfig")

    def log_on(host: Host) -> Callable[[str], None]:
        folder = PureWindowsPath(request.value(options.LOG_DIR, "")) if request.has(options.LOG_DIR) else None
        return lambda line: RunLog(host, folder, largest).write(line)

    if request.has(options.WINDOWS_SERVICE):
        return served(request, SERVICE, wishing, log_on, is_always=True)
    open_as_administrator(request)
    asked = (_Console(), lambda: True, lambda: open_machine(request), log_on, wishing)
    threading.Thread(target=resident, args=asked, daemon=True).start()
    while True:
        time.sleep(_LONG_SECONDS)  # Ctrl+C ends that, and would not end a thread that waits for signals


def _largest_log(request: Request) -> int | None:
    """Return the size in bytes at which the log is rotated; None for a log that never is.

    As in klog, whose option it is, 0 switches rotation off. An empty value is the default.
    """
    if not request.value(options.LOG_SIZE, ""):
        return LARGEST_BYTES
    return int(values.number(request, options.LOG_SIZE, "")) * _MEGABYTE or None


class _Console:
    """Nobody asks for anything there."""

    arguments: Sequence[str] = ()

    def running(self) -> None: ...
    def stopping(self, wait_hint_seconds: float) -> None: ...
    def stopped(self, exit_code: int) -> None: ...
    def next(self, seconds: float | None = None) -> Control | None: ...
    def hand_on(self, take: Callable[[Control], None]) -> None: ...


def cleanup(request: Request) -> int:
    """Takes away what a services ConfigMap made, and every service that OpenShift's daemon made."""
    namespace = _needed(request, options.NAMESPACE)
    host = open_as_administrator(request)
    with _client(request, host) as client:
        there = _node(host, client)
        variables = _watched_variables(client, namespace, there)
        with recorded(host, "clean up the operator's services", display(request)) as told:
            done = make_so(host, Specification(), told, part=OF_OPERATOR)
            others = _remove_managed(host)
            unset = _remove_variables(host, variables)
            imported = _remove_imported(host, told)
        gone = {change.target.key for change in done.plan.changes}
        pods = end_pods(host)
        if there is not None:
            restart = unset or imported or any(key.kind in _TAKING_EFFECT_LATER for key in gone)
            annotations: Mapping[str, str | None] = {
                VERSION: None,
                **({REBOOT_REQUIRED: ""} if restart else {}),
            }
            client.patch(node(name_of(there)), {"metadata": {"annotations": dict(annotations)}})
    services = sum(key.kind == Service.kind for key in gone) + others
    say(f"{many(services, 'service')} removed, {many(pods, 'pod')} ended")
    return DONE


def _needed(request: Request, option: Option) -> str:
    if not request.value(option, ""):
        raise BadUsage(
            f"{' '.join(request.words)} needs {option.name} {option.placeholder}", where=option.name
        )
    return request.value(option, "")


def _kubeconfig(request: Request) -> PureWindowsPath:
    """On the machine: a service reads it, too, which has another current folder. Raises BadUsage."""
    option = options.OPERATOR_KUBECONFIG
    path = PureWindowsPath(_needed(request, option))
    if not path.is_absolute():
        raise BadUsage.of(option.name, str(path), "give its whole path with its drive, such as C:\\k\\wicd")
    return path


@contextmanager
def _client(request: Request, host: Host) -> Iterator[Client]:
    path = _kubeconfig(request)
    try:
        access = access_by(host, path, lambda line: tell(f"wmcb: warning: {line}"))
        with client_of(host, access, _PATIENCE, notice) as client:
            yield client
    except (Failed, Unknown) as fault:
        raise Failure(str(fault)) from fault
    except HostError as fault:
        raise Failure(str(fault), where=fault.subject) from fault


def _configuration(client: Client, namespace: str, version: str) -> ServicesConfigMap:
    name = NAME_PREFIX + version
    try:
        there = client.get(config_map(namespace, name))
    except NotFound as fault:
        raise Failure(f"there is no ConfigMap {namespace}/{name}: {fault}") from fault
    return _read(namespace, there)


def _read(namespace: str, config_map: Object) -> ServicesConfigMap:
    with _refusals():
        return configuration_of(f"ConfigMap {namespace}/{_name(config_map)}", texts_at(config_map, "data"))


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except Refused as fault:
        raise Failure(str(fault)) from fault


def _node(host: Host, client: Client) -> Object | None:
    there = find_node(host, client)
    if there is None:
        tell("wmcb: this machine has no Node in the cluster")
    return there


def _watched_variables(client: Client, namespace: str, there: Object | None) -> Sequence[str]:
    """Return the variables that the newest ConfigMap watches, or the one of the Node's version.

    The operator's own daemon removes both, since either version may have set them.
    """
    version = text_at(there or {}, "metadata", "annotations", VERSION)
    try:
        found = client.list(f"/api/v1/namespaces/{namespace}/configmaps", keep=_if_of_services).items
    except Failed as fault:
        tell(f"wmcb: warning: {_STAY}: {fault}")
        return ()
    config_maps = sorted(filter(None, found), key=lambda each: text_at(each, "metadata", "creationTimestamp"))
    if not config_maps:
        tell(f"wmcb: warning: {_STAY}: there is no ConfigMap {namespace}/{NAME_PREFIX}VERSION")
    of_version = [each for each in config_maps[:-1] if _name(each) == NAME_PREFIX + version]
    variables: dict[str, None] = {}
    for each in (*config_maps[-1:], *of_version):
        try:
            variables |= dict.fromkeys(_read(namespace, each).watched)
        except Failure as fault:
            tell(f"wmcb: warning: {_STAY}: {fault}")
    return tuple(variables)


def _if_of_services(config_map: Object) -> Object:
    return config_map if _name(config_map).startswith(NAME_PREFIX) else {}


def _name(config_map: Object) -> str:
    return text_at(config_map, "metadata", "name")


def _remove_variables(host: Host, names: Sequence[str]) -> bool:
    there = [name for name in names if host.environment.kind(name) is not None]
    for name in there:
        host.environment.remove(name)
    return bool(there)


def _remove_imported(host: Host, progress: Progress) -> bool:
    """Return whether any was removed."""
    removed: list[TrustedCertificate] = []
    try:
        with held_by_command(host, progress.waiting):
            remove_imported(host, (), removed.append)
    except (Busy, Refused) as fault:
        tell(f"wmcb: warning: {fault}")
    return bool(removed)


def _remove_managed(host: Host) -> int:
    """What the operator's own daemon has made is known by its description alone."""
    managed = []
    for name in host.services.list():
        with suppress(HostError):  # somebody else's, such as a virus scanner's that nobody may read
            installed = host.services.read(name)
            if installed is not None and MANAGED in installed.definition.description:
                managed.append(name)
    remove_services(host, managed)
    return len(managed)
