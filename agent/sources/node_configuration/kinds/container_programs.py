"""Programs in HostProcess containers that have to start anew when HNS has forgotten what they told it."""

from collections.abc import Iterator

from agent.documents import Value
from agent.sources.forms import Checking, Fields, ListOf, Text, items, mapping, text, texts
from agent.sources.node_configuration.kinds.kind import Kind
from agent.sources.node_configuration.kinds.values import name_form
from agent.sources.report import Place
from agent.spec import Want
from agent.spec.networks import ForeignEndpoint
from agent.spec.services import ContainerProgram

_MADE = Fields(
    {
        "network": name_form("Its name, as cbr0 or flannel.4096."),
        "hostEndpoint": name_form(
            "The machine's own endpoint that the program makes in it, as cbr0_ep. One that is left of a lost"
            " network is removed, since the program makes no other beside it."
        ),
    },
    needed=("network",),
)
_PROGRAM = Fields(
    {
        "name": Text(
            "Of its file. Only what runs in a container of containerd's is ever ended.",
            "the name of a program such as kube-proxy.exe",
            pattern=r"[A-Za-z0-9][-A-Za-z0-9._]*\.exe",
            most=100,
        ),
        "makes": ListOf(
            _MADE, "HNS networks that it makes when it starts; it is ended when one is lost.", most=20
        ),
        "needs": ListOf(
            name_form(""),
            "HNS networks that have to be there when it starts; it is ended when one was made anew, and they"
            " are waited for before.",
            most=20,
        ),
    },
    needed=("name",),
)


def _container_programs(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Want, Place]]:
    for number, given in enumerate(map(mapping, items(value))):
        here, name = (*place, number), text(given["name"])
        made = [mapping(each) for each in items(given.get("makes"))]
        makes, needs = tuple(text(each["network"]) for each in made), texts(given.get("needs"))
        if both := sorted(set(makes).intersection(needs)):
            checking.wrong((*here, "needs"), f"it makes {', '.join(both)} itself")
        yield ContainerProgram(name, makes, tuple(needs)), here
        for index, each in enumerate(made):
            if "hostEndpoint" in each:
                there = (*here, "makes", index, "hostEndpoint")
                yield ForeignEndpoint(text(each["hostEndpoint"]), name), there


KIND = Kind(
    ListOf(
        _PROGRAM,
        "Programs in HostProcess containers, as DaemonSets bring kube-proxy and Flannel, that tell HNS what"
        " it forgets. When it has started anew the resident service ends their processes, so that the kubelet"
        " starts their containers anew.",
        most=20,
    ),
    _container_programs,
)
