"""One module a kind of resource: what is there, what is wanted, how it is made so and how it is taken back.

A kind is found by its name, so that a new one is a new module here, a class in agent.spec, and nothing else.
"""

from functools import cache
from importlib import import_module
from typing import Any

from agent.resources.kind import Kind


class UnknownKind(LookupError):
    """There is no such kind in this version."""


@cache
def kind_named(name: str) -> Kind[Any]:
    """Raises UnknownKind."""
    module = f"agent.resources.{name}"
    try:
        kind: Kind[Any] = import_module(module).KIND
    except (ModuleNotFoundError, AttributeError) as fault:
        if isinstance(fault, ModuleNotFoundError) and fault.name != module:
            raise
        raise UnknownKind(name) from fault
    return kind
