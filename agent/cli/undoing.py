"""What a machine is again after a run was taken back, said by results and not by steps."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.cli.wording import COUNTED, counted
from agent.engine.journal import Deed, Step
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.services import ServiceState
from agent.resources.kind import State
from agent.spec import Key

Before = Mapping[Key, State | None]

_NAMED = 3
_SECONDS_FOR_VERSION = 10.0
_KUBELET = "kubelet.exe"
_TOLD_OTHERWISE = ("directory", "file", "service", "windows_feature")
"""A feature stays as it is, which the run itself tells."""


def results(host: Host, steps: Sequence[Step]) -> Iterator[str]:
    """Of all steps that were taken back, in the order in which that was done."""
    before: dict[Key, State | None] = {}
    for step in reversed(steps):
        if step.deed is not Deed.RESUME:
            before.setdefault(step.key, step.before)
    yield from _files(host, before)
    for key, state in before.items():
        if key.kind == "service" and state is not None:
            yield _service(host, key)
        elif key.kind not in _TOLD_OTHERWISE and state is not None:
            yield f"{key} is again as it was"
    yield from _gone(before)


def _files(host: Host, before: Before) -> Iterator[str]:
    files = [key for key, state in before.items() if key.kind == "file" and state is not None]
    named = [key for key in files if PureWindowsPath(key.name).name.lower() == _KUBELET]
    running = set(_programs_of_running_services(host, before))
    for key in named:
        # Only what Windows has just started anyhow: anybody may have put a program there.
        release = _release(host, key.name) if key.name.upper() in running else ""
        yield f"{key.name} is again {release or 'the one of before'}"
    others = [key for key in files if key not in named]
    if len(others) > _NAMED:
        yield f"{len(others)} files are again what they were"
    else:
        yield from (f"{key.shown} is again what it was" for key in others)


def _programs_of_running_services(host: Host, before: Before) -> Iterator[str]:
    """And the words that they are given."""
    for key, state in before.items():
        if key.kind == "service" and state is not None and _runs(host, key.name):
            command = state["command"]
            yield from (str(word).upper() for word in command) if isinstance(command, list | tuple) else ()


def _runs(host: Host, service: str) -> bool:
    there = host.services.read(service) is not None
    return there and host.services.status(service).state is ServiceState.RUNNING


def _release(host: Host, program: str) -> str:
    """As it says itself; empty where it cannot be asked."""
    can_run = sys.platform == "win32"
    with suppress(HostError):
        if not can_run:
            return ""
        answer = host.processes.run((program, "--version"), seconds=_SECONDS_FOR_VERSION)
        return answer.output.decode(errors="replace").strip().partition("\n")[0][:100]
    return ""


def _service(host: Host, key: Key) -> str:
    if _runs(host, key.name):
        return f"{key} runs again"
    if host.services.read(key.name) is None:
        return f"{key} is gone"
    return f"{key} is as it was set up before, and {host.services.status(key.name).state.name.lower()}"


def _gone(before: Before) -> Iterator[str]:
    """What the run had made."""
    made = [key for key, state in before.items() if state is None]
    told = counted(key.kind for key in made if key.kind in COUNTED)
    told += [str(key) for key in made if key.kind not in COUNTED]
    if told:
        yield f"gone again: {', '.join(told)}"
