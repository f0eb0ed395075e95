"""Each kind of resource a class: what is there, what is wanted, how it is made so and how it is taken back.

A kind is found by its name: `hns_network` is HnsNetworkResource, in the module of that name or in the one
that _SHARED names. So the engine loads what a node has, and one that imports much has a module of its own.
"""

from functools import cache
from importlib import import_module
from typing import Any

from agent.resources.kind import Kind

_SHARED = {
    "environment": ("environment_variable", "path_entry"),
    "hns": ("foreign_endpoint", "hns_endpoint", "hns_network"),
    "kubelet_credentials": ("certificates", "credentials"),
    "registry": ("registry_key", "registry_value"),
    "routes": ("ip_forwarding", "route"),
    "service": ("event_source",),
    "windows_security": ("defender_exclusion", "firewall_rule"),
    "windows_settings": ("dns_suffixes", "host_name", "proxy", "time_service", "windows_feature"),
}
_MODULES = {name: module for module, names in _SHARED.items() for name in names}


class UnknownKind(LookupError):
    """There is no such kind in this version."""


@cache
def kind_named(name: str) -> Kind[Any]:
    """Raises UnknownKind."""
    module = f"agent.resources.{_MODULES.get(name, name)}"
    resource = f"{name.title().replace('_', '')}Resource"
    try:
        kind: Kind[Any] = getattr(import_module(module), resource)()
    except (ModuleNotFoundError, AttributeError) as fault:
        if isinstance(fault, ModuleNotFoundError) and fault.name != module:
            raise
        raise UnknownKind(name) from fault
    return kind
