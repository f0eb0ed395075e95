"""How many examples of Hypothesis there are, and what they may cost. None has a deadline: on a busy machine
any of them takes as long as it takes.

WMCB_EXAMPLES says another number, for a longer search.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Linux has looked for what readers do not bear already; Windows is there for what only it does otherwise.
_EXAMPLES = int(os.environ.get("WMCB_EXAMPLES", "15" if sys.platform == "win32" else "75"))
_PROPERTIES = "test_properties.py"
_INPUTS = "inputs"
_SECONDS_EACH = 0.1
"""Of the processor, and of most of them a hundredth of it. Once a test also imports what it is about."""
_SECONDS_ONCE = 10.0
_MEGABYTES = 200 + _EXAMPLES / 2
"""Half of them Hypothesis' own: it keeps what it has made."""

settings.register_profile(
    "any machine",
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def bounded(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a reader is given, it takes little time and memory."""
    if request.path.name != _PROPERTIES:
        yield
        return
    if hasattr(request.function, "hypothesis"):
        request.node.user_properties.append((_INPUTS, _EXAMPLES))
    seconds, megabytes = time.process_time(), _most_megabytes()
    yield
    assert time.process_time() - seconds < _SECONDS_ONCE + _EXAMPLES * _SECONDS_EACH
    assert _most_megabytes() - megabytes < _MEGABYTES


def _most_megabytes() -> float:
    """That this process ever held at once."""
    if sys.platform == "win32":
        return 0.0  # it is the same code
    import resource  # noqa: PLC0415 - Windows has none

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    properties = [pair for report in terminalreporter.getreports("passed") for pair in report.user_properties]
    inputs = [number for name, number in properties if name == _INPUTS]
    if inputs:
        terminalreporter.write_line(f"{len(inputs)} tests of properties, by up to {sum(inputs)} inputs")
