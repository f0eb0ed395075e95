"""A node of a cluster that kubeadm made: `wmcb join HOST:PORT`, `--kubeadm-config FILE` and an upgrade."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from agent.cli import join_cluster, joined_node, kubeadm_commands, options
from agent.cli.arguments import Request
from agent.cli.asking import Asking, Wishes, usable
from agent.cli.checking import IDS, SKEW_CHECK, checks_of_kubeadm, ignored_checks
from agent.cli.command_line import called
from agent.cli.failure import BadUsage, Failure, Refused
from agent.cli.given import named_folder
from agent.cli.join_cluster import JoinCluster, admitted, find_cluster
from agent.cli.join_configuration import START, configuration_of, discovery_file, name_of, named
from agent.cli.joined_node import refuse_node_of_ignition, title_of
from agent.cli.machine import runs_programs
from agent.host.port import Host
from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.cluster import read_cluster, skew_fault
from agent.sources.kubeadm.compiling import Found, compile_join
from agent.sources.kubeadm.model import KUBELET_CONF, Discovery, JoinConfiguration
from agent.sources.kubeadm.patches import is_patch, read_patches
from agent.sources.kubelet.folders import ARGUMENTS_FILE
from agent.sources.node_names import USER_DATA
from agent.spec import Credentials, Service, Specification, Want

_WAIT = "kubelet-wait-bootstrap"
"""A phase of kubeadm's."""
_LARGEST_PATCH = 1 << 20
_NODE_IP = "node-ip"
_PIPE = "npipe:////./pipe/"


def asking_to_join(request: Request, host: Host) -> Asking:
    """Raises BadUsage for a configuration that cannot be meant."""
    asking = Asking()
    configuration = configuration_of(request, host, asking)
    refuse_node_of_ignition(request, host)
    # What user data made is not the join's to take away: the same user data would be carried out once more.
    by_user_data = title_of(host).startswith(USER_DATA)
    return replace(asking, ignored=_ignored(configuration, asking), join=configuration, beside=by_user_data)


def asking_to_upgrade(request: Request, host: Host) -> Asking:
    """Raises Refused where no node is that joined."""
    for path in (KUBELET_CONF, ARGUMENTS_FILE):
        if host.files.observe(path) is None:
            raise Refused(
                f"this machine is no node that has joined a cluster of kubeadm's: there is no {path}; "
                f"{called(request)} {options.IGNITION.name} with another {options.KUBELET.name} upgrades "
                "a node of an Ignition",
                where=str(path),
            )
    registration = joined_node.registration(host)
    upgrading = kubeadm_commands.upgrade_configuration(request, host)
    configuration = JoinConfiguration(
        Discovery(file=str(KUBELET_CONF)),
        registration,
        timeouts=upgrading.timeouts,
        patches_directory=request.value(options.PATCHES, upgrading.patches_directory),
    )
    name = joined_node.name(host)
    if request.has(options.DRY_RUN):
        join_cluster.tell_what_would_go(request, host, name)
    join_cluster.asks_to_vacate(request)
    aside = partial(join_cluster.vacated, request, host, name)
    return Asking(ignored_checks(request), join=configuration, beside=True, aside=aside)


def node_to_join(
    request: Request, host: Host, asking: Asking, wish: Callable[[], Wishes]
) -> tuple[Specification, Wishes]:
    """What is wanted of this machine, when the cluster was asked. Raises BadUsage and Failure."""
    configuration = asking.join
    assert configuration is not None, "it was asked to join"
    _refuse_two_addresses(request, configuration)
    patches = read_patches(_patch_files(request, host, configuration.patches_directory))
    endpoint = runtime_endpoint_of(request, host, configuration)
    name = name_of(configuration, host)
    wished = wish()
    cluster = find_cluster(configuration, name, host, discovery_file(request, host), asking.notice)
    found = _found(cluster, asking)
    _check(cluster, found, wished, asking)
    node = replace(wished.node, runtime_endpoint=endpoint)
    made = compile_join(configuration, found, patches, node, wished.release(), wished.placement)
    specification = usable(made.specification, made.report, asking)
    if not _waits(request, configuration):
        specification = _without_waiting(specification)
    if not runs_programs(request):
        specification = _without(Credentials, specification)
    return specification, wished


def confirmation(request: Request, host: Host, asking: Asking) -> Callable[[], None] | None:
    """Return what waits for the Node, where a program runs that could make one."""
    configuration = asking.join
    assert configuration is not None, "it was asked to join"
    if not _waits(request, configuration):
        return None
    name, endpoint = name_of(configuration, host), runtime_endpoint_of(request, host, configuration)
    seconds = configuration.timeouts.tls_bootstrap
    return lambda: admitted(host, name, endpoint, seconds, asking.notice)


def _waits(request: Request, configuration: JoinConfiguration) -> bool:
    """Not where no program runs that could make a Node, nor when kubeadm ends before that, too."""
    phase = request.command.name.rpartition(" ")[2] if request.command else ""
    is_to_wait = phase != START and _WAIT not in configuration.skip_phases
    return runs_programs(request) and is_to_wait


def _found(cluster: JoinCluster, asking: Asking) -> Found:
    outcome = read_cluster(cluster.cluster_configuration.encode())
    return Found(
        cluster.server,
        cluster.authority,
        cluster.kubelet_configuration.encode(),
        usable(outcome.configuration, outcome.report, asking),
        cluster.bootstrap_user,
        cluster.on_the_way,
    )


def _refuse_two_addresses(request: Request, configuration: JoinConfiguration) -> None:
    given = {each.name.replace("_", "-") for each in configuration.node_registration.kubelet_extra_args}
    if request.has(options.NODE_IP) and _NODE_IP in given:
        place = "nodeRegistration.kubeletExtraArgs of the JoinConfiguration"
        raise options.NODE_IP.misused(f": {place} says {_NODE_IP}, too; leave one of them out")


def _patch_files(request: Request, host: Host, given: str) -> Mapping[str, bytes]:
    if not given:
        return {}
    is_upgrade = options.upgrades(request)
    field = "node.patches.directory" if is_upgrade else "patches.directory"
    where, place = named(request, options.PATCHES, field, given)
    return named_folder(request, where, place, host, _LARGEST_PATCH, is_patch)


def _ignored(configuration: JoinConfiguration, asking: Asking) -> Collection[str]:
    if "preflight" in configuration.skip_phases:
        return frozenset(IDS)
    return checks_of_kubeadm(configuration.node_registration.ignore_preflight_errors, asking)


def runtime_endpoint_of(request: Request, host: Host, configuration: JoinConfiguration) -> str:
    """As it is given, or the one that is there: kubeadm looks for the same."""
    given = request.value(options.RUNTIME_ENDPOINT, configuration.node_registration.cri_socket)
    if given and not runtime_endpoint.is_of_linux(given):
        return runtime_endpoint.endpoint(given)
    found = [each for each in runtime_endpoint.KNOWN if host.facts.pipe_exists(each.removeprefix(_PIPE))]
    if len(found) > 1:
        raise BadUsage(
            f"several container runtimes are here, {' and '.join(found)}; say which to use with "
            f"{options.CRI_SOCKET.name} or nodeRegistration.criSocket",
            where=options.CRI_SOCKET.name,
        )
    return found[0] if found else runtime_endpoint.CONTAINERD


def _check(cluster: JoinCluster, found: Found, wished: Wishes, asking: Asking) -> None:
    if cluster.ready:
        name = cluster.node_name
        raise Failure(
            f"a Node {name} is in the cluster already, and is Ready: another machine has this name; remove "
            f"it there (kubectl delete node {name}), or choose another name with {options.NODE_NAME.name}",
            where=options.NODE_NAME.name,
        )
    if fault := skew_fault(f"1.{wished.release().minor}", cluster.version, found.cluster.kubernetes_version):
        asking.object_to(SKEW_CHECK, BadUsage(fault, where=asking.kubelet.name))


def _without_waiting(specification: Specification) -> Specification:
    """Where no program runs, none gets itself admitted either."""
    wants = [replace(want, makes=None) if isinstance(want, Service) else want for want in specification.wants]
    return Specification.of(wants, specification.notes, specification.title)


def _without(kind: type[Want], specification: Specification) -> Specification:
    wants = [want for want in specification.wants if not isinstance(want, kind)]
    return Specification.of(wants, specification.notes, specification.title)
