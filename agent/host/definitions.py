"""How a service that is there differs from the one that is wanted, alike for every host."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.host.port import InstalledService, ServiceDefinition

_FIELDS = (
    "command",
    "display_name",
    "description",
    "start",
    "dependencies",
    "account",
    "recovery",
    "environment",
    "preshutdown_milliseconds",
    "sid_type",
)


def differing_fields(wanted: ServiceDefinition, installed: InstalledService) -> tuple[str, ...]:
    """Fields of the definition that would have to be changed.

    A field that this Windows could not be asked for never differs: nothing would ever make it equal.
    """
    return tuple(
        field
        for field in _FIELDS
        if field not in installed.unsupported
        and _comparable(wanted, field) not in (None, _comparable(installed.definition, field))
    )


def _comparable(definition: ServiceDefinition, field: str) -> object:
    """None where no particular value is asked for."""
    value: object = getattr(definition, field)
    if field == "display_name":
        return value or definition.name
    if field == "account":
        return definition.account.casefold()
    if field == "dependencies":
        # Names of services have no case.
        return tuple(name.casefold() for name in definition.dependencies)
    if field == "environment":
        return dict(definition.environment)
    return value
