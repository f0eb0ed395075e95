"""The section .modules of the program: Python modules, compiled, in one table."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTION = ".modules"

_MODULE = struct.Struct("<IIII")  # name, code, code's size, whether it is a package


class FrozenModule(NamedTuple):
    name: str
    code: bytes
    """As `marshal` writes it."""
    is_package: bool


def parse(section: bytes) -> list[FrozenModule]:
    """What `build` was given."""
    (count,) = struct.unpack_from("<I", section)
    found = []
    for entry in range(count):
        name, code, size, is_package = _MODULE.unpack_from(section, 4 + _MODULE.size * entry)
        text = section[name : section.index(b"\0", name)].decode("ascii")
        found.append(FrozenModule(text, section[code : code + size], bool(is_package)))
    return found


def place_of_code(names: Sequence[str]) -> int:
    """Where in the section the code of modules of these names begins; one follows the other."""
    return 4 + _MODULE.size * len(names) + sum(len(name) + 1 for name in names)


def build(modules: Sequence[FrozenModule]) -> bytes:
    """What launcher/interpreter.c reads. Python looks through it from the start at each import."""
    place = 4 + _MODULE.size * len(modules)
    names = b"".join(module.name.encode("ascii") + b"\0" for module in modules)
    code_place = place_of_code([module.name for module in modules])
    index = b""
    for module in modules:
        index += _MODULE.pack(place, code_place, len(module.code), module.is_package)
        place += len(module.name) + 1
        code_place += len(module.code)
    return struct.pack("<I", len(modules)) + index + names + b"".join(module.code for module in modules)
