"""A service as the sandbox's document has it: its registration, and how it runs."""

from __future__ import annotations

from typing import Any

from agent.host import commandline
from agent.host.port import (
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    ServiceState,
    ServiceStatus,
    SidType,
    StartType,
)
from agent.host.sandbox.state import Document

PROCESS_ABORTED = 1067
NEVER_STARTED = 1077
_PRESHUTDOWN_MILLISECONDS = 10_000


def fresh() -> Document:
    """What a record has beside the registration, when it is new."""
    stopped = run(ServiceState.STOPPED, exit_code=NEVER_STARTED)
    return {"preshutdown_milliseconds": _PRESHUTDOWN_MILLISECONDS, "marked": False, "run": stopped}


def registration(definition: ServiceDefinition, line: str) -> Document:
    recovery = definition.recovery
    record: dict[str, Any] = {
        "name": definition.name,
        "image_path": line,
        "display_name": definition.display_name or definition.name,
        "description": definition.description,
        "start": definition.start.name,
        "dependencies": list(definition.dependencies),
        "account": definition.account,
        "recovery": {
            "actions": [[action.name, milliseconds] for action, milliseconds in recovery.actions],
            "reset_seconds": recovery.reset_seconds,
            "on_error_exit": recovery.on_error_exit,
        },
        "environment": dict(definition.environment),
        "sid_type": definition.sid_type.name,
    }
    if definition.preshutdown_milliseconds is not None:
        record["preshutdown_milliseconds"] = definition.preshutdown_milliseconds
    return record


def definition_of(record: Document) -> ServiceDefinition:
    recovery = record["recovery"]
    return ServiceDefinition(
        name=record["name"],
        command=commandline.split(record["image_path"]),
        display_name=record["display_name"],
        description=record["description"],
        start=StartType[record["start"]],
        dependencies=tuple(record["dependencies"]),
        account=record["account"],
        recovery=Recovery(
            actions=tuple((RecoveryAction[action], time) for action, time in recovery["actions"]),
            reset_seconds=recovery["reset_seconds"],
            on_error_exit=recovery["on_error_exit"],
        ),
        environment=record["environment"],
        preshutdown_milliseconds=record["preshutdown_milliseconds"],
        sid_type=SidType[record["sid_type"]],
    )


def run(
    state: ServiceState, *, exit_code: int = 0, own_exit_code: int = 0, checkpoint: int = 0, hint: int = 0
) -> Document:
    """What a service reports of itself, or the SCM of it."""
    return {
        "state": state.name,
        "exit_code": exit_code,
        "own_exit_code": own_exit_code,
        "checkpoint": checkpoint,
        "hint": hint,
    }


def state_of(record: Document) -> ServiceState:
    return ServiceState[record["run"]["state"]]


def status_of(record: Document) -> ServiceStatus:
    now, state = record["run"], state_of(record)
    process = now.get("process")
    return ServiceStatus(
        state=state,
        pid=process["pid"] if process and state is not ServiceState.STOPPED else None,
        exit_code=now["exit_code"],
        service_exit_code=now["own_exit_code"],
        checkpoint=now["checkpoint"],
        wait_hint_milliseconds=now["hint"],
    )
