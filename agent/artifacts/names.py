"""What the members of an archive are called, and which of them are wanted under what name.

An archive was made by somebody else, perhaps on another system: what Windows would take for something else
than it says is refused, not mended.
"""

from agent.artifacts.failure import Unusable
from agent.redaction import redacted
from agent.sources.windows_paths import name_fault
from agent.spec import Key, Unpacking

_LONGEST = 2_000
"""Of all its folders and itself: longer ones no Windows path below a folder has room for in practice."""
_MOST_TOLD = 5


class Choice:
    """Of the members of one archive, as they come."""

    def __init__(self, unpacking: Unpacking) -> None:
        self._strip = unpacking.strip
        self._members = {_plain(member): name for member, name in unpacking.members.items()}
        self._missing = dict.fromkeys(self._members)
        self._seen: list[str] = []
        self._files: set[Key] = set()
        self._folders: set[Key] = set()

    def name(self, member: str) -> str | None:
        """Below the target, with backslashes; None for what is not wanted. Raises Unusable."""
        plain = _plain(member)
        self._note(plain)
        if not self._members:
            elements = plain.split("/")[self._strip :]
        elif plain in self._missing:
            del self._missing[plain]
            elements = _plain(self._members[plain]).split("/")
        elif plain in self._members:
            raise Unusable(f"{told(member)} is in it twice")
        else:
            return None
        if not any(elements):
            return None
        _check(member, elements)
        self._take(member, elements)
        return "\\".join(elements)

    def check_complete(self) -> None:
        """Raises Unusable where something is missing."""
        if self._missing:
            there = ", ".join(map(told, self._seen)) or "nothing"
            raise Unusable(f"there is no {told(next(iter(self._missing)))} in it; it has {there}")
        if not self._files:
            raise Unusable("nothing of it is wanted: it is empty, or strip leaves nothing of any name")

    def _note(self, member: str) -> None:
        if len(self._seen) < _MOST_TOLD:
            self._seen.append(member)
        elif len(self._seen) == _MOST_TOLD:
            self._seen.append("...")

    def _take(self, member: str, elements: list[str]) -> None:
        file = Key("", "\\".join(elements))
        folders = {Key("", "\\".join(elements[:count])) for count in range(1, len(elements))}
        if file in self._files:
            raise Unusable(f"{told(member)} is in it twice: to Windows capitals make no difference")
        if file in self._folders or not folders.isdisjoint(self._files):
            raise Unusable(f"{told(member)} is in it as a file and as a folder")
        self._files.add(file)
        self._folders |= folders


def told(member: str) -> str:
    """What a stranger wrote, fit for a console."""
    member = redacted(member)
    plain = "".join(letter if letter.isprintable() else "?" for letter in member[:100])
    return f"{plain}..." if len(member) > len(plain) else plain


def _plain(member: str) -> str:
    """With slashes: some programs for Windows write backslashes into a zip."""
    elements = member.replace("\\", "/").split("/")
    while len(elements) > 1 and elements[0] == ".":
        del elements[0]
    return "/".join(elements)


def _check(member: str, elements: list[str]) -> None:
    if elements[0] == "" or elements[0].endswith(":"):
        raise Unusable(f"{told(member)} in it is a whole path, which is to lead below the folder it goes to")
    if sum(len(element) + 1 for element in elements) > _LONGEST:
        raise Unusable(f"{told(member)} in it is longer than {_LONGEST} characters")
    for element in elements:
        if fault := name_fault(element) if element else "is empty":
            raise Unusable(f"{told(member)} in it cannot be unpacked: {told(element)!r} {fault}")
