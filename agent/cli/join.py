"""A node of a cluster that kubeadm made: `wmcb join HOST:PORT`, and `wmcb --kubeadm-config FILE`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli import join_options, options
from agent.cli.asking import Asking
from agent.cli.checking import IDS, SKEW_CHECK
from agent.cli.failure import BadUsage, Failure
from agent.cli.given import given_file, named_file, named_folder
from agent.cli.inputs import USER_DATA
from agent.cli.join_cluster import admitted, find_cluster
from agent.cli.kinds_of_document import refuse_another_kind
from agent.cli.machine import runs_programs
from agent.cli.wanted import tell_report
from agent.engine import run as engine
from agent.records import replaced
from agent.sources.kubeadm import runtime_endpoint, version_skew
from agent.sources.kubeadm.cluster import read_cluster
from agent.sources.kubeadm.compiling import Found, compile_join
from agent.sources.kubeadm.from_options import JoinOptions, from_options, with_options
from agent.sources.kubeadm.naming import node_name
from agent.sources.kubeadm.patches import is_patch, read_patches
from agent.sources.kubeadm.reading import read
from agent.sources.node_names import fault as name_fault
from agent.spec import Credentials, Service, Specification

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from agent.cli.arguments import Option, Request
    from agent.cli.given import GivenFile
    from agent.cli.join_cluster import JoinCluster
    from agent.cli.wanted import Wishes
    from agent.host.port import Host
    from agent.sources.kubeadm.model import JoinConfiguration
    from agent.spec import Want

_CHECKS = {
    "isprivilegeduser": "administrator",
    "cri": "containerd-pipe",
    "containerruntimeversion": "containerd-pipe",
    "mem": "memory",
    "systemverification": "windows-build",
    "kubeletversion": SKEW_CHECK,
}
"""Checks that kubeadm has under another name."""
_START, _WAIT = "kubelet-start", "kubelet-wait-bootstrap"
"""Phases of kubeadm's."""
_LARGEST_PATCH = 1 << 20
_ENDINGS_OF_DOCUMENTS = (".yaml", ".yml", ".json", ".conf")
_PIPE = "npipe:////./pipe/"


def asking_to_join(request: Request, host: Host) -> Asking:
    """Raises BadUsage for a configuration that cannot be meant."""
    asking = Asking()
    configuration = _configuration(request, host, asking)
    # What user data made is not the join's to take away: the same user data would be carried out once more.
    by_user_data = engine.title(host).startswith(USER_DATA)
    return replaced(asking, ignored=_ignored(configuration, asking), join=configuration, beside=by_user_data)


def node_to_join(
    request: Request, host: Host, asking: Asking, wish: Callable[[], Wishes]
) -> tuple[Specification, Wishes]:
    """What is wanted of this machine, when the cluster was asked. Raises BadUsage and Failure."""
    configuration = _of(asking)
    patches = read_patches(_patch_files(request, host, configuration.patches_directory))
    endpoint = _runtime_endpoint(request, host, configuration)
    name = _name(configuration, host)
    cluster = find_cluster(configuration, name, host, _discovery_file(request, host), asking.notice)
    found = _found(cluster, asking)
    wished = wish()
    _check(cluster, found, wished, asking)
    node = replaced(wished.node, runtime_endpoint=endpoint)
    made = compile_join(configuration, found, patches, node, wished.release, wished.placement)
    tell_report(made.report, asking)
    assert made.specification is not None, "a report without errors comes with a specification"
    specification = (
        made.specification if _waits(request, configuration) else _without_waiting(made.specification)
    )
    if not runs_programs(request):
        specification = _without(Credentials, specification)
    return specification, wished


def joined(request: Request, host: Host, asking: Asking) -> Callable[[], None] | None:
    """What waits for the Node; nothing where no program runs that could make one."""
    configuration = _of(asking)
    if not _waits(request, configuration):
        return None
    name, endpoint = _name(configuration, host), _runtime_endpoint(request, host, configuration)
    seconds = configuration.timeouts.tls_bootstrap
    return lambda: admitted(host, name, endpoint, seconds, asking.notice)


def _waits(request: Request, configuration: JoinConfiguration) -> bool:
    """Not where no program runs that could make a Node, nor when kubeadm ends before that, too."""
    phase = request.command.name.rpartition(" ")[2] if request.command else ""
    is_to_wait = phase != _START and _WAIT not in configuration.skip_phases
    return runs_programs(request) and is_to_wait


def _of(asking: Asking) -> JoinConfiguration:
    assert asking.join is not None, "it was asked to join"
    return asking.join


def _found(cluster: JoinCluster, asking: Asking) -> Found:
    outcome = read_cluster(cluster.cluster_configuration.encode())
    tell_report(outcome.report, asking)
    assert outcome.cluster is not None, "a report without errors comes with a cluster"
    return Found(
        cluster.server,
        cluster.authority,
        cluster.kubelet_configuration.encode(),
        outcome.cluster,
        cluster.bootstrap_user,
        cluster.on_the_way,
    )


def _patch_files(request: Request, host: Host, given: str) -> Mapping[str, bytes]:
    if not given:
        return {}
    where, place = _named(request, join_options.PATCHES, "patches.directory", given)
    return named_folder(request, where, place, host, _LARGEST_PATCH, is_patch)


def _discovery_file(request: Request, host: Host) -> Callable[[str], GivenFile]:
    def file(given: str) -> GivenFile:
        where, place = _named(request, join_options.DISCOVERY_FILE, "discovery.file.kubeConfigPath", given)
        return named_file(request, where, place, host)

    return file


def _named(request: Request, option: Option, place: str, given: str) -> tuple[str, str]:
    """What names a file or a folder, and its path: in a document one of Linux is the same path on C:."""
    if request.has(option):
        return option.name, given
    is_rooted = given[:1] in ("/", "\\") and given[1:2] not in ("/", "\\")
    return place, f"C:{given}" if is_rooted else given


def _configuration(request: Request, host: Host, asking: Asking) -> JoinConfiguration:
    given, file = _join_options(request), _file_option(request)
    if request.operand.lower().endswith(_ENDINGS_OF_DOCUMENTS):
        text = f"HOST:PORT is expected here; {join_options.CONFIG.name} FILE takes a JoinConfiguration"
        raise BadUsage(f"{request.operand}: {text}", where="HOST:PORT")
    if file is None:
        outcome = from_options(given)
    else:
        document = given_file(request, file, host)
        refuse_another_kind(document, options.KUBEADM_CONFIG)
        outcome = read(document.shown, document.read())
        if outcome.configuration is not None:
            tell_report(outcome.report, asking)
            outcome = with_options(outcome.configuration, given)
    tell_report(outcome.report, asking)
    assert outcome.configuration is not None, "a report without errors comes with a configuration"
    if _START in outcome.configuration.skip_phases:
        where = join_options.SKIP_PHASES.name if request.has(join_options.SKIP_PHASES) else "skipPhases"
        raise BadUsage.of(where, _START, "this phase cannot be left out here: all else comes of it")
    return outcome.configuration


def _file_option(request: Request) -> Option | None:
    for option in (options.KUBEADM_CONFIG, join_options.CONFIG):
        if request.has(option):
            return option
    return None


def _join_options(request: Request) -> JoinOptions:
    def listed(option: Option) -> tuple[str, ...]:
        return (request.value(option, ""),) if request.has(option) else ()

    return JoinOptions(
        endpoint=request.operand,
        token=request.value(join_options.TOKEN, ""),
        discovery_token=request.value(join_options.DISCOVERY_TOKEN, ""),
        tls_bootstrap_token=request.value(join_options.BOOTSTRAP_TOKEN, ""),
        ca_cert_hashes=listed(join_options.CA_HASH),
        unsafe_skip_ca_verification=request.has(join_options.UNVERIFIED_CA),
        discovery_file=request.value(join_options.DISCOVERY_FILE, ""),
        node_name=request.value(options.NODE_NAME, ""),
        cri_socket=request.value(join_options.CRI_SOCKET, ""),
        patches_directory=request.value(join_options.PATCHES, ""),
        ignore_preflight_errors=listed(options.IGNORE),
        skip_phases=listed(join_options.SKIP_PHASES),
    )


def _ignored(configuration: JoinConfiguration, asking: Asking) -> Collection[str]:
    names = [name.lower() for name in configuration.node_registration.ignore_preflight_errors]
    if "all" in names or "preflight" in configuration.skip_phases:
        return frozenset(IDS)
    known = {_CHECKS.get(name, name) for name in names}
    for name in sorted(known.difference(IDS)):
        # kubeadm says nothing either: most of its checks are of Linux, or are no obstacle here.
        asking.warn(f"{options.IGNORE.name}: no check here is called {name}")
    return known.intersection(IDS)


def _name(configuration: JoinConfiguration, host: Host) -> str:
    name = node_name(configuration.node_registration, host.facts.host_name())
    if fault := name_fault(name):
        raise BadUsage.of(options.NODE_NAME.name, name, fault)
    return name


def _runtime_endpoint(request: Request, host: Host, configuration: JoinConfiguration) -> str:
    """As it is given, or the one that is there: kubeadm looks for the same."""
    given = request.value(options.RUNTIME_ENDPOINT, configuration.node_registration.cri_socket)
    if given and not runtime_endpoint.is_of_linux(given):
        return runtime_endpoint.endpoint(given)
    found = [each for each in runtime_endpoint.KNOWN if host.facts.pipe_exists(each.removeprefix(_PIPE))]
    if len(found) > 1:
        raise BadUsage(
            f"several container runtimes are here, {' and '.join(found)}; say which to use with "
            f"{join_options.CRI_SOCKET.name} or nodeRegistration.criSocket",
            where=join_options.CRI_SOCKET.name,
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
    if fault := version_skew.fault(
        f"1.{wished.release.minor}", cluster.version, found.cluster.kubernetes_version
    ):
        asking.object_to(SKEW_CHECK, BadUsage(fault, where=asking.kubelet.name))


def _without_waiting(specification: Specification) -> Specification:
    """Where no program runs, none gets itself admitted either."""
    wants = [
        replaced(want, makes=None) if isinstance(want, Service) else want for want in specification.wants
    ]
    return Specification.of(wants, specification.notes, specification.title)


def _without(kind: type[Want], specification: Specification) -> Specification:
    wants = [want for want in specification.wants if not isinstance(want, kind)]
    return Specification.of(wants, specification.notes, specification.title)
