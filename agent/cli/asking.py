"""What differs between the commands that make a node: names of options, and who hears of warnings."""

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TypeVar

from agent.cli import options, streams
from agent.cli.arguments import Option
from agent.cli.failure import BadInput, BadUsage, Failure
from agent.sources.kubeadm.model import JoinConfiguration
from agent.sources.kubelet.folders import Placement
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.report import Report

T = TypeVar("T")
Notice = Callable[[str], None]
Aside = Callable[[Notice], AbstractContextManager[Callable[[], None] | None]]

MOST_LINES = 20


def _nothing(notice: Notice) -> AbstractContextManager[None]:  # noqa: ARG001 - there is nothing to say
    return nullcontext()


@dataclass(frozen=True, slots=True)
class Asking:
    ignored: Collection[str] = ()
    """Ids of checks whose errors are no more than warnings."""
    ignition: Option = options.IGNITION
    kubelet: Option = options.KUBELET
    notice: Notice = streams.notice
    """Takes a line for a person."""
    fetched: list[str] = field(default_factory=list, compare=False)
    """What was asked for over a network while a document was read: each time it may be something else."""
    join: JoinConfiguration | None = None
    """Of a cluster that kubeadm made; None where an Ignition says all."""
    beside: bool = False
    """All else that wmcb made here stays, and what that was made from goes on to be told."""
    is_openshift_layout: bool = False
    """Whether the kubelet's files and service are to be as OpenShift's own bootstrapper leaves them."""
    aside: Aside = field(default=_nothing, compare=False)
    """What is done in the cluster meanwhile; gives what comes before a node that is there is stopped."""

    def warn(self, text: str) -> None:
        self.notice(f"warning: {text}")

    def object_to(self, check: str, objection: BadUsage) -> None:
        """Raises it, unless somebody wants to go on in spite of it."""
        if check not in self.ignored:
            raise objection
        self.warn(str(objection))


@dataclass(frozen=True, slots=True)
class Wishes:
    """What is wanted whatever a document says."""

    release: Callable[[], Kubelet]
    """Of the kubelet, which is asked once. Raises BadUsage."""
    node: Node
    placement: Placement


def last_of(failures: Sequence[Failure]) -> Failure:
    """The one to be raised, with the others, as far as anybody reads them."""
    *others, last = failures[:MOST_LINES]
    left_out = len(failures[MOST_LINES:])
    more = f" (and {left_out} more)" if left_out else ""
    return type(last)(f"{last}{more}", where=last.where, others=others, details=last.details)


def tell_report(report: Report, asking: Asking) -> None:
    """Print the warnings. Raises BadInput for errors, Failure where only a server is at fault."""
    for warning in report.warnings[:MOST_LINES]:
        asking.notice(str(warning))
    more = len(report.warnings[MOST_LINES:]) + report.omitted
    if more:
        asking.notice(f"and {more} more warnings")
    if report.fatal:
        # What a document says is wrong whatever a server does.
        kind = Failure if all(error.is_unserved for error in report.errors) else BadInput
        raise last_of(
            [kind(str(error).removeprefix("error: "), where=error.where) for error in report.errors]
        )


def usable(found: T | None, report: Report, asking: Asking) -> T:
    """Return what was read of a document, once its report was told. Raises as `tell_report` does."""
    tell_report(report, asking)
    assert found is not None, "a report without errors comes with what it is about"
    return found
