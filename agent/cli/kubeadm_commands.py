"""What kubeadm can be asked to do on a Windows machine, by its own command lines.

Called as kubeadm.exe, the program takes what Cluster API and people's scripts say to kubeadm: options, and
the configuration of a reset or an upgrade that they stand beside.
"""

from collections.abc import Iterator, Sequence

from agent.cli import options
from agent.cli.arguments import HELP, SANDBOX, SANDBOX_RUN, Command, Option, Request, options_by_name, parse
from agent.cli.asking import Asking, last_of, usable
from agent.cli.failure import BadInput, BadUsage
from agent.cli.given import given_file
from agent.cli.streams import tell
from agent.host.port import Host
from agent.sources.kubeadm.configurations import (
    ResetConfiguration,
    UpgradeConfiguration,
    read_reset,
    read_upgrade,
)
from agent.sources.kubeadm.validation import Phases, ignored_checks_fault

VERBOSITY = Option("--v", "how much to say", "N", short="-v")
FORCE = Option("--force", "do not ask; nobody is asked here anyway", short="-f")
CERTIFICATES = Option("--cert-dir", "is always C:\\etc\\kubernetes\\pki", "DIR")
KUBECONFIG = Option("--kubeconfig", "is always the node's own", "FILE")
RENEWAL = Option("--certificate-renewal", "of a control plane")
ETCD = Option("--etcd-upgrade", "of a control plane")
FORMAT = Option("--output", "short, yaml or json", "short|yaml|json", ("short", "yaml", "json"), short="-o")
IGNORE = Option(options.IGNORE.name, "go on in spite of these checks, or all", "IDS", repeated=True)
_RESET_CONFIG = Option("--config", "a ResetConfiguration, in place of options", "FILE")
_UPGRADE_CONFIG = Option("--config", "an UpgradeConfiguration, in place of options", "FILE")
_ANY_CONFIG = Option("--config", "configurations of kubeadm's for a node", "FILE")
ALLOW_OLD = Option("--allow-deprecated-api", "of an older configuration")
ALLOW_NEW = Option("--allow-experimental-api", "of a newer configuration")

COMMON = (HELP, VERBOSITY, SANDBOX, SANDBOX_RUN)

_ROOTFS = Option("--rootfs", "of Linux", "DIR")
_LOG_FILE = Option("--log-file", "has no effect", "FILE")
_SWITCHES_OF_THE_LOG = (
    *("--add-dir-header", "--alsologtostderr", "--logtostderr", "--one-output", "--skip-headers"),
    "--skip-log-headers",
)
_OF_THE_LOG = (
    _LOG_FILE,
    options.LOG_DIR,
    *(Option(name, "has no effect") for name in _SWITCHES_OF_THE_LOG),
    Option("--log-backtrace-at", "has no effect", "FILE:N"),
    Option("--log-file-max-size", "has no effect", "N"),
    Option("--log-flush-frequency", "has no effect", "5s"),
    Option("--stderrthreshold", "has no effect", "N"),
    Option("--vmodule", "has no effect", "PATTERN=N"),
)
"""What releases of kubeadm take from klog, the library of its log; of these 1.34 has only --vmodule left."""
_UNLISTED = (_ROOTFS, *_OF_THE_LOG)
"""Options of every command that help does not list."""
_JOIN = (
    *(*options.CLUSTER, IGNORE, options.DRY_RUN, options.CONTROL_PLANE),
    options.CERTIFICATE_KEY,
)
_BESIDE_CONFIG = {
    option.name
    for option in (options.CONFIG, options.SKIP_PHASES, options.DRY_RUN, options.IGNORE, KUBECONFIG)
}
"""What kubeadm takes beside --config; all else its file has to say."""


def _join(name: str, summary: str, *examples: str, run: str = "agent.cli.under_kubeadm:join") -> Command:
    """Return a command that takes all that kubeadm join takes."""
    return Command(name, summary, run, _JOIN, examples, "HOST:PORT", options.JOIN_UNLISTED)


COMMANDS = (
    _join(
        "join",
        "make this machine a node of the cluster",
        "kubeadm join --config join.yaml",
        "kubeadm join 10.0.0.1:6443 --token T",
    ),
    _join(
        "join phase preflight",
        "whether this machine and the cluster are fit for it",
        "kubeadm join phase preflight --config join.yaml",
        run="agent.cli.under_kubeadm:preflight_phase",
    ),
    _join(
        "join phase kubelet-start",
        "write what the kubelet needs, and start it",
        "kubeadm join phase kubelet-start --config join.yaml",
    ),
    _join(
        "join phase kubelet-wait-bootstrap",
        "the same, until the node is there",
        "kubeadm join phase kubelet-wait-bootstrap --config join.yaml",
    ),
    Command(
        "reset",
        "take this machine out again, and give back what was there",
        run="agent.cli.under_kubeadm:reset_node",
        options=(
            *(FORCE, options.DRY_RUN, _RESET_CONFIG, options.CRI_SOCKET, IGNORE, options.CLEAN_TMP),
            *(CERTIFICATES, KUBECONFIG, options.SKIP_PHASES),
        ),
        examples=("kubeadm reset -f", "kubeadm reset --config reset.yaml"),
    ),
    Command(
        "upgrade node",
        "take the cluster's present configuration for kubelets",
        run="agent.cli.under_kubeadm:upgrade_node",
        options=(
            *(options.DRY_RUN, options.PATCHES, _UPGRADE_CONFIG, options.SKIP_PHASES, IGNORE),
            *(KUBECONFIG, RENEWAL, ETCD),
        ),
        examples=("kubeadm upgrade node", "kubeadm upgrade node --config upgrade.yaml"),
    ),
    Command(
        "version",
        "the release of Kubernetes that this node's kubelet is of",
        run="agent.cli.under_kubeadm:version",
        options=(FORMAT,),
        examples=("kubeadm version -o short",),
    ),
    Command(
        "config validate",
        "whether a file of kubeadm's configurations can be used",
        run="agent.cli.under_kubeadm:validate",
        options=(_ANY_CONFIG, ALLOW_OLD, ALLOW_NEW),
        examples=("kubeadm config validate --config join.yaml",),
    ),
)

_ON_THE_CONTROL_PLANE = "it is for a control-plane machine; run kubeadm there, on Linux"
_OF_THE_CONTROL_PLANE = (
    *("init", "certs", "kubeconfig", "upgrade apply", "upgrade plan", "upgrade diff", "config images"),
    *("config migrate", "config print", "join phase control-plane-prepare", "join phase control-plane-join"),
    *("join phase wait-control-plane", "join phase check-etcd", "join phase etcd-join"),
)
_ELSEWHERE = {
    **dict.fromkeys(_OF_THE_CONTROL_PLANE, _ON_THE_CONTROL_PLANE),
    "token": f"{_ON_THE_CONTROL_PLANE}: kubeadm token create --print-join-command",
    "upgrade node phase": "its phases are not done one by one here; run kubeadm upgrade node",
    "reset phase": "its phases are not done one by one here; run kubeadm reset",
}


def _refuse_what_is_elsewhere(arguments: Sequence[str]) -> None:
    """Raises BadUsage for what kubeadm does, but on no Windows machine, whatever its options are."""
    words = " ".join(_words(arguments))
    for name, reason in _ELSEWHERE.items():
        if f"{words} ".startswith(f"{name} "):
            raise BadUsage(f"kubeadm {name}: {reason}")


def _words(arguments: Sequence[str]) -> Iterator[str]:
    """Yield what is neither an option nor the value of one that is known here."""
    known = options_by_name(COMMANDS, (*COMMON, *_UNLISTED))
    with_value = {name for name, option in known.items() if option.placeholder}
    rest = iter(arguments)
    for word in rest:
        if word in with_value:
            next(rest, None)
        elif not word.startswith("-"):
            yield word


def kubeadm_request(arguments: Sequence[str]) -> Request:
    """Return what a command line of kubeadm's asks for. Raises BadUsage."""
    _refuse_what_is_elsewhere(arguments)
    common = (*COMMON, *_UNLISTED)
    return _without_unlisted(parse(arguments, COMMANDS, common, "kubeadm", last_counts=True))


def _without_unlisted(request: Request) -> Request:
    """Return the request without the options of kubeadm's log. Raises BadUsage for what cannot be meant."""
    if request.value(_ROOTFS, ""):
        raise _ROOTFS.misused(": Windows has no other root for a program")
    level = request.value(VERBOSITY, "0")
    if not level.removeprefix("-").isdecimal():
        raise BadUsage.of(VERBOSITY.name, level, "expected a number, such as 5")
    for option in (_LOG_FILE, options.LOG_DIR):
        if request.value(option, ""):
            tell(f"wmcb: warning: {option.name} has no effect here: the log is where wmcb has its own")
    names = {option.name for option in _UNLISTED}
    return request.with_values({name: value for name, value in request.values.items() if name not in names})


QUIETLY = Asking(notice=lambda _: None)
"""The file is read again where its warnings are told."""


def reset_configuration(request: Request, host: Host, asking: Asking = QUIETLY) -> ResetConfiguration:
    """Return what the file behind --config says. Raises BadUsage."""
    if not request.has(options.CONFIG):
        return ResetConfiguration()
    document = given_file(request, options.CONFIG, host)
    outcome = read_reset(document.shown, document.read())
    return usable(outcome.configuration, outcome.report, asking)


def upgrade_configuration(request: Request, host: Host, asking: Asking = QUIETLY) -> UpgradeConfiguration:
    """Return what the file behind --config says. Raises BadUsage."""
    if not request.has(options.CONFIG):
        return UpgradeConfiguration()
    document = given_file(request, options.CONFIG, host)
    outcome = read_upgrade(document.shown, document.read())
    return usable(outcome.configuration, outcome.report, asking)


def refuse_beside_config(request: Request) -> None:
    """Raises BadUsage for options that cannot stand beside --config, also for switches that are off."""
    if not request.has(options.CONFIG) or request.command is None:
        return
    given = {*request.values, *request.off}
    faults = [
        option.misused(f": it cannot stand beside {options.CONFIG.name}, whose file says this")
        for option in request.command.options
        if option.name in given and option.name not in _BESIDE_CONFIG
    ]
    if faults:
        raise last_of(faults)


def _at(request: Request, field: str) -> str:
    """Return the name of a field in the file behind --config, as errors of that file have it."""
    return f"{request.value(options.CONFIG, '')} at $.{field}"


def _listed(request: Request, option: Option) -> list[str]:
    return [name for word in request.value(option, "").split(",") if (name := word.strip())]


def ignored_names(request: Request, of_file: Sequence[str], field: str) -> Sequence[str]:
    """Return the checks to ignore, by an option and by a `field` of a file.

    Raises BadUsage for one beside `all`.
    """
    given = _listed(request, options.IGNORE)
    names = (*of_file, *given)
    if fault := ignored_checks_fault(names):
        raise (
            options.IGNORE.misused(f": {fault}")
            if given
            else BadInput(f"{_at(request, field)}: {fault}", where=_at(request, field))
        )
    return names


def phases_to_skip(request: Request, of_file: Sequence[str], field: str, phases: Phases) -> Sequence[str]:
    """Return the phases of the option, or without it those of a `field` of the file, as kubeadm does.

    Raises BadUsage for one that cannot be skipped.
    """
    option = options.SKIP_PHASES.name
    given = _listed(request, options.SKIP_PHASES)
    where, skipped = (option, given) if given else (_at(request, field), list(of_file))
    wrong = BadUsage if given else BadInput
    for phase in skipped:
        if fault := phases.fault(phase):
            raise wrong.of(where, phase, fault)
    return skipped


def is_dry_run(request: Request, *, by_file: bool) -> bool:
    """Return whether nothing is to be changed; the option, on or off, goes before the file."""
    return request.has(options.DRY_RUN) or (by_file and not request.is_off(options.DRY_RUN))
