"""Puts another wmcb.exe in the place of the one that keeps the node, and that one back if it is not well.

The program of a service of one use, run from a copy of the old one. Each stage is written down before it
begins: cut off anywhere, it goes on when Windows has started again, and comes to an end with one of the two
in the place, whole.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from agent.amounts import in_seconds
from agent.host.errors import HostError, NotFound
from agent.host.port import Host, ServiceState
from agent.redaction import redacted
from agent.resources.stopping import stop
from agent.resources.trees import remove_tree
from service import installation
from service.program import SERVICE as RESIDENT
from service.program_folder import PROGRAM
from service.succession import Refusal, Stage, Succession, Trial
from service.telling import Event, Telling
from service.versions import remove_others, switch_path

STAYS_SECONDS = 5.0
"""So long it has to go on when it has said that it is well."""
_MOST_CUT_OFF = 3
_STOP_RESIDENT_SECONDS = 30.0
_START_SECONDS = 60.0
_INSTALL_SECONDS = 300.0
_LOOK_SECONDS = 0.2


class Unfit(Exception):
    """The new one is not to stay. One line."""


class Asked(Exception):
    """To end: what is under way goes on at the next start."""


class HandingOver:
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
        text = (
            f"{why}; {own_version()} is back, and the other not tried until the ConfigMap changes"
        )
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
