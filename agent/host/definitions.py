"""Services, alike for every host: names, command lines, and how one that is there differs from the wanted."""

from collections.abc import Mapping
from typing import Any

from agent.host import commandline, winerror
from agent.host.errors import BadCommand, BadName
from agent.host.registry_contents import REFERENCE
from agent.host.services import (
    InstalledService,
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    SidType,
    StartType,
)
from agent.redaction import in_quotes

NO_PROGRAM = "put it there first, or name the one that is there"
"""What to do where a service's program is missing."""

_LONGEST_NAME = 256

_FIELDS = ServiceDefinition.__match_args__[1:]
"""All but the name."""


def check_service_name(action: str, name: str) -> None:
    """Raises BadName for what the SCM could not take for a service's name."""
    if not 0 < len(name) <= _LONGEST_NAME or set(name) & {"/", "\\", "\0"}:
        raise BadName(action, f"service {in_quotes(name[:_LONGEST_NAME])}", winerror.ERROR_INVALID_NAME)


def image_path(action: str, definition: ServiceDefinition) -> str:
    """The command line to register for a definition.

    The SCM keeps it as text whose variables are expanded at each start, and nothing keeps a percent sign from
    that. Refused even where there is no such variable today: whoever adds one would change the command.
    """
    line = commandline.join(definition.command)
    if found := REFERENCE.search(line):
        advice = f"Windows takes {found[0]} for a variable and would put its value there"
        raise BadCommand(action, f"service {definition.name}", winerror.ERROR_INVALID_PARAMETER, advice)
    return line


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


def document_of(definition: ServiceDefinition) -> dict[str, Any]:
    """Return all but its name as a document, fit for JSON."""
    recovery = definition.recovery
    return {
        "command": list(definition.command),
        "display_name": definition.display_name or definition.name,
        "description": definition.description,
        "start": definition.start.value,
        "dependencies": list(definition.dependencies),
        "account": definition.account,
        "recovery": {
            "actions": [[action.name, milliseconds] for action, milliseconds in recovery.actions],
            "reset_seconds": recovery.reset_seconds,
            "on_error_exit": recovery.on_error_exit,
        },
        "environment": dict(definition.environment),
        "preshutdown_milliseconds": definition.preshutdown_milliseconds,
        "sid_type": definition.sid_type.name,
    }


def definition_of(name: str, document: Mapping[str, Any]) -> ServiceDefinition:
    """Return what `document_of` has made a document of."""
    recovery = document["recovery"]
    return ServiceDefinition(
        name=name,
        command=tuple(document["command"]),
        display_name=document["display_name"],
        description=document["description"],
        start=StartType(document["start"]),
        dependencies=tuple(document["dependencies"]),
        account=document["account"],
        recovery=Recovery(
            actions=tuple((RecoveryAction[action], time) for action, time in recovery["actions"]),
            reset_seconds=recovery["reset_seconds"],
            on_error_exit=recovery["on_error_exit"],
        ),
        environment=document["environment"],
        preshutdown_milliseconds=document["preshutdown_milliseconds"],
        sid_type=SidType[document["sid_type"]],
    )
