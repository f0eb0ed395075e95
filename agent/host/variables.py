"""The machine's variables, alike for every host: their names, and where a text stands for their values."""

import re
from collections.abc import Mapping

from agent.host import winerror
from agent.host.errors import BadName
from agent.host.port import Registry, RegistryKind, RegistryValue
from agent.redaction import in_quotes

KEY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
"""Where Windows keeps them."""


REFERENCE = re.compile("%([^%=]+)%")
"""In a text that Windows expands it becomes the value of the variable of that name, if there is one."""


def resolved(text: str, known: Mapping[str, str]) -> str:
    """`known` by names in capitals; what is not among them stays as it is."""
    return REFERENCE.sub(lambda reference: known.get(reference[1].upper(), reference[0]), text)


def kind_of(value: str) -> RegistryKind:
    """As what a value is stored of which nobody says more."""
    return RegistryKind.EXPANDABLE if REFERENCE.search(value) else RegistryKind.STRING


def check_name(name: str) -> str:
    """The name. Raises BadName for what no variable can be called."""
    if not name or "=" in name or "\0" in name:
        raise BadName("use", f"environment variable {in_quotes(name)}", winerror.ERROR_INVALID_NAME)
    return name


class RegistryVariables:
    """What every host answers alike of its Environment: by the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def list(self) -> Mapping[str, str]:
        values = self._registry.values(KEY).items()
        return {name: value.data for name, value in values if isinstance(value.data, str)}

    def get(self, name: str) -> str | None:
        value = self._registry.read(KEY, check_name(name))
        return value.data if value and isinstance(value.data, str) else None

    def kind(self, name: str) -> RegistryKind | None:
        value = self._registry.read(KEY, check_name(name))
        return value.kind if value else None

    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        self._registry.write(KEY, check_name(name), RegistryValue(kind or kind_of(value), value))

    def remove(self, name: str) -> None:
        self._registry.remove(KEY, check_name(name))
