"""`wmcb daemon`: the resident service, seen from the command line."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.cli import options
from agent.cli.arguments import SANDBOX, SANDBOX_RUN, Request
from agent.cli.command_line import called
from agent.cli.engine_run import display, looking, recorded
from agent.cli.failure import DONE, FAILED, BadUsage, Failure
from agent.cli.given import given_file
from agent.cli.machine import open_as_administrator, open_machine
from agent.cli.means import means_of
from agent.cli.resident_service import START_WITHIN_SECONDS, following, paused_until, resident_state
from agent.cli.run_log import RunLog
from agent.cli.running_program import running_program
from agent.cli.service_process import given_config_map, metrics_port
from agent.cli.streams import many, notice, say, tell
from agent.engine.inventory import Inventory
from agent.engine.parts import FOLLOWED
from agent.engine.run import make_so
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError, NotAService, NotFound
from agent.host.port import Host
from agent.host.services import ENDING, ServiceControls, ServiceState
from agent.release import RELEASE
from agent.resources.kind import CannotBeSo
from agent.sources import durations
from agent.sources.signatures import NoKey, public_key
from agent.spec import Specification
from service import installation, pausing, standing, succession
from service.arguments import Followed, followed_in, metrics_arguments
from service.elsewhere import ARTIFACTS, MIRROR, has_secret, in_arguments, keep_private, private_mirrors
from service.installation import remove_others, switch_path
from service.program import SERVICE
from service.program_folder import KUBEADM, PROGRAM, home
from service.standing import State
from service.succession import Asked, HandingOver
from service.telling import Telling

STOP_WITHIN_SECONDS = 60.0
_HAND_OVER_STOPS_WITHIN_SECONDS = 5.0


def pause(request: Request) -> int:
    """Has the resident service repair nothing, for a time or until `resume`."""
    host = open_as_administrator(request)
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
    with looking(host):
        was_paused = pausing.resume(host)
    say("repairs go on" if was_paused else "nothing to do: repairs were not paused")
    return DONE


def _span(request: Request) -> float:
    given = request.value(options.FOR, "")
    span = durations.seconds(given)
    if span is None or span <= 0:
        raise BadUsage.of(options.FOR.name, given, "expected a span of time, such as 2h, 90m or 1h30m")
    return span


def install(request: Request) -> int:
    """Lays the running exe out under Program Files and registers the service."""
    host = open_as_administrator(request)
    former, followed = installation.arguments(host), _followed(request, host)
    port = metrics_port(request, former)
    elsewhere, mirrors = _elsewhere(request, host, former)
    arguments = (*(followed.arguments() if followed else ()), *metrics_arguments(port), *elsewhere)
    are_others = mirrors != private_mirrors(host)
    with running_program(request, host) as program:
        succession.installed_by_hand(host)
        is_installed_one = home(host) in program.parents
        installed = installation.install(host, program, arguments, as_kubeadm=request.has(options.AS_KUBEADM))
    switch_path(host, installed.place, notice)
    if are_others:
        keep_private(host, mirrors)
    if arguments != former or are_others or installed.is_another:
        installation.restart(host, STOP_WITHIN_SECONDS)
    remove_others(host, installed.place)
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
    mirrors, folder = in_arguments(former, MIRROR), in_arguments(former, ARTIFACTS)
    private = private_mirrors(host)
    if request.has(options.MIRROR) or request.has(options.ARTIFACTS):
        means = means_of(request, host)
        if request.has(options.MIRROR):
            given = tuple(map(str, means.mirrors))
            private = tuple(each for each in given if has_secret(each))
            mirrors = tuple(word for each in given if each not in private for word in (MIRROR, each))
        if request.has(options.ARTIFACTS):
            folder = (ARTIFACTS, means.folder) if means.folder else ()
    return (*mirrors, *folder), private


def _followed(request: Request, host: Host) -> Followed | None:
    """The one of before, unless another is given."""
    if request.has(options.UNFOLLOW):
        for option in (options.CONFIG_MAP, options.PUBLIC_KEY):
            if request.has(option):
                raise BadUsage(f"{options.UNFOLLOW.name} does not go with {option.name}", where=option.name)
        return None
    config_map = given_config_map(request, lambda given: _public_key(request, given, host))
    return config_map or followed_in(installation.arguments(host))


def _public_key(request: Request, given: str, host: Host) -> str:
    """Return it as minisign writes it in one line, which is given itself, or the name of a file of `host`."""
    try:
        public_key(given)
    except NoKey:
        pass
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
    if standing.read(host) is not None:
        _withdraw(host)
    with recorded(host, "take away what a ConfigMap made", display(request)) as told:
        done = make_so(host, Specification(), told, part=FOLLOWED)
    standing.forget(host)
    taken = many(len(done.plan.changes), "resource")
    say(f"it follows no ConfigMap; of what one had made, {taken} were taken away")


def uninstall(request: Request) -> int:
    """Stops the service, and takes it and the program away."""
    host = open_as_administrator(request)
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
    found = None
    with suppress(CannotBeSo):  # a memory that nobody may believe keeps no service from going
        found = following(host)
    if found is None or found[1].state is State.WAITING:
        return ""
    away = f"{called(request)} daemon install {options.UNFOLLOW.name}"
    return f"what {found[0]} made stays, and so do its Node's annotations wmcb/...; {away} takes both away"


def _withdraw(host: Host) -> None:
    from agent.kube.failure import Failed  # noqa: PLC0415 - requests, 17 MB
    from service import reporting  # noqa: PLC0415 - requests, 17 MB
    from service.cluster import Unknown  # noqa: PLC0415 - requests, 17 MB

    try:
        reporting.withdraw(host, Inventory.load(StateFolder.of(host)))
    except (Failed, HostError, Unknown) as fault:
        tell(f"wmcb: warning: its Node keeps the annotations that tell of it: {fault}")


def hand_over(request: Request) -> int:
    """What the service of one use runs that puts another wmcb.exe in the place of the one that runs."""
    host = open_machine(request)
    telling = Telling(host, RunLog(host).write)

    def program(controls: ServiceControls) -> int:
        controls.running()
        try:
            HandingOver(host, telling, lambda seconds: controls.next(seconds) in ENDING).run()
        except Asked:
            controls.stopping(_HAND_OVER_STOPS_WITHIN_SECONDS)
        except HostError as fault:
            telling.note(f"another wmcb.exe could not take its place yet: {fault}")
            return FAILED  # Windows starts it again, by its recovery actions
        return DONE

    try:
        return host.services.serve(succession.SERVICE, program)
    except NotAService as fault:
        raise BadUsage("Windows runs this, when a ConfigMap wants another wmcb.exe (self)") from fault
