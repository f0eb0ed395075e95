"""Services, alike for every host: their names, and how one that is there differs from the wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.host.errors import BadName

if TYPE_CHECKING:
    from agent.host.port import InstalledService, ServiceDefinition

_INVALID_NAME = 123
_LONGEST_NAME = 256

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


def check_service_name(action: str, name: str) -> None:
    """Raises BadName for what the SCM could not take for a service's name."""
    if not 0 < len(name) <= _LONGEST_NAME or set(name) & {"/", "\\", "\0"}:
        raise BadName(action, f"service {name[:_LONGEST_NAME]!r}", _INVALID_NAME)


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
