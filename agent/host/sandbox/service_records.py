"""A service as the sandbox's document has it: its registration, and how it runs."""

from agent.host import commandline, definitions
from agent.host.port import ServiceDefinition, ServiceState, ServiceStatus
from agent.host.sandbox.state import Document

NEVER_STARTED = 1077
_PRESHUTDOWN_MILLISECONDS = 10_000


def fresh() -> Document:
    """What a record has beside the registration, when it is new."""
    stopped = run(ServiceState.STOPPED, exit_code=NEVER_STARTED)
    return {"preshutdown_milliseconds": _PRESHUTDOWN_MILLISECONDS, "marked": False, "run": stopped}


def registration(definition: ServiceDefinition, line: str) -> Document:
    record = definitions.document_of(definition) | {"name": definition.name, "image_path": line}
    del record["command"]
    if definition.preshutdown_milliseconds is None:
        del record["preshutdown_milliseconds"]
    return record


def definition_of(record: Document) -> ServiceDefinition:
    command = commandline.split(record["image_path"])
    return definitions.definition_of(record["name"], record | {"command": command})


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
