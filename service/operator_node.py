"""The Node of this machine, found as OpenShift's daemon finds it: by its addresses."""

from collections.abc import Callable
from pathlib import PureWindowsPath

from agent.host.port import Host
from agent.kube.access import Access
from agent.kube.answers import Json, Object, at, items_at, text_at
from agent.kube.client import NODES, Client, node
from agent.kube.transport import Limits
from service import cluster
from service.operator_leftovers import restrict


def access_by(host: Host, path: PureWindowsPath, notice: Callable[[str], None]) -> Access:
    """As whom a kubeconfig lets it ask. Raises Failed, HostError, Unknown.

    `notice` takes a line where users could change the file, which it is closed to first.
    """
    if restrict(host, path):
        notice(
            f"{path}: users could change the operator's kubeconfig; it is restricted to SYSTEM and "
            f"administrators now; remove their right to write to {path.parent} as well"
        )
    return cluster.access_by(host, path, f"{path} is not there, or names a certificate that is not")


def client_of(
    host: Host, access: Access, seconds: float, notice: Callable[[str], None] = lambda _: None
) -> Client:
    return Client(access, proxies=cluster.proxies_of(host), limits=Limits(patience=seconds), notice=notice)


def find_node(host: Host, client: Client) -> Object | None:
    """Where the one of its host name has another's addresses, all are looked at. Raises Failed."""
    own = {each.address for each in host.facts.addresses()}
    name = host.facts.host_name().lower()
    by_name = client.find(node(name))
    if by_name is not None and own & _addresses(by_name):
        return by_name
    found = (each for each in client.list(NODES).items if own & _addresses(each))
    return next(found, None)


def name_of(there: Object) -> str:
    return text_at(there, "metadata", "name")


def _addresses(there: Object) -> set[Json]:
    return {str(at(each, "address")) for each in items_at(there, "status", "addresses")}
