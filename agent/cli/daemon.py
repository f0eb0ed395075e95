"""`wmcb daemon`: the resident service, seen from the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli import options
from agent.cli.arguments import SANDBOX, SANDBOX_RUN, Request
from agent.cli.failure import DONE, BadUsage, Failure, Refused
from agent.cli.machine import is_sandbox, open_as_administrator, open_machine
from agent.cli.streams import say, tell
from agent.host.port import Host, ServiceState

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from service.followed import Followed
    from service.program import Wishing


STOP_WITHIN_SECONDS = 60.0
START_WITHIN_SECONDS = 60.0
SERVICE = "wmcb"


def run(request: Request) -> int:
    """The service's own process, started by the service control manager."""
    from service.program import following

    def means(host: Host) -> Means:
        return means_of_service(request, host)

    followed = _given(request)
    wishing = following(followed, means) if followed else None
    return served(request, SERVICE, wishing, metrics_port=_metrics_port(request), means=means)


def means_of_service(request: Request, host: Host) -> Means:
    """By which the resident service fetches: its command line says most, a private file the rest."""
    from dataclasses import replace

    from agent.artifacts.means import mirror
    from agent.cli.means import means_of
    from service.elsewhere import private_mirrors

    found = means_of(request, host, is_checked=False)
    return replace(found, mirrors=(*found.mirrors, *map(mirror, private_mirrors(host))))


def served(
    request: Request,
    name: str,
    wishing: Wishing | None,
    log_on: Callable[[Host], Callable[[str], None]] | None = None,
    *,
    is_always: bool = False,
    metrics_port: int | None = None,
    means: Callable[[Host], Means] | None = None,
) -> int:
    """As the Windows service of that name. `is_always`: also on a machine that is no node yet."""
    from agent.host.errors import NotAService
    from service.program import resident

    log_on = log_on or _log_on
    is_node: Callable[[], bool]
    try:
        if sys.platform == "win32" and not is_sandbox(request):
            # Of the host this part alone: a service starts often, and stays.
            from agent.host.windows.service_program import serve

            is_node = _is_node
        else:
            host = open_machine(request)
            serve, is_node = host.services.serve, lambda: _has_memory(host)
        return serve(
            name,
            lambda controls: resident(
                controls,
                lambda: is_always or is_node(),
                lambda: open_machine(request),
                log_on,
                wishing,
                metrics_port,
                means,
            ),
        )
    except NotAService as error:
        if is_sandbox(request):
            return _started(request, name)
        raise BadUsage(f"Windows runs this; start the service with: sc.exe start {name}") from error


def _started(request: Request, name: str) -> int:
    """In a sandbox, where no other program asks the service control manager for it."""
    from agent.cli.command_line import called
    from agent.host.port import ServiceState

    if not request.has(SANDBOX_RUN):
        text = f"a sandbox starts programs with {SANDBOX_RUN.name} alone; install the service with it, too"
        raise BadUsage(text, where=SANDBOX_RUN.name)
    services = open_machine(request).services
    if services.read(name) is None:
        raise Refused(f"there is no service {name} here: {called(request)} daemon install makes it")
    services.start(name)
    status = services.wait(name, ServiceState.RUNNING, START_WITHIN_SECONDS)
    say(f"the service {name} runs as process {status.pid}; {called(request)} daemon uninstall stops it")
    return DONE


def _is_node() -> bool:
    """Of this machine, without its host, which takes 3 MB; `_has_memory` is the same with it."""
    folder = f"{os.environ.get('PROGRAMDATA', '')}\\wmcb"
    return any(os.path.exists(f"{folder}\\{name}") for name in ("node.json", "journal"))  # noqa: PTH110


def _has_memory(host: Host) -> bool:
    from agent.engine.state_folder import StateFolder

    folder = StateFolder.of(host)
    return any(host.files.observe(path) is not None for path in (folder.inventory, folder.journal))


def tell_of_change(host: Host) -> None:
    """To the resident service, which may not be there, or not look at this machine yet."""
    from agent.host.errors import HostError

    with suppress(HostError):
        host.services.tell_of_parameters(SERVICE)


def _log_on(host: Host) -> Callable[[str], None]:
    from agent.cli.run_log import RunLog

    # A log that is begun anew for each line is looked at each time whether it has become too large.
    return lambda line: RunLog(host).write(line)


def pause(request: Request) -> int:
    """Has the resident service repair nothing, for a time or until `resume`."""
    host = open_as_administrator(request)
    from agent.cli.looking import looking
    from agent.host.errors import NotFound
    from service import pausing

    seconds = _span(request) if request.has(options.FOR) else None
    until = None if seconds is None else host.clock.now() + seconds
    with looking(host):
        try:
            pausing.pause(host, until)
        except NotFound as error:
            raise Failure("wmcb has put nothing on this machine: there is nothing to pause") from error
    say(f"repairs are paused {paused_until(request, until)}")
    return DONE


def resume(request: Request) -> int:
    """Ends the pause: what has been changed meanwhile is put right."""
    host = open_as_administrator(request)
    from agent.cli.looking import looking
    from service import pausing

    with looking(host):
        was_paused = pausing.resume(host)
    say("repairs go on" if was_paused else "nothing to do: repairs were not paused")
    return DONE


def resident_state(host: Host) -> ServiceState | None:
    """None where the service is not installed, or does not let this caller ask."""
    from agent.host.errors import HostError

    with suppress(HostError):
        if host.services.read(SERVICE) is not None:
            return host.services.status(SERVICE).state
    return None


def paused_until(request: Request, until: float | None) -> str:
    """For a person."""
    if until is None:
        from agent.cli.command_line import called

        return f"until: {called(request)} daemon resume"
    import time

    return time.strftime("until %Y-%m-%d %H:%M:%S UTC", time.gmtime(until))


def _span(request: Request) -> float:
    from agent.sources.kubeadm.durations import seconds

    given = request.value(options.FOR, "")
    span = seconds(given)
    if span is None or span <= 0:
        raise BadUsage.of(options.FOR.name, given, "expected a span of time, such as 2h, 90m or 1h30m")
    return span


def install(request: Request) -> int:
    """Lays the running exe out under Program Files and registers the service."""
    host = open_as_administrator(request)
    from agent.host.port import ServiceState
    from service import continuing, installation, succession
    from service.elsewhere import keep_private, private_mirrors
    from service.metrics_port import arguments as metrics_arguments
    from service.program_folder import KUBEADM, PROGRAM, home
    from service.versions import remove_others

    former, followed = installation.arguments(host), _followed(request, host)
    port = _metrics_port(request, former)
    elsewhere, mirrors = _elsewhere(request, host, former)
    arguments = (*(followed.arguments() if followed else ()), *metrics_arguments(port), *elsewhere)
    are_others = mirrors != private_mirrors(host)
    succession.installed_by_hand(host)
    with running_program(request, host) as program:
        is_installed_one = home(host) in program.parents
        installed = installation.install(host, program, arguments, as_kubeadm=request.has(options.AS_KUBEADM))
    if are_others:
        keep_private(host, mirrors)
    if arguments != former or are_others or installed.is_another:
        installation.restart(host, STOP_WITHIN_SECONDS)
    remove_others(host, installed.place, SERVICE, continuing.SERVICE)
    for setting in installed.unsupported:
        tell(f"wmcb: this Windows does not keep the service's {setting}; it goes without")
    kubeadm = host.files.observe(installed.place / KUBEADM) is not None
    programs = f"{PROGRAM} and {KUBEADM} are" if kubeadm else "the program is"
    folder = request.value(SANDBOX, "")
    now = (
        f"wmcb {SANDBOX.name} {folder} {SANDBOX_RUN.name} daemon run" if folder else f"sc.exe start {SERVICE}"
    )
    say(f"{programs} in {installed.place}")
    if is_installed_one:
        from agent.release import RELEASE

        # As by a bare `wmcb` where a newer one lies in PowerShell's current folder.
        say(f"this is the installed program itself, release {RELEASE}: nothing newer was laid out")
    if request.has(options.START):
        installation.have_it_run(host, START_WITHIN_SECONDS)
    if resident_state(host) is ServiceState.RUNNING:
        say(f"the service {SERVICE} runs, and starts with Windows")
    else:
        say(f"the service {SERVICE} starts with Windows, or now by: {now}")
    if request.has(options.UNFOLLOW):
        _give_back(request, host)
    elif followed is not None:
        say(f"it follows {followed}")
    if port is not None:
        say(f"it answers on http://127.0.0.1:{port}/metrics and /healthz")
    return DONE


def _elsewhere(
    request: Request, host: Host, former: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Where contents are fetched: those of before, unless others are given, or none by an empty text.

    In words for the service's command line, and the mirrors that no other user may read.
    """
    from service.elsewhere import ARTIFACTS, MIRROR, has_secret, in_arguments, private_mirrors

    mirrors, folder = in_arguments(former, MIRROR), in_arguments(former, ARTIFACTS)
    private = private_mirrors(host)
    if request.has(options.MIRROR) or request.has(options.ARTIFACTS):
        from agent.cli.means import means_of

        means = means_of(request, host)
        if request.has(options.MIRROR):
            given = tuple(map(str, means.mirrors))
            private = tuple(each for each in given if has_secret(each))
            mirrors = tuple(word for each in given if each not in private for word in (MIRROR, each))
        if request.has(options.ARTIFACTS):
            folder = (ARTIFACTS, means.folder) if means.folder else ()
    return (*mirrors, *folder), private


def _metrics_port(request: Request, former: Sequence[str] = ()) -> int | None:
    """The one of before, unless another is given."""
    from service.metrics_port import NoPort, in_arguments, port

    if not request.has(options.METRICS_PORT):
        return in_arguments(former)
    given = request.value(options.METRICS_PORT, "")
    try:
        return port(given)
    except NoPort as fault:
        raise BadUsage.of(options.METRICS_PORT.name, given, str(fault)) from fault


def _followed(request: Request, host: Host) -> Followed | None:
    """The one of before, unless another is given."""
    if request.has(options.UNFOLLOW):
        for option in (options.CONFIG_MAP, options.PUBLIC_KEY):
            if request.has(option):
                raise BadUsage(f"{options.UNFOLLOW.name} does not go with {option.name}", where=option.name)
        return None
    from service.followed import in_arguments
    from service.installation import arguments

    return _given(request, host) or in_arguments(arguments(host))


def _given(request: Request, host: Host | None = None) -> Followed | None:
    """The ConfigMap to follow. Its key is a file of `host`, or itself."""
    if not request.has(options.CONFIG_MAP):
        if request.has(options.PUBLIC_KEY):
            text = f"{options.PUBLIC_KEY.name} goes with {options.CONFIG_MAP.name}"
            raise BadUsage(text, where=options.PUBLIC_KEY.name)
        return None
    from dataclasses import replace

    from service.followed import NoConfigMap, followed

    place = request.value(options.CONFIG_MAP, "")
    try:
        found = followed(place)
    except NoConfigMap as fault:
        raise BadUsage.of(options.CONFIG_MAP.name, place, str(fault)) from fault
    return replace(found, key=_key(request, host)) if request.has(options.PUBLIC_KEY) else found


def _key(request: Request, host: Host | None) -> str:
    """As minisign writes it in one line."""
    from agent.cli.given import given_file
    from agent.sources.signatures import NoKey, public_key

    given = request.value(options.PUBLIC_KEY, "")
    try:
        public_key(given)
    except NoKey:
        if host is None:
            raise
    else:
        return given
    try:
        file = given_file(request, options.PUBLIC_KEY, host)
    except BadUsage as fault:
        raise BadUsage(f"{fault}, and it is no public key of minisign's itself", where=fault.where) from fault
    text = file.read().decode(errors="replace")
    try:
        public_key(text)
    except NoKey as fault:
        raise file.objection(str(fault)) from fault
    return text.split()[-1]


def _give_back(request: Request, host: Host) -> None:
    """What the ConfigMap had made that was followed until now, and what its Node says of that."""
    from agent.cli.engine_run import recorded
    from agent.cli.progress import display
    from agent.cli.wording import many
    from agent.engine.run import make_so
    from agent.release import RELEASE
    from agent.spec import Specification
    from service import standing
    from service.followed import PART

    if standing.read(host) is not None:
        _withdraw(host)
    with recorded(host, "take away what a ConfigMap made", display(request)) as told:
        done = make_so(host, Specification(), RELEASE, told, part=PART)
    standing.forget(host)
    taken = many(len(done.plan.changes), "resource")
    say(f"it follows no ConfigMap; of what one had made, {taken} were taken away")


def uninstall(request: Request) -> int:
    """Stops the service, and takes it and the program away."""
    host = open_as_administrator(request)
    from pathlib import PureWindowsPath

    from service import installation, succession
    from service.program_folder import home

    stays = _stays_of_followed(request, host)
    place = home(host)
    was_there = host.services.read(SERVICE) is not None or host.files.observe(place) is not None
    succession.uninstalled(host)
    left = installation.uninstall(host, PureWindowsPath(sys.executable), STOP_WITHIN_SECONDS)
    if not was_there:
        say("nothing to do: the resident service is not installed")
    elif left:
        say(f"the service {SERVICE} is gone; Windows removes {place} when it starts next")
    else:
        say(f"the service {SERVICE} and its program are gone")
    if stays:
        say(stays)
    return DONE


def _stays_of_followed(request: Request, host: Host) -> str:
    """What an uninstalled service leaves of the ConfigMap that it followed; empty for nothing."""
    from agent.cli.shown_following import following
    from agent.resources.kind import CannotBeSo
    from service.standing import State

    found = None
    with suppress(CannotBeSo):  # a memory that nobody may believe keeps no service from going
        found = following(host)
    if found is None or found[1].state is State.WAITING:
        return ""
    from agent.cli.command_line import called

    away = f"{called(request)} daemon install {options.UNFOLLOW.name}"
    return f"what {found[0]} made stays, and so do its Node's annotations wmcb/...; {away} takes both away"


def _withdraw(host: Host) -> None:
    from agent.engine.inventory import Inventory
    from agent.engine.state_folder import StateFolder
    from agent.host.errors import HostError
    from agent.kube.failure import Failed
    from service import reporting
    from service.cluster import Unknown

    try:
        reporting.withdraw(host, Inventory.load(StateFolder.of(host)))
    except (Failed, HostError, Unknown) as fault:
        tell(f"wmcb: warning: its Node keeps the annotations that tell of it: {fault}")


@contextmanager
def running_program(request: Request, host: Host) -> Iterator[PureWindowsPath]:
    """What is to be laid out under Program Files: this exe, with the folder of what it loads beside it."""
    from pathlib import PureWindowsPath

    if is_sandbox(request):
        with _program_of_the_sandbox(request, host) as program:
            yield program
    elif getattr(sys, "frozen", False):  # set by PyInstaller's loader
        yield PureWindowsPath(sys.executable)
    else:
        raise BadUsage("what is laid out is the exe that is called; this is Python from source")


@contextmanager
def _program_of_the_sandbox(request: Request, host: Host) -> Iterator[PureWindowsPath]:
    """A script that starts this Python stands for the exe: the sandbox runs what its system can run."""
    import secrets
    from pathlib import Path

    from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
    from agent.host.sandbox.programs import script_of_ours
    from service.program_folder import INTERNAL, PROGRAM

    start = "import agent.cli.main as main; main.console()"
    words = [sys.executable, "-c", start, SANDBOX.name, str(Path(request.value(SANDBOX, "")).resolve())]
    words += [SANDBOX_RUN.name] * request.has(SANDBOX_RUN)
    unpacked = host.facts.system_directory() / "Temp" / f"wmcb-{secrets.token_hex(8)}"
    program, internal = unpacked / PROGRAM, unpacked / INTERNAL
    for folder in (unpacked, internal):
        host.files.make_directory(folder, PROGRAM_DIRECTORY)
    host.files.write(program, script_of_ours(words), PROGRAM_FILE)
    try:
        yield program
    finally:
        host.files.remove(program)
        for folder in (internal, unpacked):
            host.files.remove_directory(folder)
