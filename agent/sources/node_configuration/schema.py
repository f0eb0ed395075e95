"""The fields of a NodeConfiguration, what each may hold and what it is for.

What may be wanted of a node is in `kinds`. The reader goes by these tables, and the schema that is
published is written from them.
"""

from collections.abc import Iterator, Mapping

from agent.sources.forms import Fields, Flag, Form, ListOf, MapOf, Number, Text
from agent.sources.node_configuration.kinds import OF_THE_NODE, OWN_PROGRAM, kind_of

GROUP = "wmcb.internal"
"""Nobody can ever own a name below .internal, so no other project's group is the same, and no domain is
claimed. No API server serves it: it is a document inside of a ConfigMap."""
VERSION = "v1beta1"
API = f"{GROUP}/{VERSION}"
KIND = "NodeConfiguration"

_NODES = Fields(
    {
        "names": ListOf(
            Text("A node's name.", "a node's name", pattern=r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", most=253),
            "The node has one of these names.",
            least=1,
            most=10_000,
        ),
        "labels": MapOf(
            Text(expected="a label's value", pattern=r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?", most=63),
            "The node has all of these labels.",
            key=Text(
                expected="a label's name",
                pattern=r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
                most=317,
            ),
            least=1,
            most=100,
        ),
    },
    "For which nodes this is. Left out, it is for all that read it; with both fields, both have to hold.",
    some=("names", "labels"),
)
_ROLLOUT = Fields(
    {
        "start": Text(
            "When the first node's turn comes.",
            "a time such as 2030-01-02T03:04:05Z",
            pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[-+][0-9]{2}:[0-9]{2})",
        ),
        "window": Text(
            "How long it takes from the first node's turn to the last one's.",
            "a duration such as 1h30m",
            pattern=r"(?=[0-9])([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?",
        ),
        "percentage": Number(
            "How many of a hundred nodes take part; always the same ones, and more when it grows.", most=100
        ),
    },
    "Spreads a change of this document over time and nodes, so that a fleet never restarts all at once.",
    some=("start", "percentage"),
    together={"window": ("start",)},
)
_MAINTENANCE = Fields(
    {
        "paused": Flag("Nothing is changed and nothing repaired while this is true."),
        "reason": Text("For a person.", pattern=r"[^\x00-\x1f]*", most=500),
    },
    "Somebody works on the nodes by hand.",
    needed=("paused",),
)
_OF_THE_DOCUMENT: Mapping[str, Form] = {
    "apiVersion": Text("The version of this schema.", one_of=(API,)),
    "kind": Text("What this document is.", one_of=(KIND,)),
    "nodes": _NODES,
    "rollout": _ROLLOUT,
    "maintenance": _MAINTENANCE,
}
"""Of whom it is said, and when."""


class _Forms(Mapping[str, Form]):
    """A kind's own is loaded when it is looked at: a document has few of them."""

    _names = (*_OF_THE_DOCUMENT, OWN_PROGRAM, *OF_THE_NODE)

    def __getitem__(self, name: str) -> Form:
        if name in OF_THE_NODE:
            return kind_of(name).form
        if name == OWN_PROGRAM:
            from agent.sources.node_configuration.kinds.files import OWN_PROGRAM_FORM  # noqa: PLC0415 - 0.4 MB, for another wmcb.exe

            return OWN_PROGRAM_FORM
        return _OF_THE_DOCUMENT[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


SCHEMA = Fields(_Forms(), "What a Windows node should be.", needed=("apiVersion", "kind"))
