"""A value in the registry, below HKEY_LOCAL_MACHINE."""

import enum
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.spec.registry_key import ROOT, RegistryKey, keys_to
from agent.spec.want import Key, Want


class RegistryType(enum.Enum):
    """By the names that Windows' own tools have for them."""

    STRING = "REG_SZ"
    EXPANDABLE = "REG_EXPAND_SZ"
    BINARY = "REG_BINARY"
    NUMBER = "REG_DWORD"
    STRINGS = "REG_MULTI_SZ"
    LONG_NUMBER = "REG_QWORD"


@registers_secrets
@dataclass(frozen=True, slots=True)
class RegistryValue(Want):
    kind = "registry_value"

    path: str
    r"""Of its key, without the root: SOFTWARE\Contoso."""
    name: str
    """Empty for the value that a key has without a name."""
    type: RegistryType | None
    """None for a value that is not to be there."""
    data: str | int | bytes | tuple[str, ...] | None = field(repr=False)
    secret: bool = False
    """Never shown."""

    @property
    def key(self) -> Key:
        # A name can hold backslashes, and no key is called nothing: the first two in a row end the path.
        return Key(self.kind, rf"{ROOT}\{self.path}\\{self.name}")

    @property
    def on_the_way(self) -> tuple[Want, ...]:
        return () if self.type is None else tuple(keys_to(self.path))

    @property
    def uses(self) -> tuple[Key, ...]:
        return () if self.type is None else (RegistryKey(self.path).key,)


def place_of(name: str) -> tuple[str, str]:
    """Of a resource's name: the key's path without its root, and the value's name."""
    path, _, value = name.partition("\\\\")
    return path.removeprefix(f"{ROOT}\\"), value
