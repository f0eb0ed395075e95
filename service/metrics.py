"""What the resident service tells Prometheus, in which words, and the port on which it answers.

All of it is found when it is asked for, in the thread that answers: what nobody asks for costs nothing. What
cannot be found is left out.
"""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from agent.engine.inventory import Inventory, read_state
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import Host
from agent.redaction import redacted
from agent.release import RELEASE, build
from agent.resources.kind import CannotBeSo
from service import pausing, standing
from service.arguments import METRICS_PORT
from service.keeping import Wishes
from service.standing import Standing, State
from service.telling import LEFT, Event, Telling
from service.work_queue import Signals

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})


@dataclass(frozen=True, slots=True)
class Sample:
    value: float
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: str
    help: str
    samples: tuple[Sample, ...]


def text(metrics: Iterable[Metric]) -> str:
    """In Prometheus' text format."""
    return redacted("".join(line for metric in metrics for line in _lines(metric)))


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
    for sample in metric.samples:
        labels = ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in sample.labels.items())
        # Python's shortest form of a float is one that Go reads.
        yield (
            f"{metric.name}{{{labels}}} {sample.value!r}\n" if labels else f"{metric.name} {sample.value!r}\n"
        )


class Metrics:
    """Read in one thread while others work."""

    def __init__(self, host: Host, telling: Telling, wishes: Wishes | None) -> None:
        """`wishes` where a ConfigMap is followed."""
        self._host = host
        self._telling = telling
        self._wishes = wishes
        self._begun = host.clock.now()

    def all(self) -> Sequence[Metric]:
        return [metric for part in self._parts() for metric in part]

    def _parts(self) -> Iterator[Sequence[Metric]]:
        for part in (self._service, self._repairs, self._node, self._following, self._certificate):
            with suppress(HostError, CannotBeSo):
                yield list(part())

    def _service(self) -> Iterator[Metric]:
        facts = {
            "release": RELEASE,
            "commit": build().commit or "",
            "python": sys.version.split(maxsplit=1)[0],
        }
        yield _gauge("wmcb_build_info", "What runs.", 1, facts)
        yield _gauge("wmcb_start_time_seconds", "When it was started, since 1970.", self._begun)

    def _repairs(self) -> Iterator[Metric]:
        counts = self._telling.counts
        yield _counter(
            "wmcb_repairs_total", "What had been changed, and was put right.", counts[Event.REPAIRED]
        )
        yield _counter(
            "wmcb_repairs_failed_total", "What could not be put right.", counts[Event.NOT_REPAIRED]
        )
        causes = {"stopped": Event.STARTED, "hung": Event.HUNG, "bereft": Event.BEREFT}
        started = tuple(Sample(counts[event], {"cause": cause}) for cause, event in causes.items())
        yield Metric("wmcb_service_starts_total", "counter", "Services that were started again.", started)
        yield _counter("wmcb_troubles_total", "Faults, of the machine or of wmcb.", counts[Event.TROUBLE])

    def _node(self) -> Iterator[Metric]:
        resources = read_state(self._host)[1].records
        yield _gauge("wmcb_resources", "What is kept on this machine; 0 where it is no node.", len(resources))
        left = sum(key in resources for key in self._telling.subjects(LEFT))
        yield _gauge("wmcb_resources_left", "What is not as it was made, and could not be put right.", left)
        yield _gauge("wmcb_paused", "Whether repairs are paused.", self._is_paused())
        reasons = self._host.power.reboot_pending()
        yield _gauge("wmcb_reboot_pending", "Whether Windows wants to be restarted.", bool(reasons))

    def _is_paused(self) -> bool:
        """By hand, or as its Node or the ConfigMap wants it."""
        by_cluster = None if self._wishes is None else self._wishes.pause
        return by_cluster is not None or pausing.read(self._host) is not None

    def _following(self) -> Iterator[Metric]:
        if self._wishes is None:
            return
        trouble = self._wishes.trouble
        yield _gauge("wmcb_api_server_reachable", "Whether the API server is heard.", trouble is None)
        known = standing.read(self._host)
        if known is None:
            return
        states = tuple(Sample(float(known.state is state), {"state": state.value}) for state in State)
        yield Metric("wmcb_config_map_state", "gauge", "1 for what became of the ConfigMap.", states)
        yield from self._applied(known)

    def _applied(self, known: Standing) -> Iterator[Metric]:
        facts = {"config_map": known.followed, "version": known.version, "hash": known.applied}
        yield _gauge(
            "wmcb_applied_info", "What of the ConfigMap was made so last.", float(bool(known.applied)), facts
        )
        times = self._telling.times
        applied, failed = (times.get(event, 0.0) for event in (Event.APPLIED, Event.FAILED))
        if last := max(applied, failed):
            yield _gauge("wmcb_last_apply_timestamp_seconds", "When it was changed last, since 1970.", last)
            yield _gauge("wmcb_last_apply_success", "Whether that came to its end.", applied == last)

    def _certificate(self) -> Iterator[Metric]:
        from agent.kube.failure import Failed  # noqa: PLC0415 - requests, 17 MB
        from service.cluster import Unknown, access_of, kubelet_of  # noqa: PLC0415 - requests, 17 MB

        kubelet = kubelet_of(Inventory.load(StateFolder.of(self._host)))
        if kubelet is None:
            return
        with suppress(Failed, Unknown):
            certificate = access_of(self._host, kubelet).own_certificate()
            if certificate is not None:
                yield _gauge(
                    "wmcb_kubelet_certificate_start_timestamp_seconds",
                    "From when on the kubelet's certificate holds, since 1970.",
                    certificate.not_valid_before_utc.timestamp(),
                )
                yield _gauge(
                    "wmcb_kubelet_certificate_expiry_timestamp_seconds",
                    "When the kubelet's certificate is over, since 1970.",
                    certificate.not_valid_after_utc.timestamp(),
                )


def _gauge(name: str, text: str, value: float, labels: Mapping[str, str] | None = None) -> Metric:
    return Metric(name, "gauge", text, (Sample(float(value), labels or {}),))


def _counter(name: str, text: str, value: int) -> Metric:
    return Metric(name, "counter", text, (Sample(float(value)),))


ADDRESS = "127.0.0.1"
_WAITING = 8
_LONGEST_WORK_SECONDS = 900.0
_LARGEST_HEAD = 8192
_SECONDS = 5.0
_PAUSE_SECONDS = 5.0
_REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed"}
_REASONS |= {500: "Internal Server Error", 503: "Service Unavailable"}
_PLAIN = "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    body: str
    content_type: str = _PLAIN


def health(signals: Signals) -> Answer:
    """Whether the one that works does: it may take minutes to stop a service, and not for ever."""
    taken = signals.taken_at
    if taken is None or (busy := time.monotonic() - taken) < _LONGEST_WORK_SECONDS:
        return Answer(200, "ok\n")
    return Answer(503, f"busy with the same thing for {busy:.0f} seconds\n")


class Scraping:
    """Answers on a port of this machine's own: /metrics for Prometheus, /healthz for who asks if it works.

    By one thread, one question after the other, and a few lines: Python's own server takes megabytes to load.
    Who asks slowly holds up who asks next, and no other.
    """

    def __init__(
        self, port: int, answers: Mapping[str, Callable[[], Answer]], tell: Callable[[OSError], None]
    ) -> None:
        """By path. `tell` is told of what keeps it from answering, each time. Raises OSError for a port that
        somebody else has.
        """
        self._answers = answers
        self._tell = tell
        self._over = threading.Event()
        self._listening = _listening(port)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        number: int = self._listening.getsockname()[1]
        return number

    def close(self) -> None:
        self._over.set()
        # One that is only closed would be waited at further on.
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listening.accept()
            except ConnectionError:
                continue  # who asked has gone already
            except OSError as fault:
                if not self._over.is_set():
                    self._tell(fault)
                    self._over.wait(_PAUSE_SECONDS)  # no buffers, say, or no handles: there may be some again
                continue
            with suppress(OSError), connection:
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        answer = self._answer(_head(connection))
        body = answer.body.encode()
        head = (
            f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\nContent-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        connection.settimeout(_SECONDS)
        connection.sendall(head.encode() + body)

    def _answer(self, head: bytes) -> Answer:
        words = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            return Answer(400, "this is no HTTP\n")
        if words[0] != "GET":
            return Answer(405, "only GET\n")
        found = self._answers.get(words[1].partition("?")[0])
        if found is None:
            return Answer(404, f"there are: {' '.join(self._answers)}\n")
        try:
            return found()
        except Exception as fault:  # noqa: BLE001 - whatever it is, others are to be answered
            return Answer(500, f"unexpected {type(fault).__name__} (please report it)\n")


def _listening(port: int) -> socket.socket:
    listening = socket.socket()
    try:
        # Windows would let another program listen on it as well; elsewhere one that was just left is kept.
        if exclusive := getattr(socket, "SO_EXCLUSIVEADDRUSE", None):
            listening.setsockopt(socket.SOL_SOCKET, exclusive, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((ADDRESS, port))
        listening.listen(_WAITING)
    except OSError:
        listening.close()
        raise
    return listening


def _head(connection: socket.socket) -> bytes:
    """Of a request, or what there was of it in time."""
    end, head = time.monotonic() + _SECONDS, b""
    while b"\r\n\r\n" not in head and len(head) < _LARGEST_HEAD:
        connection.settimeout(max(end - time.monotonic(), 0.001))
        piece = connection.recv(_LARGEST_HEAD)
        if not piece:
            break
        head += piece
    return head


_PORT_AGAIN_SECONDS = 30.0


def answer_on(port: int, host: Host, signals: Signals, telling: Telling, wishes: Wishes | None) -> None:
    """Answer from now on, or as soon as the port is free."""
    found = Metrics(host, telling, wishes)

    def told() -> Answer:
        return Answer(200, text(found.all()), CONTENT_TYPE)

    def tell(fault: OSError) -> None:
        fault_text = (
            f"who asks for metrics at port {port} has no answer for a while: {fault.strerror or fault}"
        )
        telling.tell_once((METRICS_PORT, "answers"), Event.TROUBLE, fault_text)

    def is_had() -> bool:
        answers = {"/metrics": told, "/healthz": lambda: health(signals)}
        try:
            Scraping(port, answers, tell)
        except OSError as fault:
            fault_text = (
                f"no metrics yet: port {port} of {ADDRESS} cannot be had ({fault.strerror});"
                f" free it, or give another by: {host.called} daemon install {METRICS_PORT} N"
            )
            telling.tell_once(METRICS_PORT, Event.TROUBLE, fault_text)
            return False
        if telling.is_over(METRICS_PORT):
            telling.note(f"metrics can be asked for at port {port} now")
        return True

    if not is_had():
        threading.Thread(target=_repeat, args=(is_had,), daemon=True).start()


def _repeat(is_done: Callable[[], bool]) -> None:
    """Try until it succeeds: Windows does not report that another program gives up a port."""
    while not is_done():
        time.sleep(_PORT_AGAIN_SECONDS)
