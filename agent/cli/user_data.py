"""`wmcb --user-data FILE`: what Cluster API, or somebody else, wrote for cloud-init.

Its commands may change what comes after them, the join's configuration above all. So it is three runs of the
engine, each beside what the one before it made: all before the join, the join, all after it. Ahead of them
come boot hooks that fetch the user data itself, and the name that the machine is to have.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking, usable
from agent.cli.checking import ADMINISTRATOR_CHECK, ignored_checks, machine_findings, refuse_unfit
from agent.cli.engine_run import Told, display, recorded
from agent.cli.failure import DONE, GO_ON_AFTER_RESTART, BadInput, BadUsage, Failure, Interrupted
from agent.cli.given import given_file, refuse_another_kind
from agent.cli.ignition import IgnitionFetch
from agent.cli.inputs import asking_for, confirmation, not_foreseen
from agent.cli.join_configuration import as_worker, check_options
from agent.cli.joined_node import refuse_node_of_ignition
from agent.cli.kubeadm_commands import kubeadm_request
from agent.cli.kubelet_program import kubelet_file, kubelet_in_place
from agent.cli.machine import is_sandbox, open_machine
from agent.cli.options import CONFIG
from agent.cli.plan_documents import user_data_document
from agent.cli.streams import say, tell
from agent.cli.wanted import fit_for
from agent.engine import run as engine
from agent.engine.run import Done
from agent.host.port import Host
from agent.host.registry_contents import is_renamed
from agent.resources import kind_named
from agent.resources.command import failure_of, is_of_this_boot
from agent.sources import cloudconfig, ignition
from agent.sources.cloudconfig import Command, Join, Step, UserData, WrittenFile, instance_data
from agent.sources.node_names import THE_JOIN, THE_REST, USER_DATA
from agent.spec import Command as CommandWant
from agent.spec import File, HostName, Key, Note, Specification

_RESTART_AND_GO_ON, _GO_ON_AT_NEXT_BOOT, _RESTART = GO_ON_AFTER_RESTART, 1002, 1001
"""What cloudbase-init takes these exit codes for."""


def run(request: Request) -> int:
    """Its exit codes beside our own are cloudbase-init's: 1001 to 1003."""
    if request.has(options.DRY_RUN):
        raise not_foreseen(options.DRY_RUN.name)
    values.check(request)
    return _Run(request, open_machine(request)).carry_out()


class _Run:
    def __init__(self, request: Request, host: Host) -> None:
        self._request = request
        self._host = host
        self._asking = Asking()
        self._made: list[Done] = []
        self._notes: Sequence[Note] = ()
        self._failed: list[str] = []
        self._not_run: list[str] = []
        self._boot = str(host.clock.boot())
        self._call: Request | None = None

    def carry_out(self) -> int:
        if not self._host.access.is_administrator():
            findings = machine_findings(self._request, self._host, self._asking, None)
            refuse_unfit([each for each in findings if each.check == ADMINISTRATOR_CHECK], self._asking)
        given = given_file(self._request, options.USER_DATA, self._host)
        refuse_another_kind(given, options.USER_DATA, self._host)
        raw = given.read()
        title = f"{USER_DATA} {hashlib.sha256(raw).hexdigest()[:16]}"
        data = self._loaded(raw, {})
        if data.join is not None or data.awaited:
            refuse_node_of_ignition(self._request, self._host)
        try:
            return self._recorded(raw, data, title)
        except (Failure, KeyboardInterrupt) as failure:
            for line in self._not_run:
                tell(f"wmcb: {line}")
            if not any(done.plan.changes for done in self._made):
                raise
            raise _with_what_stays(failure) from failure

    def _recorded(self, raw: bytes, data: UserData, title: str) -> int:
        with recorded(self._host, "carry out user data", display(self._request)) as told:
            if self._is_done(title):
                self._boot_hooks(told, raw, data, title)
                return self._ended(DONE, "nothing to do: all of this user data was carried out before")
            if data.join is not None and not self._has_joined(data.join):
                check_options(self._asked_to_join(data.join))
                self._require_kubelet(data)
            return self._stages(told, raw, data, title)

    def _require_kubelet(self, data: UserData) -> None:
        """Before anything is done, unless something of it may be what brings kubelet.exe. Raises BadUsage."""
        place = kubelet_in_place(self._request)
        may_be_brought = data.awaited or any(
            isinstance(step, Command) or step.path == PureWindowsPath(place) for step in data.before
        )
        if self._request.has(options.KUBELET) or not may_be_brought:
            ignored = ignored_checks(self._request)
            quietly = replace(self._asking, ignored=ignored, notice=lambda _: None)
            kubelet_file(self._request, self._host, quietly, place)

    def _stages(self, told: Told, raw: bytes, data: UserData, title: str) -> int:
        if data.awaited:
            self._stage(told, data.before, title + THE_REST)
            data = self._with_awaited(raw, data)
        joins = data.join is not None and not self._has_joined(data.join)
        unfinished = title + (THE_JOIN if joins else THE_REST)
        if data.host_name and not self._is_called(told, data.host_name, unfinished):
            line = f"this machine is {data.host_name} when it has been restarted; then this is gone on with"
            return self._ended(_RESTART_AND_GO_ON, line)
        wanted = self._stage(told, data.before, unfinished)
        if self._asked_for(wanted) in (_RESTART, _RESTART_AND_GO_ON):
            line = "a command wants a restart; after it, this user data is gone on with"
            return self._ended(_RESTART_AND_GO_ON, line)
        if self._asked_for(wanted) == _GO_ON_AT_NEXT_BOOT:
            return self._ended(_GO_ON_AT_NEXT_BOOT, "a command wants to be gone on from at the next boot")
        if data.join is not None and not self._has_joined(data.join):
            self._join(told, data.join, title + THE_REST)
        wanted = self._stage(told, [*data.after, *_used_once(data.before)], title)
        node = ": this machine is a node" if data.join else ""
        return self._ended(self._asked_for(wanted) or DONE, f"this user data has been carried out{node}")

    def _ended(self, exit_code: int, line: str) -> int:
        if self._request.wants_json:
            remarks = [line, *self._failed, *self._not_run]
            say(user_data_document(self._made, self._notes, remarks, exit_code))
        else:
            say("\n  ".join([line, *self._not_run]))
        return exit_code

    def _make_so(
        self, told: Told, specification: Specification, confirm: Callable[[], None] | None = None
    ) -> Done:
        done = engine.make_so(self._host, specification, told, confirm, beside=True)
        self._made.append(done)
        changed = [change.target.key for change in done.plan.changes]
        self._tell_failed(told, changed)
        if is_sandbox(self._request):
            self._not_run += [
                f"{key} was not run, but written down as run: a sandbox has none of Windows' shells"
                for key in changed
                if key.kind == CommandWant.kind and not failure_of(self._host, key.name)
            ]
        return done

    def _tell_failed(self, told: Told, keys: Iterable[Key]) -> None:
        """What failed ends nothing, as with cloudbase-init; but who misses a node looks for it."""
        for key in keys:
            if key.kind == CommandWant.kind and (fault := failure_of(self._host, key.name)):
                self._asking.warn(fault)
                told.log.write(f"warning: {fault}")
                self._failed.append(fault)

    def _is_called(self, told: Told, name: str, title: str) -> bool:
        """Commands, and the join, may make something of its name: it has that before any of them."""
        host, want = self._host, HostName(name)
        is_so = host.facts.host_name().upper() == name.upper() and not is_renamed(host.registry)
        if is_so and not any(each.record.target.key == want.key for each in engine.status(host).resources):
            return True
        return not self._make_so(told, Specification.of([want], (), title)).awaiting

    def _boot_hooks(self, told: Told, raw: bytes, data: UserData, title: str) -> None:
        self._stage(told, _hooks(data.before), title)
        if data.awaited and all(map(self._host.files.observe, data.awaited)):
            self._stage(told, _hooks(self._with_awaited(raw, data).before), title)

    def _with_awaited(self, raw: bytes, data: UserData) -> UserData:
        return self._loaded(raw, {path: self._host.files.read(path) for path in data.awaited})

    def _is_done(self, title: str) -> bool:
        """A command that is to be run again at another boot has not been carried out at this one."""
        found = engine.status(self._host)
        again = [
            each
            for each in found.resources
            if each.found is None and each.record.target.key.kind == CommandWant.kind
        ]
        return found.title == title and not found.interrupted and not again

    def _loaded(self, raw: bytes, included: Mapping[PureWindowsPath, bytes]) -> UserData:
        name = self._request.value(options.USER_DATA, "")
        fetch = IgnitionFetch(self._request, self._asking.notice)
        if raw.lstrip().startswith(b"{"):
            outcome = _of_ignition(
                name, raw, fetch, values.largest_file(self._request, ignition.LARGEST_FILE)
            )
        else:
            outcome = cloudconfig.load(name, raw, self._metadata(), fetch, included)
        data = usable(outcome.user_data, outcome.report, self._asking)
        self._notes = data.notes
        for note in self._notes:
            self._asking.warn(f"{note.subject}: {note.reason}")
        return data

    def _metadata(self) -> Mapping[str, object]:
        name = self._host.facts.host_name()
        # By both names, as vSphere's metadata has it: cloudbase-init has given the machine what they say.
        known = {"local-hostname": name, "hostname": name}
        if not self._request.has(options.META_DATA):
            return instance_data(known)
        given = given_file(self._request, options.META_DATA, self._host)
        try:
            told = json.loads(given.read())
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise BadInput.of(options.META_DATA.name, given.shown, "it is no JSON object")
        return instance_data({**known, **told})

    def _stage(self, told: Told, steps: Iterable[Step], title: str) -> list[CommandWant]:
        """Its commands, of which some may have been run before."""
        listed = list(steps)
        existing = {path: self._host.files.read(path) for path in self._appended(listed)}
        specification = Specification.of(cloudconfig.wants(listed, existing, boot=self._boot), (), title)
        self._make_so(told, specification)
        return [want for want in specification.wants if isinstance(want, CommandWant)]

    def _appended(self, steps: Sequence[Step]) -> list[PureWindowsPath]:
        paths = cloudconfig.UserData(before=tuple(steps)).appended_to
        return [path for path in paths if self._host.files.observe(path) is not None]

    def _asked_for(self, commands: Iterable[CommandWant]) -> int:
        """What the exit codes of commands ask cloudbase-init for; the most that any of them does.

        One of an earlier boot has got what it asked for.
        """
        kind = kind_named(CommandWant.kind)
        found = [kind.observe(self._host, want.name, {}) or {} for want in commands]
        codes = [each.get("exit_code") for each in found if is_of_this_boot(self._host, each.get("boot"))]
        for code in (_RESTART_AND_GO_ON, _RESTART, _GO_ON_AT_NEXT_BOOT):
            if code in codes:
                return code
        return 0

    def _has_joined(self, join: Join) -> bool:
        """Its configuration went because of that; what comes after the join may still have to be done."""
        if join.configuration is None or self._host.files.observe(join.configuration) is not None:
            return False
        found = engine.status(self._host).resources
        made = {each.record.target.key for each in found if each.found is not None}
        return join.sentinel is not None and Key(File.kind, str(join.sentinel)) in made

    def _join(self, told: Told, join: Join, title: str) -> None:
        """As kubeadm would be called, in this process. Raises BadUsage."""
        asked = self._asked_to_join(join)
        own = {name: value for name, value in self._request.values.items() if name not in _NOT_OF_THE_JOIN}
        values = {**own, **asked.values}
        if join.configuration is not None:
            values[CONFIG.name] = str(join.configuration)
        request = asked.with_values(values)
        asking = replace(asking_for(request, self._host), notice=self._asking.notice)
        if asking.join is not None and asking.join.dry_run:
            raise BadInput(
                "a JoinConfiguration with dryRun: true joins nothing; leave that out", where="dryRun"
            )
        specification = replace(fit_for(request, self._host, asking), title=title)
        confirm = confirmation(request, self._host, asking)
        self._make_so(told, specification, confirm)

    def _asked_to_join(self, join: Join) -> Request:
        """Return what the call of kubeadm join asks for; what has no effect is said once. Raises BadUsage."""
        if self._call is not None:
            return self._call
        self._call = asked = as_worker(kubeadm_request(["join", *join.arguments]), self._asking.notice)
        if asked.has(options.DRY_RUN):
            text = f"kubeadm join with {options.DRY_RUN.name} joins nothing; leave that out"
            raise BadUsage(text, where=options.DRY_RUN.name)
        return asked


def _with_what_stays(failure: Failure | KeyboardInterrupt) -> Failure:
    """What failed is taken back, and that alone is what it says."""
    then = "what this user data did before that stays, and the next run goes on from there"
    if isinstance(failure, KeyboardInterrupt):
        return Interrupted(f"interrupted; {then}")
    text = f"{failure}; {then}"
    return type(failure)(text, where=failure.where, others=failure.others, details=failure.details)


def _of_ignition(name: str, raw: bytes, fetch: IgnitionFetch, largest_file: int) -> cloudconfig.Outcome:
    outcome = ignition.load(name, raw, fetch, ignition.Limits.of_files(largest_file))
    if outcome.configuration is not None and not cloudconfig.recognised(outcome.configuration):
        raise BadInput.of(
            options.USER_DATA.name,
            name,
            f"it is an Ignition, and not Cluster API's; {options.IGNITION.name} takes a worker's",
        )
    return cloudconfig.from_ignition(outcome, fetch)


_NOT_OF_THE_JOIN = (options.USER_DATA.name, options.META_DATA.name)


def _hooks(steps: Iterable[Step]) -> list[Command]:
    return [step for step in steps if isinstance(step, Command) and step.each_boot]


def _used_once(steps: Iterable[Step]) -> list[WrittenFile]:
    """Files that go when the machine has joined: bootstrap tokens are in them."""
    return [step for step in steps if isinstance(step, WrittenFile) and step.until is not None]
