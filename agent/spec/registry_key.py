"""A key of the registry, below HKEY_LOCAL_MACHINE."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.spec.want import Key, Want

ROOT = "HKLM"
_ALWAYS_THERE = frozenset({
    "HARDWARE", "SAM", "SECURITY", "SOFTWARE", r"SOFTWARE\CLASSES", r"SOFTWARE\MICROSOFT",
    r"SOFTWARE\MICROSOFT\WINDOWS", r"SOFTWARE\MICROSOFT\WINDOWS\CURRENTVERSION",
    r"SOFTWARE\MICROSOFT\WINDOWS NT", r"SOFTWARE\MICROSOFT\WINDOWS NT\CURRENTVERSION", r"SOFTWARE\POLICIES",
    r"SOFTWARE\POLICIES\MICROSOFT", "SYSTEM", r"SYSTEM\CURRENTCONTROLSET",
    r"SYSTEM\CURRENTCONTROLSET\CONTROL", r"SYSTEM\CURRENTCONTROLSET\SERVICES",
})  # fmt: skip
"""Nobody makes these, and nobody is to be asked whether they are there."""


@dataclass(frozen=True, slots=True)
class RegistryKey(Want):
    """There, whatever is in it. It goes again where wmcb made it and nobody has put anything into it."""

    kind = "registry_key"

    path: str
    r"""Without its root: SOFTWARE\Contoso."""

    @property
    def key(self) -> Key:
        return Key(self.kind, rf"{ROOT}\{self.path}")

    @property
    def uses(self) -> tuple[Key, ...]:
        above, _, _ = self.path.rpartition("\\")
        return (Key(self.kind, rf"{ROOT}\{above}"),) if above else ()


def keys_to(path: str) -> Iterator[RegistryKey]:
    """A key and those above it, but for what every Windows has."""
    parts = path.split("\\")
    for length in range(1, len(parts) + 1):
        want = RegistryKey("\\".join(parts[:length]))
        if want.path.upper() not in _ALWAYS_THERE:
            yield want
