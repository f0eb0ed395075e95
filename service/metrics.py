"""What the resident service tells Prometheus, and in which words.

All of it is found when it is asked for, in the thread that answers: what nobody asks for costs nothing. What
cannot be found is left out.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from service.keeping import Wishes
from service.standing import Standing, State
from service.telling import LEFT, Event, Telling

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
