"""Makes a node what OpenShift's operator wants of it: the ConfigMap of the version that its Node asks for.

As the operator's own daemon does it: first its variables, which take a restart of the machine that the
operator sees to; then its services; and when the Node is Ready, it is told which version it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from agent.backoff import Backoff
from agent.engine.inventory import Inventory
from agent.engine.machine_lock import Busy, held_by_service
from agent.engine.planning import Action, Plan
from agent.engine.run import TakenBack
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.files import FileState
from agent.host.port import Host
from agent.kube.access import Access
from agent.kube.answers import Json, Object, at, is_ready, items_at, text_at, texts_at
from agent.kube.client import NODES, Client, node
from agent.kube.transport import Limits
from agent.sources.services_configmap.model import (
    DESIRED_VERSION,
    NAME_PREFIX,
    REBOOT_REQUIRED,
    VERSION,
    ServicesConfigMap,
)
from agent.spec import EnvironmentVariable, Key
from agent.spec.machine import TrustedCertificate
from service import operator_services
from service.cluster import Asking, Seen, Unknown, Watcher, only, proxies_of
from service.cluster import access_by as access_of_file
from service.errors import Refused, why
from service.keeping import Wishes
from service.operator_services import (
    OVERLAY_CERTIFICATES,
    remove_imported,
    remove_old_overlay_certificates,
    restrict,
)
from service.reporting import Marks
from service.telling import Event, Telling
from service.watching import LettingGo
from service.work_queue import Signals, Source

_PATIENCE_SECONDS = 30.0
_SAME_AGAIN_SECONDS = 120.0
"""Scripts are run each time, and what they print may be another each time."""
_CHANGES_ALL_THE_TIME = {
    "metadata": ("resourceVersion", "managedFields"),
    "status": ("conditions", "images", "volumesInUse", "volumesAttached"),
}
_TRUSTED = "trusted_certificate"
_FROM_ELSEWHERE = (
    "this service was started with another {names} than {place} has, also after a restart for that: it comes "
    r"from elsewhere than the machine's variables, such as HKEY_USERS\S-1-5-18\Environment or the value "
    "Environment of the service's own key; remove it there, and restart the machine"
)
_UNREACHABLE, _NOT_DONE, _FILES = "unreachable", "not done", "other files"
_RESTRICTED, _IMPORTED = "restricted kubeconfig", "imported certificates"


def access_by(host: Host, path: PureWindowsPath, notice: Callable[[str], None]) -> Access:
    """As whom a kubeconfig lets it ask. Raises Failed, HostError, Unknown.

    `notice` takes a line where users could change the file, which it is closed to first.
    """
    if restrict(host, path):
        notice(
            f"{path}: users could change the operator's kubeconfig; it is restricted to SYSTEM and "
            f"administrators now; remove their right to write to {path.parent} as well"
        )
    return access_of_file(host, path, f"{path} is not there, or names a certificate that is not")


def client_of(
    host: Host, access: Access, seconds: float, notice: Callable[[str], None] = lambda _: None
) -> Client:
    return Client(access, proxies=proxies_of(host), limits=Limits(patience=seconds), notice=notice)


def find_node(host: Host, client: Client) -> Object | None:
    """Return the Node of this machine, found as OpenShift's daemon finds it: by its addresses.

    Where the one of its host name has another's addresses, all are looked at. Raises Failed.
    """
    own = {each.address for each in host.facts.addresses()}
    name = host.facts.host_name().lower()
    by_name = client.find(node(name))
    if by_name is not None and own & _addresses(by_name):
        return by_name
    found = (each for each in client.list(NODES).items if own & _addresses(each))
    return next(found, None)


def name_of(there: Object) -> str:
    return text_at(there, "metadata", "name")


def _addresses(there: Object) -> set[Json]:
    return {str(at(each, "address")) for each in items_at(there, "status", "addresses")}


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing as a whole, since a Node may ask for another version at any moment."""

    version: str = ""
    place: str = ""
    """The namespace and name of its ConfigMap."""
    config_map: Seen | None = None
    """None until anything is known of it."""


class OperatorCluster(Asking):
    """The machine's Node, and the ConfigMap of the version that it asks for."""

    def __init__(self, host: Host, kubeconfig: PureWindowsPath, namespace: str, signals: Signals) -> None:
        super().__init__(host, signals, Source.CLUSTER)
        self._kubeconfig = kubeconfig
        self._namespace = namespace
        self._name = ""
        self._of_node: Watcher | None = None
        self._of_config_map: Watcher | None = None
        self.node: Object | None = None
        """As much of it as does not change all the time."""
        self.is_ready = False
        self.asked = Asked()
        self.restricted = ""
        """Says that users could change the kubeconfig until it was read."""

    @property
    def trouble(self) -> str | None:
        watchers = [each for each in (self._of_node, self._of_config_map) if each is not None]
        return next((each.trouble for each in watchers if each.trouble), None)

    def follow(self) -> None:
        """From now on; nothing happens to what is followed already."""
        if self._of_node is None:
            self._of_node = Watcher(self, lambda name: (NODES, name), only(self._take_node))

    def identity(self) -> tuple[str, Access]:
        access = access_by(self._host, self._kubeconfig, self._take_restricted)
        if not self._name:
            with client_of(self._host, access, _PATIENCE_SECONDS) as client:
                there = find_node(self._host, client)
            if there is None:
                raise Unknown("no Node has an address of this machine yet")
            self._name = name_of(there)
        return self._name, access

    def _take_restricted(self, line: str) -> None:
        self.restricted = line
        self.tell()

    def _take_node(self, name: str, thing: Object | None) -> None:  # noqa: ARG002 - it is always that one
        if thing is None:
            return  # its kubelet makes it anew
        version = text_at(thing, "metadata", "annotations", DESIRED_VERSION)
        if version != self.asked.version:
            self._follow_version(version)
        seen = (_lasting(thing), is_ready(thing))
        if seen != (self.node, self.is_ready):
            self.node, self.is_ready = seen
            self.tell()

    def _follow_version(self, version: str) -> None:
        if self._of_config_map is not None:
            self._of_config_map.stop()
        self._of_config_map = None
        name = f"{NAME_PREFIX}{version}"
        self.asked = asked = Asked(version, f"{self._namespace}/{name}")
        if version:
            path = f"/api/v1/namespaces/{self._namespace}/configmaps"
            take = only(lambda _, thing: self._take_config_map(asked, thing))
            self._of_config_map = Watcher(self, lambda _: (path, name), take)

    def _take_config_map(self, asked: Asked, thing: Object | None) -> None:
        self.asked = replace(asked, config_map=Seen(thing))
        self.tell()


def _lasting(thing: Object) -> dict[str, Json]:
    lasting = dict(thing)
    for place, names in _CHANGES_ALL_THE_TIME.items():
        if isinstance(held := thing.get(place), dict):
            lasting[place] = {name: value for name, value in held.items() if name not in names}
    return lasting


class Operated(Wishes):
    """Works in the one thread that decides.

    The operator knows no pause, and what it wants stays also where a kubelet has become ill. A run that was
    cut off is tried again after growing pauses.
    """

    def __init__(
        self,
        host: Host,
        cluster: OperatorCluster,
        marks: Marks,
        telling: Telling,
        bundle: PureWindowsPath | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`bundle` is a file with certificates that the machine is to believe, which the operator brings;
        `environment` is what this process was started with: what it lacks, all that runs lacks.
        """
        self._host = host
        self._cluster = cluster
        self._marks = marks
        self._telling = telling
        self._bundle = bundle
        self._environment = {name.upper(): value for name, value in environment.items()}
        self._made_of: object = None
        self._tried: object = None
        self._made_at = 0.0
        self._backoff = Backoff(10.0, 600.0)
        self._not_before = 0.0
        self._needs_restart = False
        """Before services are made."""

    @property
    def trouble(self) -> str | None:
        return self._cluster.trouble

    @property
    def files(self) -> Sequence[PureWindowsPath]:
        return () if self._bundle is None else (self._bundle,)

    def look(self, inventory: Inventory) -> None:  # noqa: ARG002 - the operator says it without that
        self._cluster.follow()
        if restricted := self._cluster.restricted:
            self._telling.tell_once(_RESTRICTED, Event.REPAIRED, restricted)
        if (trouble := self._cluster.trouble) is None:
            if self._telling.is_over(_UNREACHABLE):
                self._telling.note("the operator's cluster can be reached again")
        elif not self._telling.stands(_UNREACHABLE):
            text = f"the operator's cluster cannot be followed: {trouble}; until then all stays as it is"
            self._telling.tell_once(_UNREACHABLE, Event.UNREACHABLE, text)

    def adopt(self, inventory: Inventory, let_go: Callable[[], None]) -> bool:  # noqa: ARG002
        """Raises Busy also between two stages; Unfinished and HostError before anything is changed."""
        self.again_seconds = None
        node, asked = self._cluster.node, self._cluster.asked
        if node is None or asked.config_map is None:
            return False
        if at(node, "metadata", "annotations", REBOOT_REQUIRED) is not None:
            self._made_of = None  # when that is over all is looked at anew
            return False
        sight, now = (node, asked, self._sight_of_bundle()), self._host.clock.monotonic()
        if sight == self._made_of:
            self._tell_version(asked)
            if now < self._made_at + _SAME_AGAIN_SECONDS:
                return False
        if sight != self._tried:
            self._tried, self._not_before = sight, 0.0
            self._backoff.reset()
        if now < self._not_before:
            self.again_seconds = self._not_before - now
            return False
        progress = _Changes(let_go)
        try:
            is_changed = self._make_so(node, asked, progress)
        except Busy:
            self._record_part(asked, progress)
            raise
        except Refused as fault:
            # A script is run when the services before it have been made.
            changes = f"before that: {', '.join(progress.changes)}" if progress.changes else ""
            self._fail(Event.REFUSED, f"{fault}; {changes or 'nothing was changed'}")
            return bool(progress.changes)
        except TakenBack as failure:
            self._fail(Event.FAILED, f"ConfigMap {asked.place} could not be made so: {why(failure)}")
            return True
        self._made_of, self._made_at = sight, self._host.clock.monotonic()
        self._not_before = 0.0
        self._backoff.reset()
        return is_changed

    def _make_so(self, node: Object, asked: Asked, progress: _Changes) -> bool:
        """Whether anything was changed. Raises Refused, TakenBack."""
        found, believed = _configuration(asked), operator_services.believed_by(self._host, self._bundle)
        operator_services.make_environment(self._host, found, believed, progress)
        self._needs_restart = self._believes_others(progress) or self._lacks(found, progress)
        if self._needs_restart:
            self._ask_for_restart()
            return bool(progress.changes)
        operator_services.make_services(
            self._host, found, found.services, node, progress, believed, is_whole=True, is_resident=True
        )
        self._telling.is_over(_NOT_DONE)
        # After that: what left the bundle is given back there, as it was before wmcb.
        self._remove_imported(believed, progress)
        if progress.changes:
            self._telling.tell(Event.APPLIED, f"{found.name} was made so: {', '.join(progress.changes)}")
        self._tell_of_files(found)
        if old := remove_old_overlay_certificates(self._host):
            self._telling.note(f"removed {len(old)} old client certificates from {OVERLAY_CERTIFICATES}")
        self._needs_restart = self._believes_others(progress)
        if self._needs_restart:
            self._ask_for_restart()
        self._tell_version(asked)
        return bool(progress.changes)

    def _record_part(self, asked: Asked, progress: _Changes) -> None:
        """Keep what was changed before a command was given way to: the next attempt finds it unchanged."""
        if progress.changes:
            self._believes_others(progress)
            text = f"ConfigMap {asked.place} was applied in part: {', '.join(progress.changes)}"
            self._telling.tell(Event.APPLIED, f"{text}; the rest follows when a wmcb command has ended")

    def _remove_imported(self, bundle: Sequence[TrustedCertificate], progress: _Changes) -> None:
        """A list that cannot be used keeps no node from working: any user may put one into an open folder.

        Raises Busy.
        """
        try:
            with held_by_service(self._host):
                remove_imported(self._host, bundle, lambda each: progress.changed(each.key, Action.REMOVE))
            self._telling.is_over(_IMPORTED)
        except Refused as fault:
            self._telling.tell_once(_IMPORTED, Event.NOT_REPAIRED, str(fault))

    def _ask_for_restart(self) -> None:
        self._telling.tell_once(
            _NOT_DONE,
            Event.PENDING,
            "variables or root certificates were changed: the operator is asked to restart this machine",
        )
        self._marks.put({REBOOT_REQUIRED: ""})

    def _sight_of_bundle(self) -> FileState | None:
        """What is wrong with it is told by whoever reads it."""
        with suppress(HostError):
            return None if self._bundle is None else self._host.files.observe(self._bundle)
        return None

    def _lacks(self, found: ServicesConfigMap, progress: _Changes) -> bool:
        """Whether what runs has other variables than it is to have. Raises Refused where no restart helps:
        the operator empties the Node for each.
        """
        folder, boot = StateFolder.of(self._host), str(self._host.clock.boot()).encode()
        wanted = {name.upper(): value for name, value in found.environment.items()}
        wanted |= {name.upper(): "" for name in found.absent}
        lacking = [name for name, value in wanted.items() if self._environment.get(name, "") != value]
        if not lacking:
            folder.remove(folder.variables)
            return False
        asked = folder.read(folder.variables)
        if asked not in (None, boot) and not progress.has_changed(EnvironmentVariable.kind):
            raise Refused(_FROM_ELSEWHERE.format(names=", ".join(lacking), place=found.name))
        folder.ensure()
        folder.write(folder.variables, boot)
        return True

    def _believes_others(self, progress: _Changes) -> bool:
        """Than what runs does, since this start of Windows: by a note, for it may be long until the operator
        can be told.
        """
        folder, boot = StateFolder.of(self._host), str(self._host.clock.boot()).encode()
        if progress.has_changed(_TRUSTED):
            folder.ensure()
            folder.write(folder.certificates, boot)
        return folder.read(folder.certificates) == boot

    def _tell_version(self, asked: Asked) -> None:
        told = text_at(self._cluster.node or {}, "metadata", "annotations", VERSION)
        if self._cluster.is_ready and told != asked.version and not self._needs_restart:
            self._marks.put({VERSION: asked.version})

    def _tell_of_files(self, found: ServicesConfigMap) -> None:
        if lines := list(operator_services.other_files(self._host, found)):
            self._telling.tell_once(_FILES, Event.NOT_REPAIRED, "; ".join(lines))
        else:
            self._telling.is_over(_FILES)

    def _fail(self, event: Event, text: str) -> None:
        self._telling.tell_once(_NOT_DONE, event, text)
        self.again_seconds = self._backoff.next()
        self._not_before = self._host.clock.monotonic() + self.again_seconds


def _configuration(asked: Asked) -> ServicesConfigMap:
    if asked.config_map is None or asked.config_map.thing is None:
        raise Refused(f"there is no ConfigMap {asked.place}")
    return operator_services.configuration_of(
        f"ConfigMap {asked.place}", texts_at(asked.config_map.thing, "data")
    )


class _Changes(LettingGo):
    """Remembers, besides, what is changed."""

    def __init__(self, let_go: Callable[[], None]) -> None:
        super().__init__(let_go)
        self._kinds: set[str] = set()
        self.changes: list[str] = []

    def has_changed(self, kind: str) -> bool:
        return kind in self._kinds

    def planned(self, plan: Plan) -> None:
        super().planned(plan)
        for each in plan.changes:
            self.changed(each.target.key, each.action)

    def changed(self, key: Key, action: Action) -> None:
        self._kinds.add(key.kind)
        self.changes.append(f"{action.value} {key}")
