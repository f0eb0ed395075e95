"""A service's registration as a state, and back."""

from collections.abc import Mapping, Sequence
from typing import cast

from agent.host.definitions import definition_of, document_of
from agent.host.services import InstalledService, Recovery, RecoveryAction, ServiceDefinition, StartType
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


def of_installed(service: InstalledService) -> dict[str, Value]:
    return {
        **document_of(service.definition),
        "image_path": service.image_path,
        "unsupported": list(service.unsupported),
    }


def installed(name: str, state: State) -> InstalledService:
    """The other way: a service as it was once read."""
    unsupported = cast("Sequence[str]", state["unsupported"])
    return InstalledService(definition_of(name, state), str(state["image_path"]), tuple(unsupported))


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
