"""What %n, %H and their kin stand for on a Windows node, and which of them stand for nothing there."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_LINUX_FOLDERS = {
    # As for every service of the system; whoever uses one as a path maps it like any other path.
    "C": "/var/cache",
    "D": "/usr/share",
    "E": "/etc",
    "L": "/var/log",
    "S": "/var/lib",
    "T": "/tmp",  # noqa: S108 (systemd's answer, not a file of ours)
    "V": "/var/tmp",  # noqa: S108
    "t": "/run",
}
_WINDOWS_SYSTEM = {
    # A service without User= runs as root on Linux; here it is the system itself.
    "u": "SYSTEM",
    "g": "SYSTEM",
    "o": "windows",
    "a": "x86-64",
    "A": "",
    "B": "",
    "M": "",
    "W": "",
}
_NO_ANSWER = {
    "G": "a group number", "R": "a control group", "U": "a user number", "b": "the boot id",
    "c": "a control group", "d": "a credentials folder", "h": "a home directory", "m": "the machine id",
    "q": "a pretty host name", "r": "a control group", "s": "a login shell",
    "v": "the release of a Linux kernel",
}  # fmt: skip
FROM_THE_NODE = "Hlw"
"""Host name, its first label, and the version of the operating system: for the caller to answer."""

_LETTER = re.compile("[0-9A-Za-z]")


class UnknownSpecifier(Exception):
    """systemd refuses the setting. The text is the specifier."""


@dataclass(frozen=True, slots=True)
class Resolved:
    text: str
    unanswered: tuple[str, ...] = ()
    """Specifiers that stand for something which a Windows node has not; nothing is in their place."""


def answers(unit: str, path: str, node: Mapping[str, str]) -> dict[str, str]:
    """`path` is the unit's own file; `node` answers the letters of FROM_THE_NODE, as far as it can."""
    name = unit.rpartition(".")[0]
    prefix, _, instance = name.partition("@")
    last = prefix.rpartition("-")[2]
    of_unit = {
        "n": unit,
        "N": name,
        "p": prefix,
        "P": _unescape(prefix),
        "i": instance,
        "I": _unescape(instance),
        "j": last,
        "J": _unescape(last),
        "f": "/" + _unescape(instance or prefix),
        "y": path,
        "Y": path.rpartition("/")[0],
    }
    return {**_LINUX_FOLDERS, **_WINDOWS_SYSTEM, **of_unit, **node}


def resolve(text: str, known: Mapping[str, str]) -> Resolved:
    """Raises UnknownSpecifier."""
    made: list[str] = []
    unanswered: list[str] = []
    place = 0
    while (percent := text.find("%", place)) >= 0 and percent + 1 < len(text):
        made.append(text[place:percent])
        letter = text[percent + 1]
        place = percent + 2
        if letter == "%":
            made.append("%")
        elif letter in known:
            made.append(known[letter])
        elif letter in _NO_ANSWER or letter in FROM_THE_NODE:
            unanswered.append(f"%{letter}")
        elif _LETTER.fullmatch(letter):
            raise UnknownSpecifier(f"%{letter}")
        else:
            made.append(f"%{letter}")
    return Resolved("".join([*made, text[place:]]), tuple(unanswered))


def _unescape(name: str) -> str:
    """As systemd-escape --unescape: - is /, \\x2d is a character."""
    slashed = name.replace("-", "/")
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), slashed)
