"""A service's registration as a state, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from agent.host.port import (
    InstalledService,
    Recovery,
    RecoveryAction,
    ServiceDefinition,
    SidType,
    StartType,
)
from agent.resources.kind import State, Value
from agent.spec import Service

_IN_WORDS = {
    RecoveryAction.NONE: "nothing",
    RecoveryAction.RESTART: "restart",
    RecoveryAction.REBOOT: "restart Windows",
    RecoveryAction.RUN_COMMAND: "run a command",
    RecoveryAction.RESTART_ITSELF: "restart of its own",
}
_CASELESS = frozenset({"account", "dependencies"})


def definition(want: Service) -> ServiceDefinition:
    recovery = Recovery()
    if want.restart is not None:
        actions = tuple((RecoveryAction.RESTART, int(pause * 1000)) for pause in want.restart.after_seconds)
        recovery = Recovery(actions, want.restart.forgiven_after_seconds, on_error_exit=True)
    preshutdown = want.preshutdown_seconds
    return ServiceDefinition(
        want.name,
        (str(want.program), *want.arguments),
        want.display_name or want.name,
        want.description,
        StartType(want.start.value),
        want.dependencies,
        recovery=recovery,
        environment=dict(want.environment),
        preshutdown_milliseconds=None if preshutdown is None else int(preshutdown * 1000),
    )


def of_definition(service: ServiceDefinition) -> dict[str, Value]:
    return {
        "command": list(service.command),
        "display_name": service.display_name or service.name,
        "description": service.description,
        "start": service.start.value,
        "dependencies": list(service.dependencies),
        "account": service.account,
        "recovery": {
            "actions": [[action.name, pause] for action, pause in service.recovery.actions],
            "reset_seconds": service.recovery.reset_seconds,
            "on_error_exit": service.recovery.on_error_exit,
        },
        "environment": dict(service.environment),
        "preshutdown_milliseconds": service.preshutdown_milliseconds,
        "sid_type": service.sid_type.name,
    }


def of_installed(service: InstalledService) -> dict[str, Value]:
    return {
        **of_definition(service.definition),
        "image_path": service.image_path,
        "unsupported": list(service.unsupported),
    }


def installed(name: str, state: State) -> InstalledService:
    """The other way: a service as it was once read."""
    recovery = cast("Mapping[str, Value]", state["recovery"])
    actions = cast("Sequence[tuple[str, int]]", recovery["actions"])
    preshutdown = cast("int | None", state["preshutdown_milliseconds"])
    read = ServiceDefinition(
        name,
        _words(state["command"]),
        str(state["display_name"]),
        str(state["description"]),
        StartType(state["start"]),
        _words(state["dependencies"]),
        str(state["account"]),
        Recovery(
            tuple((RecoveryAction[action], pause) for action, pause in actions),
            cast("int", recovery["reset_seconds"]),
            on_error_exit=bool(recovery["on_error_exit"]),
        ),
        cast("Mapping[str, str]", state["environment"]),
        preshutdown,
        SidType[str(state["sid_type"])],
    )
    return InstalledService(read, str(state["image_path"]), _words(state["unsupported"]))


def recovery_in_words(value: Value) -> str:
    recovery = cast("Mapping[str, Value]", value)
    actions = cast("Sequence[tuple[str, int]]", recovery["actions"])
    steps = [f"{_IN_WORDS[RecoveryAction[action]]} after {pause / 1000:g} s" for action, pause in actions]
    if not steps:
        return "nothing"
    forgiven = f"all is forgiven after {recovery['reset_seconds']} s"
    too = "also when it ends with an error" if recovery["on_error_exit"] else "not when it ends with an error"
    return ", ".join([*steps, forgiven, too])


def comparable(field: str, value: Value) -> Value:
    """Equal for what Windows takes for the same."""
    if field in _CASELESS:
        return [str(each).upper() for each in value] if isinstance(value, list) else str(value).upper()
    return value


def _words(value: Value) -> tuple[str, ...]:
    return tuple(cast("Sequence[str]", value))
