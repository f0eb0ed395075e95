"""The domains in which Windows looks for a name that has none."""

from collections.abc import Iterator

from agent.documents import Value
from agent.sources.forms import Checking, ListOf, Text, texts
from agent.sources.node_configuration.kinds.kind import single
from agent.sources.report import Place
from agent.spec.machine import DnsSuffixes

_LONGEST = 1024
"""Of all together: what Windows keeps of it."""

_SUFFIX = Text(
    "",
    "a domain such as example.com",
    pattern=r"[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*",
    most=253,
)


def _dns_suffixes(checking: Checking, value: Value, place: Place) -> Iterator[DnsSuffixes]:
    suffixes = texts(value)
    if len(",".join(suffixes)) > _LONGEST:
        checking.wrong(place, f"together they are longer than {_LONGEST:,} characters")
    yield DnsSuffixes(suffixes)


KIND = single(
    ListOf(_SUFFIX, "The machine's whole list of DNS suffixes, in the order of trial.", least=1, most=32),
    _dns_suffixes,
)
