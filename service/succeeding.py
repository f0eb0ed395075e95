"""Whether another wmcb.exe is to keep the node, as the ConfigMap has it: fetched, asked what it is, begun.

What begins then is done by a service of one use (succession.py), which runs from a copy of this program: it
can stop this one, and put it back.
"""

import json
from dataclasses import dataclass, replace

from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.protection import PROGRAM_FILE
from agent.sources.node_configuration.model import NodeConfiguration, OwnProgram, Unobtainable, turn
from agent.spec import Artifact
from service import installation, succession
from service.contents import Contents
from service.desired import Desired
from service.errors import told
from service.program_folder import hand_over_folder
from service.standing import State
from service.succession import Refusal, Succession, Trial, Version
from service.telling import Event, Telling

_SAYS_WITHIN_SECONDS = 60.0
_AGAIN_SECONDS = 300.0
_SOON_SECONDS = 5.0
_LONGEST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Lag:
    """Why another program than the wanted one keeps the node."""

    state: State
    text: str = ""
    turn: float | None = None
    again_seconds: float | None = None
    is_under_way: bool = False
    """Nothing else is begun now."""


class Succeeding:
    """Works in the one thread that decides."""

    def __init__(self, host: Host, contents: Contents, telling: Telling) -> None:
        """`contents` are its own, so that nothing else is in the way of what is fetched."""
        self._host = host
        self._contents = contents
        self._telling = telling
        self._tried_at: float | None = None

    def see_to(self, wanted: Desired, node: str) -> Lag | None:
        """None where the wanted one runs, or none is wanted. Raises HostError."""
        known = succession.read(self._host)
        if known.trial is not None:
            succession.go_on(self._host)
            return _tried(known.trial.version)
        document = wanted.with_program
        if document is None or document.program is None or known.installed == document.program.sha256:
            self._telling.is_over(Event.REFUSED)
            return None
        if known.refusal is not None and (known.refusal.sha256, known.refusal.content) == (
            document.program.sha256,
            wanted.content,
        ):
            return Lag(State.FAILED, known.refusal.why)
        return self._wait(document, node) or self._begin(known, document.program, wanted.content)

    def try_again(self) -> None:
        """What could not be fetched."""
        self._tried_at = None

    def give_word(self) -> None:
        """This one follows the ConfigMap: if that is waited for."""
        succession.give_word(self._host)

    def _wait(self, document: NodeConfiguration, node: str) -> Lag | None:
        now = self._host.clock.now()
        mine = turn(node, document.rollout, now)
        if mine.has_come:
            return None
        # Somebody may set the clock.
        again = None if mine.at is None else min(max(0.0, mine.at - now), _LONGEST_SECONDS)
        return Lag(State.PENDING, turn=mine.at, again_seconds=again)

    def _begin(self, known: Succession, program: OwnProgram, content: str) -> Lag | None:
        try:
            if not self._is_at_hand(program):
                return Lag(State.PENDING, "another wmcb.exe is fetched")
        except Unobtainable as fault:
            text = told([program.origin.error(f"its content cannot be fetched: {fault}")])
            self._telling.tell_once(Event.REFUSED, Event.REFUSED, f"{text}; wmcb stays as it is")
            return Lag(State.REFUSED, text, again_seconds=_AGAIN_SECONDS)
        self._telling.is_over(Event.REFUSED)
        version = self._said()
        if not isinstance(version, Version):
            why = f"the wmcb.exe with sha256 {program.sha256[:12]} does not say what it is ({version})"
            self._telling.tell(Event.WENT_BACK, f"{why}; not tried until the ConfigMap is another")
            self._forget_file(replace(known, refusal=Refusal(program.sha256, content, why)))
            return Lag(State.FAILED, why)
        if version == succession.own_version():
            self._forget_file(replace(known, installed=program.sha256, refusal=None))
            return None
        arguments = tuple(installation.arguments(self._host))
        trial = Trial(program.sha256, version, content, program.within_seconds, arguments)
        self._telling.note(f"wmcb {version} takes the place of {succession.own_version()}, on trial")
        succession.begin(self._host, known, trial)
        return _tried(version)

    def _is_at_hand(self, program: OwnProgram) -> bool:
        """Proven, and where it can be run. Raises Unobtainable."""
        host = self._host
        folder, place = hand_over_folder(host), succession.successor(host)
        installation.ensure_folder(host.files, folder)
        there = host.files.examine(place, content=True) if program.signer is None else None
        if there is not None and there.sha256 == program.sha256:
            return True
        self._try_again_in_time()
        digest = f"sha256:{program.sha256}"
        artifact = Artifact("wmcb.exe", program.source, place, digest, signer=program.signer)
        self._contents.resolved(artifact)
        if not self._contents.at_hand([artifact], {program.sha256}):
            return False
        host.files.put(place, succession.fetched(host) / program.sha256, PROGRAM_FILE)
        return True

    def _try_again_in_time(self) -> None:
        now = self._host.clock.monotonic()
        if self._tried_at is None or now - self._tried_at >= _AGAIN_SECONDS:
            self._contents.try_again()
            self._tried_at = now

    def _said(self) -> Version | str:
        """What it is by its own word, or why it gives none: what cannot even do that is not tried."""
        question = [str(succession.successor(self._host)), "version", "--output", "json"]
        try:
            done = self._host.processes.run(question, seconds=_SAYS_WITHIN_SECONDS)
        except HostError as fault:
            return str(fault)
        try:
            said = json.loads(done.output)
            return Version(str(said["release"]), said["commit"] and str(said["commit"]))
        except (ValueError, LookupError, TypeError):
            return f"it ended with exit code {done.exit_code}"

    def _forget_file(self, known: Succession) -> None:
        succession.write(self._host, known)
        self._host.files.remove(succession.successor(self._host))
        self._contents.clear()


def _tried(version: Version) -> Lag:
    """When that is over it is told; and if whoever does it is killed meanwhile, nobody tells."""
    text = f"wmcb {version} is tried"
    return Lag(State.PENDING, text, again_seconds=_SOON_SECONDS, is_under_way=True)
