"""The registry of a node, read from what Wine's own reg.exe exports.

Not from system.reg in the prefix: the wineserver writes that every half minute and when it ends, so that it
tells the past while the node is up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

TYPES = {
    0: "REG_NONE",
    1: "REG_SZ",
    2: "REG_EXPAND_SZ",
    3: "REG_BINARY",
    4: "REG_DWORD",
    7: "REG_MULTI_SZ",
    11: "REG_QWORD",
}


@dataclass(frozen=True)
class Value:
    """A value and its type, whose data is a text, a number, a list of texts or bytes."""

    type: str
    data: str | int | list[str] | bytes


@dataclass
class Key:
    """Names of values and of keys are found in any letters, as Windows does."""

    values: dict[str, Value] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> Value:
        return next(value for known, value in self.values.items() if known.lower() == name.lower())

    def __contains__(self, name: str) -> bool:
        return any(known.lower() == name.lower() for known in self.values)

    def data(self, name: str) -> str | int | list[str] | bytes | None:
        return self[name].data if name in self else None


def parse(exported: str, path: str) -> Key:
    """The key at `path` out of an export of it and of all below."""
    found = Key()
    for name, values in parse_all(exported).items():
        # reg.exe writes the path that it was asked for, with the hive's name in full.
        below = name.split("\\")[path.count("\\") + 1 :]
        if not below:
            found.values = values
        elif len(below) == 1:
            found.keys.append(below[0])
    return found


def parse_all(exported: str) -> dict[str, dict[str, Value]]:
    """The values of every key in an export, by the key's whole path."""
    found: dict[str, dict[str, Value]] = {}
    values: dict[str, Value] = {}
    _, *lines = _whole_lines(exported)
    for line in filter(None, lines):
        if line.startswith("["):
            values = found.setdefault(line[1:-1], {})
        elif named := _NAMED.fullmatch(line):
            values[_unescaped(named[1] or "")] = _value(named[2])
        else:
            raise ValueError(f"not a line of a registry export: {line!r}")
    return found


_NAMED = re.compile(r'(?:@|"((?:[^"\\]|\\.)*)")=(.*)', re.DOTALL)


def _whole_lines(exported: str) -> Iterator[str]:
    # Long hexadecimal data goes on in the next line after a backslash.
    return iter(re.sub(r"\\\r?\n\s*", "", exported).replace("\r\n", "\n").split("\n"))


def _value(text: str) -> Value:
    if text.startswith('"'):
        return Value("REG_SZ", _unescaped(text[1:-1]))
    kind, _, data = text.partition(":")
    if kind == "dword":
        return Value("REG_DWORD", int(data, 16))
    number = int(re.sub(r"hex\(?(\w*)\)?", r"\1", kind) or "3", 16)
    raw = bytes.fromhex(data.replace(",", ""))
    name = TYPES.get(number, f"type {number}")
    if name in ("REG_SZ", "REG_EXPAND_SZ"):
        return Value(name, raw.decode("utf-16-le").rstrip("\0"))
    if name == "REG_MULTI_SZ":
        return Value(name, [part for part in raw.decode("utf-16-le").split("\0") if part])
    if name in ("REG_DWORD", "REG_QWORD"):
        return Value(name, int.from_bytes(raw, "little"))
    return Value(name, raw)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
