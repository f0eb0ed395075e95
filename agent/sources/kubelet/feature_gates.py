"""Which feature gates which kubelet knows: it refuses to start over one that it does not.

OpenShift writes the gates of the whole cluster into every kubelet's configuration, many of which are its own.
"""

import functools
from dataclasses import dataclass

from agent.sources.kubelet import feature_gate_data
from agent.sources.kubelet.node import NEWEST, OLDEST

_ALWAYS = ("AllAlpha", "AllBeta")


@dataclass(frozen=True, slots=True)
class Gate:
    first: int
    last: int
    locked_from: int | None = None
    locked_to: bool = True


def refusal(name: str, value: bool, minor: int) -> str | None:
    """Why a kubelet of release 1.`minor` would not start with this gate; None if it would."""
    if name in _ALWAYS:
        return None
    gate = _gates().get(name)
    if gate is None:
        return "no kubelet knows this gate, and it would not start over it"
    if minor > gate.last and gate.last < NEWEST:
        return f"gone since Kubernetes 1.{gate.last + 1}, whose kubelet would not start over it"
    if minor < gate.first and gate.first > OLDEST:
        return f"known since Kubernetes 1.{gate.first} only; an older kubelet would not start over it"
    if gate.locked_from is not None and minor >= gate.locked_from and value is not gate.locked_to:
        return f"can only be {str(gate.locked_to).lower()} since Kubernetes 1.{gate.locked_from}"
    return None


@functools.cache
def _gates() -> dict[str, Gate]:
    rows = map(str.split, feature_gate_data.ROWS.strip().splitlines())
    return {name: _gate(rest) for name, *rest in rows}


def _gate(columns: list[str]) -> Gate:
    first, last, *lock = columns
    if not lock:
        return Gate(int(first), int(last))
    return Gate(int(first), int(last), int(lock[0]), lock[1] == "true")
