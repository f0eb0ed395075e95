"""Windows' own service that keeps the clock right."""

from collections.abc import Iterator

from agent.documents import Value
from agent.sources.forms import Checking, Fields, Flag
from agent.sources.node_configuration.kinds.kind import single
from agent.sources.report import Place
from agent.spec.services import TimeService

_TIME_SERVICE = Fields(
    {"running": Flag("It is started with Windows, and runs.", only_true=True)},
    "Windows' time service, W32Time. Left out, it stays as it is, and preflight looks whether it runs.",
    needed=("running",),
)


def _time_service(checking: Checking, value: Value, place: Place) -> Iterator[TimeService]:  # noqa: ARG001 - nothing of it can be wrong
    yield TimeService()


KIND = single(_TIME_SERVICE, _time_service)
