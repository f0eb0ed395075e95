"""Another wmcb.exe that takes the place of the one that runs: what is remembered of it, and what does it.

All of it lies beside the program's folder: a copy of the program as it was, the shipped file of the one that
is to come, this memory, and the word of the new one that it is well. A memory that cannot be read is none.
"""

import enum
import json
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import PureWindowsPath
from typing import Any

from agent.amounts import in_seconds
from agent.host.errors import HostError, InUse, MarkedForDeletion, NotFound, ServiceAlreadyRunning
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.host.services import Recovery, RecoveryAction, ServiceDefinition, ServiceState
from agent.redaction import redacted
from agent.release import RELEASE, build
from agent.resources.service import stop
from agent.resources.trees import remove_tree
from service import installation
from service.installation import remove_others, switch_path
from service.program import SERVICE as RESIDENT
from service.program_folder import PROGRAM, hand_over_folder, hand_over_memory
from service.telling import Event, Telling

SERVICE = "wmcb-hand-over"
COMMAND = ("daemon", "hand-over")
_FORMAT = 1
_RESTART_AFTER_MILLISECONDS = 5_000
_STOP_SECONDS = 10.0
STAYS_SECONDS = 5.0
"""So long it has to go on when it has said that it is well."""
_MOST_CUT_OFF = 3
_STOP_RESIDENT_SECONDS = 30.0
_START_SECONDS = 60.0
_INSTALL_SECONDS = 300.0
_LOOK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Version:
    release: str
    commit: str | None = None

    def __str__(self) -> str:
        return f"{self.release} ({self.commit[:12]})" if self.commit else self.release


class Stage(enum.StrEnum):
    PUTTING = "putting"
    """The new one is being put in the place of the old one: what lies there may be some of both."""
    TRYING = "trying"
    """It runs there, and has to show that it is well."""
    RETURNING = "returning"
    """The old one is being put back."""


@dataclass(frozen=True, slots=True)
class Trial:
    sha256: str
    """Of the shipped file."""
    version: Version
    """As that says itself."""
    content: str
    """A hash of the ConfigMap that wants it."""
    within_seconds: float
    arguments: tuple[str, ...]
    """What the service was told by the old one."""
    stage: Stage = Stage.PUTTING
    times: int = 0
    """How often it was begun."""
    why: str = ""
    """The old one is put back."""


@dataclass(frozen=True, slots=True)
class Refusal:
    sha256: str
    content: str
    """Not tried again while the ConfigMap is this one."""
    why: str


@dataclass(frozen=True, slots=True)
class Succession:
    installed: str = ""
    """The sha256 of the shipped file of what runs, where a ConfigMap wanted it."""
    trial: Trial | None = None
    refusal: Refusal | None = None


# Where it lies


def former(host: Host) -> PureWindowsPath:
    return hand_over_folder(host) / "former"


def successor(host: Host) -> PureWindowsPath:
    return hand_over_folder(host) / PROGRAM


def fetched(host: Host) -> PureWindowsPath:
    return hand_over_folder(host) / "fetched"


def _word(host: Host) -> PureWindowsPath:
    return hand_over_folder(host) / "well.json"


# What is remembered


def read(host: Host) -> Succession:
    try:
        known = json.loads(host.files.read(hand_over_memory(host)))
        return Succession(
            str(known["installed"]),
            _trial(known["trial"]) if known["trial"] else None,
            Refusal(**_fields(Refusal.__match_args__, known["refusal"])) if known["refusal"] else None,
        )
    except (NotFound, ValueError, KeyError, TypeError):
        return Succession()


def _trial(known: dict[str, Any]) -> Trial:
    given = {
        **_fields(Trial.__match_args__, known),
        "version": _version(known["version"]),
        "arguments": tuple(known["arguments"]),
        "stage": Stage(known["stage"]),
    }
    return Trial(**given)


def _fields(names: Iterable[str], known: dict[str, Any]) -> dict[str, Any]:
    """The two that hand over are of different releases: one of them may know of more, or of fewer."""
    return {name: known[name] for name in names if name in known}


def _version(known: dict[str, Any]) -> Version:
    return Version(known["release"], known["commit"])


def write(host: Host, known: Succession) -> None:
    text = json.dumps({"format": _FORMAT, **asdict(known)}, indent=1)
    host.files.write(hand_over_memory(host), text.encode(), PRIVATE_FILE)


# Its word


def own_version() -> Version:
    return Version(RELEASE, build().commit)


def give_word(host: Host) -> None:
    """If one is waited for: this one is well."""
    trial = read(host).trial
    if trial is not None and trial.stage is Stage.TRYING:
        host.files.write(_word(host), json.dumps(asdict(own_version())).encode(), PRIVATE_FILE)


def word(host: Host) -> Version | None:
    """Of whom there is one."""
    try:
        return _version(json.loads(host.files.read(_word(host))))
    except (NotFound, ValueError, KeyError, TypeError):
        return None


def take_word_back(host: Host) -> None:
    with suppress(NotFound):
        host.files.remove(_word(host))


# The service that does it


def begin(host: Host, known: Succession, trial: Trial) -> None:
    """The program that runs is put by before anything else, and all of it: it is what does it, and what comes
    back.
    """
    installation.lay_out_at(host.files, installation.program(host), former(host))
    write(host, replace(known, trial=trial))
    go_on(host)


def go_on(host: Host) -> None:
    """Sees that the service which does it is at work."""
    definition = ServiceDefinition(
        name=SERVICE,
        command=(str(former(host) / PROGRAM), *COMMAND),
        display_name="wmcb, until another release of it is well",
        description="Puts another wmcb.exe in the place of the one that runs, and that one back if need be.",
        recovery=Recovery(
            actions=((RecoveryAction.RESTART, _RESTART_AFTER_MILLISECONDS),) * 3, on_error_exit=True
        ),
    )
    # One that is on its way out is there again in a moment.
    with suppress(MarkedForDeletion, ServiceAlreadyRunning):
        if host.services.read(SERVICE) is None:
            host.services.create(definition)
        host.services.start(SERVICE)


def is_over(host: Host) -> None:
    """The service goes: when it has stopped, where it is the one that asks."""
    with suppress(NotFound, MarkedForDeletion):
        host.services.delete(SERVICE)


# By hand


def installed_by_hand(host: Host) -> None:
    """Somebody has put a program there himself: nobody takes it back, and nothing counts of what was before.

    Where it is the hand-over that puts it there, all goes on.
    """
    if host.files.observe(hand_over_folder(host)) is None:
        return
    trial = read(host).trial
    if trial is None or trial.stage is not Stage.PUTTING:
        _end(host)
        _forget(host)


def uninstalled(host: Host) -> None:
    """All of it goes; but the copy of a program, where that is what runs just now."""
    _end(host)
    _forget(host)  # first: by what is left nobody is to go on
    with suppress(NotFound, InUse):
        remove_tree(host.files, hand_over_folder(host))


def _forget(host: Host) -> None:
    with suppress(NotFound):
        host.files.remove(hand_over_memory(host))


def _end(host: Host) -> None:
    if host.services.read(SERVICE) is None:
        return
    stop(host, SERVICE, _STOP_SECONDS)  # in the middle of an installation it hears nothing
    is_over(host)


class Unfit(Exception):
    """The new one is not to stay. One line."""


class Asked(Exception):
    """To end: what is under way goes on at the next start."""


class HandingOver:
    """Puts another wmcb.exe in the place of the one that keeps the node, and that one back if it is not well.

    The program of a service of one use, run from a copy of the old one. Each stage is written down before it
    begins: cut off anywhere, it goes on when Windows has started again, and comes to an end with one of the
    two in the place, whole.
    """

    def __init__(self, host: Host, telling: Telling, wait: Callable[[float], bool]) -> None:
        """`wait` lets so many seconds pass; whether this is to end meanwhile."""
        self._host = host
        self._telling = telling
        self._wait = wait

    def run(self) -> None:
        """Raises HostError for what has to be tried again, and Asked."""
        known = read(self._host)
        if known.trial is not None:
            self._see_through(known, known.trial)
        self._tidy()
        is_over(self._host)

    def _see_through(self, known: Succession, trial: Trial) -> None:
        if trial.stage is not Stage.RETURNING:
            try:
                self._put(known, trial)
                self._try(trial)
            except (Unfit, HostError) as fault:
                trial = replace(trial, why=" ".join(str(fault).split()))
            else:
                self._end(Succession(installed=trial.sha256))
                text = f"wmcb {trial.version} has taken the place of {own_version()}"
                self._telling.tell(Event.SUCCEEDED, text)
                return
        self._return(known, trial)

    def _put(self, known: Succession, trial: Trial) -> None:
        """Raises Unfit, HostError."""
        if trial.times == _MOST_CUT_OFF:
            raise Unfit(f"it was cut off {trial.times} times")
        self._write(known, replace(trial, stage=Stage.PUTTING, times=trial.times + 1))
        self._stop()
        take_word_back(self._host)
        program = str(successor(self._host))
        done = self._host.processes.run([program, "daemon", "install"], seconds=_INSTALL_SECONDS)
        if done.exit_code != 0:
            said = redacted(done.errors.decode(errors="replace")).split("\n")
            last = next((line.strip() for line in reversed(said) if line.strip()), "nothing")
            raise Unfit(f"its installation ended with {done.exit_code}, and said: {last[-300:]}")
        self._stop()  # where Windows, whose recovery was due, has started the one before meanwhile
        self._write(known, replace(trial, stage=Stage.TRYING, times=trial.times + 1))

    def _try(self, trial: Trial) -> None:
        """Raises Unfit, HostError, Asked."""
        now = self._host.clock.monotonic
        deadline = now() + trial.within_seconds
        installation.have_it_run(self._host, min(_START_SECONDS, trial.within_seconds))
        pid = self._running()
        while word(self._host) != trial.version:
            if now() >= deadline:
                raise Unfit(
                    f"it did not come to follow the ConfigMap within {in_seconds(trial.within_seconds)}"
                )
            self._pause()
            self._running()
        stays = now() + STAYS_SECONDS
        while now() < stays:
            self._pause()
            if self._running() != pid:
                raise Unfit("it ended, and was started again")

    def _running(self) -> int | None:
        """Its process. Raises Unfit."""
        status = self._host.services.status(RESIDENT)
        if status.state is not ServiceState.RUNNING:
            raise Unfit(f"it ended (exit code {status.exit_code})")
        return status.pid

    def _pause(self) -> None:
        if self._wait(_LOOK_SECONDS):
            raise Asked

    def _return(self, known: Succession, trial: Trial) -> None:
        self._write(known, replace(trial, stage=Stage.RETURNING))
        self._stop()
        program = former(self._host) / PROGRAM
        place = installation.install(self._host, program, trial.arguments).place
        self._stop()  # the other one, where it had to be ended, and Windows has started it again meanwhile
        installation.have_it_run(self._host, _START_SECONDS)
        switch_path(self._host, place, self._telling.note)
        remove_others(self._host, place)
        why = f"wmcb {trial.version} was not well: {trial.why}"
        self._end(Succession(known.installed, refusal=Refusal(trial.sha256, trial.content, why)))
        text = f"{why}; {own_version()} is back, and the other not tried until the ConfigMap changes"
        self._telling.tell(Event.WENT_BACK, text)

    def _stop(self) -> None:
        stop(self._host, RESIDENT, _STOP_RESIDENT_SECONDS)

    def _write(self, known: Succession, trial: Trial) -> None:
        write(self._host, replace(known, trial=trial))

    def _end(self, known: Succession) -> None:
        """It has happened. Who runs now is told, so that it goes by this."""
        write(self._host, known)
        with suppress(HostError):
            self._host.services.tell_of_parameters(RESIDENT)

    def _tidy(self) -> None:
        """The copy of the program that was stays: it is what runs here."""
        take_word_back(self._host)
        with suppress(NotFound):
            self._host.files.remove(successor(self._host))
        with suppress(NotFound):
            remove_tree(self._host.files, fetched(self._host))
