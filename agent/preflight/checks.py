"""The checks, in the order in which they are told."""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host, ProcessInfo
from agent.host.protection import FILE_EXCHANGE, granted_to_others
from agent.host.services import ServiceState, StartType
from agent.preflight.situation import Finding, Situation, Verdict, finding
from agent.spec import Directory, File, Specification

_OLDEST_BUILD = 17763
"""Windows Server 2019: no older one runs containers as Kubernetes wants them."""
_NEEDED_MEMORY = 2 << 30
"""What is set aside for Windows itself. A kubelet with less does not start."""
_RECOMMENDED_MEMORY = 4 << 30
_TIME_SERVICE = "W32Time"


def administrator(situation: Situation) -> tuple[Verdict, str]:
    """Whether whoever asks may change the machine."""
    if situation.host.access.is_administrator():
        return Verdict.GOOD, "yes"
    return Verdict.ERROR, "an administrator is needed: start it from an elevated prompt"


def windows_build(situation: Situation) -> tuple[Verdict, str]:
    """Windows Server 2019 or later; another Windows of that age is warned of."""
    version = situation.host.facts.windows_version()
    found = f"{version.product}, build {version.build}"
    if version.build < _OLDEST_BUILD:
        return Verdict.ERROR, f"{found}: Windows Server 2019 (build {_OLDEST_BUILD}) or later is needed"
    if not version.server:
        return Verdict.WARNING, f"{found}: Kubernetes supports Windows Server alone; use it to try things out"
    return Verdict.GOOD, found


def architecture(situation: Situation) -> tuple[Verdict, str]:
    """The kubelet for Windows is made for x86-64 alone."""
    found = situation.host.facts.architecture()
    if found != "amd64":
        return Verdict.ERROR, f"{found}: the kubelet for Windows is made for amd64 (x86-64) machines alone"
    return Verdict.GOOD, found


def memory(situation: Situation) -> tuple[Verdict, str]:
    """Windows sets 2 GiB of a node aside for itself."""
    bytes_there = situation.host.facts.memory()
    found = f"{bytes_there / (1 << 30):.1f} GiB"
    if bytes_there < _NEEDED_MEMORY:
        return Verdict.ERROR, f"{found}: Windows itself needs 2 GiB of a node; give the machine 4 or more"
    if bytes_there < _RECOMMENDED_MEMORY:
        return Verdict.WARNING, f"{found}: after what Windows needs little is left for pods; 4 GiB or more do"
    return Verdict.GOOD, found


def clock(situation: Situation) -> tuple[Verdict, str]:
    """With a wrong one no certificate of the cluster is valid."""
    now = situation.host.clock.now()
    for span in situation.validities:
        if now < span.first:
            wrong = f"{_date(now)}: {span.of} is valid from {_date(span.first)} on"
            return Verdict.ERROR, f"{wrong}; set the machine's clock right"
        if span.last is not None and now > span.last:
            wrong = f"{_date(now)}: {span.of} was valid until {_date(span.last)}"
            return Verdict.ERROR, f"{wrong}; get a new document from the cluster, or set the clock right"
    return Verdict.GOOD, _date(now)


def time_service(situation: Situation) -> tuple[Verdict, str]:
    """A clock that nobody keeps right makes certificates invalid, some day."""
    if situation.host.services.read(_TIME_SERVICE) is None:
        return Verdict.GOOD, f"there is no {_TIME_SERVICE}: something else keeps the clock"
    if situation.host.services.status(_TIME_SERVICE).state is ServiceState.RUNNING:
        return Verdict.GOOD, f"{_TIME_SERVICE} runs"
    advice = (
        "start it, or let a NodeConfiguration say timeService, unless something else keeps the clock right"
    )
    return Verdict.WARNING, f"{_TIME_SERVICE} does not run: {advice}"


def reboot_pending(situation: Situation) -> tuple[Verdict, str]:
    """Whether Windows wants to start anew."""
    reasons = situation.host.power.reboot_pending()
    if reasons:
        return Verdict.WARNING, f"Windows wants to start anew ({'; '.join(reasons)}); do it soon"
    return Verdict.GOOD, "no reboot is pending"


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))


_MARGIN = 1 << 30
"""For logs, and for Windows not to come to a halt while it is written."""


def disk(situation: Situation) -> tuple[Verdict, str]:
    """Room for what will be written, on each drive."""
    host = situation.host
    found = []
    for drive, files in sorted(_files(host, situation.specification).items()):
        try:
            free = host.facts.disk(PureWindowsPath(f"{drive}\\")).free
        except NotFound:
            return Verdict.ERROR, f"there is no drive {drive}, and files are to go there; name another"
        told = f"{drive} has {_amount(free)} free"
        if free < _size(files) + _MARGIN:
            # Now it is worth a look at each of them.
            size = _size([file for file in files if not _is_there(host, file)])
            if not size:
                return Verdict.WARNING, f"{told}; a node needs more to work well"
            if free < size + _MARGIN:
                needed = f"{_amount(size)} are to be written, and {_amount(_MARGIN)} have to be left"
                return Verdict.ERROR, f"{told}; {needed}: make room there"
        found.append(told)
    return Verdict.GOOD, ", ".join(found)


def _files(host: Host, specification: Specification | None) -> Mapping[str, list[File]]:
    """By drive; wmcb's own folder is on one, whatever is wanted."""
    files: defaultdict[str, list[File]] = defaultdict(list, {host.facts.program_data().drive.upper(): []})
    for want in specification.wants if specification else ():
        if isinstance(want, File):
            files[want.path.drive.upper()].append(want)
    return files


def _size(files: Iterable[File]) -> int:
    return sum(file.content.size for file in files if file.content is not None)


def _is_there(host: Host, file: File) -> bool:
    """One of the same size is taken for the one that is wanted."""
    try:
        there = host.files.observe(file.path)
    except NotFound:
        return False
    return there is not None and file.content is not None and there.size == file.content.size


def _amount(size: int) -> str:
    if size >= 1 << 30:
        return f"{size / (1 << 30):.1f} GiB"
    return f"{max(1, round(size / (1 << 20)))} MiB"


# Whether users could exchange the node's folders where they lie.
def drives(situation: Situation) -> tuple[Verdict, str]:
    """A warning: a drive is more than the node's, so its owner has to say who may do what there."""
    wants = situation.specification.wants if situation.specification else ()
    roots = {PureWindowsPath(want.path.anchor) for want in wants if isinstance(want, Directory)}
    opened = [str(root) for root in sorted(roots) if _is_open(situation.host, root)]
    if not opened:
        return Verdict.GOOD, "no user can rename what lies at its root"
    named = ", ".join(opened)
    return Verdict.WARNING, (
        f"users may rename or remove what is in {named}, the node's folders too, and put others there: "
        "take the right to delete there from them, or to say who may"
    )


def _is_open(host: Host, root: PureWindowsPath) -> bool:
    try:
        descriptor = host.files.descriptor(root)
    except NotFound:
        return False  # that there is no such drive is said of the disk
    return bool(granted_to_others(descriptor, host.access.caller()) & FILE_EXCHANGE)


PIPE_CHECK = "containerd-pipe"

_PATIENCE_SECONDS = 10.0
"""A containerd that was started with the machine tells Windows that it runs before anybody can reach it."""
_ASK_AGAIN_SECONDS = 0.2


def containerd_service(situation: Situation) -> tuple[Verdict, str]:
    """Windows starts a service only after those that it depends on."""
    needed = situation.services_needed()
    if not needed:
        return Verdict.GOOD, "the kubelet depends on no service"
    missing, disabled = [], []
    for name in needed:
        installed = situation.host.services.read(name)
        if installed is None:
            missing.append(name)
        elif installed.definition.start is StartType.DISABLED:
            disabled.append(name)
    if missing:
        advice = (
            f"{situation.host.called} prepare --node-config containerd.yaml, of packaging/profiles, installs "
            f"containerd; {situation.runtime_option} NAME is for one of another name, none for a runtime "
            "that is no service"
        )
        return Verdict.ERROR, f"there is no service {', '.join(missing)}, which the kubelet needs; {advice}"
    if disabled:
        advice = "set its start type to automatic"
        return Verdict.ERROR, f"service {', '.join(disabled)} is disabled, and the kubelet needs it; {advice}"
    return Verdict.GOOD, f"service {', '.join(needed)} is there"


def containerd_pipe(situation: Situation) -> tuple[Verdict, str]:
    """Looked for while its service runs: Windows starts that together with the kubelet."""
    name = situation.kubelet.pipe
    if name is None:
        return Verdict.NOT_CHECKED, "the kubelet is told of a runtime that answers at no pipe"
    shown = rf"\\.\pipe\{name}"
    needed = situation.services_needed()
    if missing := [each for each in needed if situation.host.services.read(each) is None]:
        return Verdict.NOT_CHECKED, f"{shown} is served when there is {', '.join(missing)}, and it runs"
    if situation.host.facts.pipe_exists(name):
        return Verdict.GOOD, f"{shown} is served"
    running = [each for each in needed if _runs(situation, each)]
    is_worth_waiting = situation.patient and PIPE_CHECK not in situation.ignored
    if running and is_worth_waiting and _comes_up(situation.host, name):
        return Verdict.GOOD, f"{shown} is served"
    if running:
        advice = "look at its log, and at the address in its configuration (grpc, address)"
        return Verdict.ERROR, f"service {', '.join(running)} runs, but nobody serves {shown}; {advice}"
    if needed:
        return Verdict.NOT_CHECKED, f"{shown} is served when {', '.join(needed)} runs"
    return Verdict.WARNING, f"nobody serves {shown}; the kubelet waits until a container runtime does"


def _comes_up(host: Host, pipe: str) -> bool:
    deadline = host.clock.monotonic() + _PATIENCE_SECONDS
    while host.clock.monotonic() < deadline:
        host.clock.sleep(_ASK_AGAIN_SECONDS)
        if host.facts.pipe_exists(pipe):
            return True
    return False


def _runs(situation: Situation, name: str) -> bool:
    services = situation.host.services
    return services.read(name) is not None and services.status(name).state is ServiceState.RUNNING


def kubelet_port(situation: Situation) -> tuple[Verdict, str]:
    """Where the control plane reaches it."""
    return _free(situation, situation.kubelet.port)


def health_port(situation: Situation) -> tuple[Verdict, str]:
    """Where it tells whether it is well."""
    port = situation.kubelet.health_port
    if port is None:
        return Verdict.NOT_CHECKED, "the kubelet is not asked whether it is well"
    return _free(situation, port)


def _free(situation: Situation, port: int) -> tuple[Verdict, str]:
    host = situation.host
    holders = {each.pid for each in host.facts.listening_ports() if each.port == port}
    if not holders:
        return Verdict.GOOD, f"port {port} is free"
    processes = {each.pid: each for each in host.processes.list()}
    name = situation.kubelet.service
    service = host.services.status(name).pid if host.services.read(name) else None
    others = [pid for pid in sorted(holders) if service not in _lineage(pid, processes)]
    if not others:
        return Verdict.GOOD, f"port {port} is held by the kubelet that is there"
    told = ", ".join(_named(pid, processes) for pid in others)
    return Verdict.ERROR, f"port {port} is held by {told}; stop that, the kubelet needs the port"


def _lineage(pid: int, processes: Mapping[int, ProcessInfo]) -> set[int]:
    """The process and what started it: the service may be a program that writes the kubelet's log."""
    found: set[int] = set()
    while pid not in found:
        found.add(pid)
        pid = processes[pid].parent if pid in processes else pid
    return found


def _named(pid: int, processes: Mapping[int, ProcessInfo]) -> str:
    program = processes[pid].program if pid in processes else None
    return f"{program} (process {pid})" if program else f"process {pid}"


Check = Callable[[Situation], tuple[Verdict, str]]

CHECKS: Mapping[str, Check] = {
    "administrator": administrator,
    "windows-build": windows_build,
    "architecture": architecture,
    "memory": memory,
    "clock": clock,
    "time-service": time_service,
    "reboot-pending": reboot_pending,
    "disk": disk,
    "drive-rights": drives,
    "containerd-service": containerd_service,
    PIPE_CHECK: containerd_pipe,
    "port-10250": kubelet_port,
    "port-10248": health_port,
}

IDS = tuple(CHECKS)
WHATEVER_IS_WANTED = (
    "administrator", "windows-build", "architecture", "memory", "clock", "containerd-service",
)  # fmt: skip
"""What a cluster says of its kubelets makes no error of these any less of one."""


def findings(situation: Situation, checks: Collection[str] = IDS) -> Sequence[Finding]:
    """One of each check."""
    return [finding(name, check, situation) for name, check in CHECKS.items() if name in checks]
