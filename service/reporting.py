"""Tells the cluster what became of its ConfigMap: by annotations of the machine's own Node, and a few events.

By a thread of its own: whoever decides waits for no server. Only what is another than before is told, and
what could not be told is told later, as it is then.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.backoff import Backoff
from agent.engine.inventory import Inventory
from agent.host.port import Clock, Host
from agent.kube.client import Client, node
from agent.kube.transport import Limits
from agent.redaction import redacted
from service.cluster import Asking, Cluster, Unknown, identity, kubelet_of, proxies_of

T = TypeVar("T")

STATE = "wmcb/state"
ERROR = "wmcb/error"
APPLIED = "wmcb/applied"
VERSION = "wmcb/applied-version"
RELEASE = "wmcb/release"

_EVENTS = "/api/v1/namespaces/default/events"
_LONGEST = 1000
_PATIENCE_SECONDS = 20.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 300.0
_REASONS = {
    "applied": ("ConfigMapApplied", "Normal"),
    "pending": ("ConfigMapPending", "Normal"),
    "paused": ("ConfigMapPaused", "Normal"),
    "refused": ("ConfigMapRefused", "Warning"),
    "failed": ("ConfigMapFailed", "Warning"),
    "missing": ("ConfigMapMissing", "Warning"),
}


@dataclass(frozen=True, slots=True)
class Report:
    subject: str
    """What is followed."""
    state: str
    error: str = ""
    applied: str = ""
    version: str = ""
    release: str = ""
    """Of the wmcb that tells it."""

    def annotations(self) -> Mapping[str, str | None]:
        """None for one that is not to be there."""
        return {
            STATE: self.state,
            ERROR: redacted(self.error)[:_LONGEST] or None,
            APPLIED: self.applied or None,
            VERSION: self.version or None,
            RELEASE: self.release or None,
        }


def withdraw(host: Host, inventory: Inventory) -> None:
    """The Node says nothing any more of what was followed. Raises Failed, HostError, Unknown."""
    kubelet = kubelet_of(inventory)
    if kubelet is None:
        raise Unknown("which node this machine is is not known here")
    name, access = identity(host, kubelet)
    with Client(access, proxies=proxies_of(host), limits=Limits(patience=_PATIENCE_SECONDS)) as client:
        annotations = dict.fromkeys((STATE, ERROR, APPLIED, VERSION, RELEASE))
        client.patch(node(name), {"metadata": {"annotations": annotations}})


class Postman(Generic[T]):
    """Delivers the latest of what is put, by any thread; again and again until that is done."""

    def __init__(self, deliver: Callable[[T], None]) -> None:
        self._deliver = deliver
        self._waiting = queue.SimpleQueue[T]()
        self._beginning = threading.Lock()
        self._works = False

    def put(self, what: T) -> None:
        with self._beginning:
            self._waiting.put(what)
            if not self._works:
                self._works = True
                threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        """Until all is delivered: a thread that only waits costs a megabyte."""
        while (what := self._next()) is not None:
            backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
            while not self._is_delivered(what):
                # Whoever watches the same server tells of that.
                what = self._newer(what, backoff.next())

    def _is_delivered(self, what: T) -> bool:
        try:
            self._deliver(what)
        except Exception:  # noqa: BLE001 - whatever it is, what comes later is to be told
            return False
        return True

    def _next(self) -> T | None:
        with self._beginning:
            try:
                return self._waiting.get_nowait()
            except queue.Empty:
                self._works = False
                return None

    def _newer(self, what: T, seconds: float) -> T:
        try:
            return self._waiting.get(timeout=seconds)
        except queue.Empty:
            return what


class Marks:
    """Annotations of the Node, each until it is told."""

    def __init__(self, cluster: Asking) -> None:
        self._cluster = cluster
        self._untold: Mapping[str, str | None] = {}
        self._telling = threading.Lock()
        self._postman = Postman(self._write)

    def put(self, annotations: Mapping[str, str | None]) -> None:
        """None for one that is not to be there."""
        with self._telling:
            self._untold = {**self._untold, **annotations}
            self._postman.put(self._untold)

    def _write(self, annotations: Mapping[str, str | None]) -> None:
        name, access = self._cluster.identity()
        proxies, once = self._cluster.proxies(), Limits(patience=0.0)
        with Client(access, proxies=proxies, limits=once) as client:
            client.patch(node(name), {"metadata": {"annotations": dict(annotations)}})
        with self._telling:
            left = self._untold.items() - annotations.items()
            self._untold = dict(left)


class Reports:
    """Of what is followed, as far as it is another than before."""

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._postman = Postman(self._tell)
        self._put: tuple[Report, str] | None = None
        """To which Node, by its uid: one that was made anew knows nothing of it."""
        self._told: tuple[Mapping[str, str | None], str] | None = None

    def put(self, report: Report) -> None:
        there = self._cluster.node
        put = (report, there.uid if there is not None else "")
        if put != self._put:
            self._put = put
            self._postman.put(report)

    def again(self) -> None:
        """What could not be told until now, at once: the cluster is heard again."""
        if self._put is not None:
            self._postman.put(self._put[0])

    def _tell(self, report: Report) -> None:
        """Raises Failed, HostError, Unknown."""
        there = self._cluster.node
        if there is None:
            raise Unknown("there is no Node to tell it by")
        wanted, told = report.annotations(), self._told
        known: Mapping[str, str | None] = {each: there.annotations.get(each) for each in wanted}
        if told is not None and told[1] == there.uid:
            known = told[0]
        if known == wanted:
            self._told = wanted, there.uid
            return
        _, access = self._cluster.identity()
        with Client(access, proxies=self._cluster.proxies(), limits=Limits(patience=0.0)) as client:
            client.patch(node(there.name), {"metadata": {"annotations": dict(wanted)}})
            self._told = wanted, there.uid
            client.create(_EVENTS, self._event(report, there.name, there.uid))

    def _event(self, report: Report, name: str, uid: str) -> Mapping[str, object]:
        reason, kind = _REASONS[report.state]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock.now()))
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"generateName": f"{name}.", "namespace": "default"},
            "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid},
            "type": kind,
            "reason": reason,
            "message": redacted(f"{report.subject}: {report.error or report.state}")[:_LONGEST],
            "source": {"component": "wmcb", "host": name},
            "reportingComponent": "wmcb",
            "reportingInstance": name,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
