"""In which order Windows lets go of a container network: load balancers, endpoints, the network itself."""

from collections.abc import Callable, Collection
from contextlib import suppress

from agent.host.errors import NotFound
from agent.host.port import Host


def delete_network(host: Host, network: str) -> None:
    _delete_endpoints(host, [each.id for each in host.networks.endpoints() if each.network == network])
    _delete(host.networks.delete, network)


def delete_endpoint(host: Host, endpoint: str) -> None:
    _delete_endpoints(host, [endpoint])


def delete_what_leads_nowhere(host: Host) -> None:
    """Load balancers of endpoints that were lost: Windows would take a new one for a second of its kind."""
    there = {each.id for each in host.networks.endpoints()}
    for balancer in host.networks.load_balancers():
        if there.isdisjoint(balancer.endpoints):
            _delete(host.networks.delete_load_balancer, balancer.id)


def delete_all(host: Host) -> None:
    """Whoever made them."""
    for balancer in host.networks.load_balancers():
        _delete(host.networks.delete_load_balancer, balancer.id)
    for endpoint in host.networks.endpoints():
        _delete(host.networks.delete_endpoint, endpoint.id)
    for network in host.networks.list():
        _delete(host.networks.delete, network.id)


def _delete_endpoints(host: Host, endpoints: Collection[str]) -> None:
    for balancer in host.networks.load_balancers():
        if not set(endpoints).isdisjoint(balancer.endpoints):
            _delete(host.networks.delete_load_balancer, balancer.id)
    for endpoint in endpoints:
        _delete(host.networks.delete_endpoint, endpoint)


def _delete(one: Callable[[str], None], identifier: str) -> None:
    with suppress(NotFound):  # a proxy may be at it, too
        one(identifier)
