"""What the machine is called."""

from collections.abc import Iterator

from agent.documents import Value
from agent.sources.forms import Checking, Text, items, mapping, text
from agent.sources.node_configuration.kinds.kind import single
from agent.sources.report import Place
from agent.spec import HostName


def _host_name(checking: Checking, given: Value, place: Place) -> Iterator[HostName]:
    name = text(given)
    nodes = checking.document.value.get("nodes")
    if nodes is not None and len(items(mapping(nodes).get("names"))) != 1:
        checking.wrong(place, "a name is one machine's; let nodes.names have one name, or leave out nodes")
    yield HostName(name)


KIND = single(
    Text(
        "The machine's DNS host name. It takes a restart, and services and commands wait for it. Said in a"
        " ConfigMap, it is for one node, named by nodes.names.",
        "a name of letters, digits and hyphens that is no number,",
        pattern=r"(?![0-9]+$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?",
    ),
    _host_name,
)
