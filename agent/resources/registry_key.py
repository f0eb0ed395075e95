"""A key of the registry that something of ours lies in."""

from collections.abc import Sequence
from contextlib import suppress

from agent.host.errors import HostError, NotEmpty, NotFound
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, State
from agent.resources.trees import of_others
from agent.spec.machine import ROOT, RegistryKey

_THERE: State = {"is_there": True}


class RegistryKeyResource(Kind[RegistryKey]):
    firm = frozenset({"is_there"})

    def wanted(self, want: RegistryKey) -> State:  # noqa: ARG002 - all alike
        return dict(_THERE)

    def is_content(self, manner: State) -> bool:  # noqa: ARG002 - all alike
        return True

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it is there or not
        try:
            host.registry.keys(_path(name))
        except NotFound:
            return None
        return dict(_THERE)

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (_path(name),)

    def apply(self, host: Host, want: RegistryKey, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        host.registry.make_key(want.path)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None:
            host.registry.make_key(_path(name))
            return None
        try:
            with suppress(NotFound):
                host.registry.remove_empty_key(_path(name))
        except NotEmpty:
            return f"registry key {name} {of_others(_names_in(host, _path(name)))}, and stays"
        return None


def _names_in(host: Host, path: str) -> Sequence[str]:
    try:
        return [*host.registry.keys(path), *host.registry.values(path)]
    except HostError:
        return ()


def _path(name: str) -> str:
    return name.removeprefix(f"{ROOT}\\")


KIND = RegistryKeyResource()
