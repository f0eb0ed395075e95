"""Security descriptors in their text form (SDDL), and what they grant, by Windows' own rules.

Pure: the sandbox judges access with it on any operating system, and the Windows host compares with it
what it wanted and what it reads back.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

SYSTEM = "S-1-5-18"
ADMINISTRATORS = "S-1-5-32-544"
USERS = "S-1-5-32-545"
AUTHENTICATED_USERS = "S-1-5-11"
INTERACTIVE = "S-1-5-4"
EVERYONE = "S-1-1-0"
CREATOR_OWNER = "S-1-3-0"
CREATOR_GROUP = "S-1-3-1"
OWNER_RIGHTS = "S-1-3-4"
"""In a DACL: what the owner may do, in place of READ_CONTROL and WRITE_DAC that it always has otherwise."""

DELETE = 0x0001_0000
READ_CONTROL = 0x0002_0000
WRITE_DAC = 0x0004_0000
WRITE_OWNER = 0x0008_0000
FILE_ALL = 0x001F_01FF
FILE_READ = 0x0012_0089
FILE_WRITE = 0x0012_0116
FILE_EXECUTE = 0x0012_00A0
FILE_DELETE_CHILD = 0x0040
KEY_ALL = 0x000F_003F

_GENERIC = {0x1000_0000: FILE_ALL, 0x2000_0000: FILE_EXECUTE, 0x4000_0000: FILE_WRITE, 0x8000_0000: FILE_READ}

# fmt: off
_SIDS = {
    "AA": "S-1-5-32-579", "AC": "S-1-15-2-1", "AN": "S-1-5-7", "AO": "S-1-5-32-548", "AS": "S-1-18-1",
    "AU": AUTHENTICATED_USERS, "BA": ADMINISTRATORS, "BG": "S-1-5-32-546", "BO": "S-1-5-32-551", "BU": USERS,
    "CD": "S-1-5-32-574", "CG": CREATOR_GROUP, "CO": CREATOR_OWNER, "CY": "S-1-5-32-569", "ED": "S-1-5-9",
    "ER": "S-1-5-32-573", "ES": "S-1-5-32-576", "HA": "S-1-5-32-578", "HI": "S-1-16-12288",
    "IS": "S-1-5-32-568", "IU": INTERACTIVE, "LS": "S-1-5-19", "LU": "S-1-5-32-559", "LW": "S-1-16-4096",
    "ME": "S-1-16-8192", "MP": "S-1-16-8448", "MS": "S-1-5-32-577", "MU": "S-1-5-32-558",
    "NO": "S-1-5-32-556", "NS": "S-1-5-20", "NU": "S-1-5-2", "OW": OWNER_RIGHTS, "PO": "S-1-5-32-550",
    "PS": "S-1-5-10", "PU": "S-1-5-32-547", "RA": "S-1-5-32-575", "RC": "S-1-5-12", "RD": "S-1-5-32-555",
    "RE": "S-1-5-32-552", "RM": "S-1-5-32-580", "RU": "S-1-5-32-554", "SI": "S-1-16-16384",
    "SO": "S-1-5-32-549", "SS": "S-1-18-2", "SU": "S-1-5-6", "SY": SYSTEM, "UD": "S-1-5-84-0-0-0-0-0",
    "WD": EVERYONE, "WR": "S-1-5-33",
}
# fmt: on
# The aliases of Windows 2000 and XP. The later ones are read but not written: Wine does not know them.
_WRITTEN_SIDS = "AN AO AU BA BG BO BU CG CO ED IU LS NS NU PO PS PU RC RD RE RU SO SU SY WD"
_ALIASES = {_SIDS[alias]: alias for alias in _WRITTEN_SIDS.split()}

# These stand for accounts of this machine or its domain, whose SIDs only the machine knows: Windows writes
# them (a file of the built-in Administrator has O:LA), so they are kept as they are.
# fmt: off
_RELATIVE = frozenset({
    "AP", "CA", "CN", "DA", "DC", "DD", "DG", "DU", "EA", "EK", "KA", "LA", "LG", "PA", "RO", "RS", "SA",
})

_RIGHTS = {
    "GA": 0x1000_0000, "GX": 0x2000_0000, "GW": 0x4000_0000, "GR": 0x8000_0000, "SD": DELETE,
    "RC": READ_CONTROL, "WD": WRITE_DAC, "WO": WRITE_OWNER, "FA": FILE_ALL, "FR": FILE_READ, "FW": FILE_WRITE,
    "FX": FILE_EXECUTE, "KA": KEY_ALL, "KR": 0x0002_0019, "KW": 0x0002_0006, "KX": 0x0002_0019, "CC": 0x001,
    "DC": 0x002, "LC": 0x004, "SW": 0x008, "RP": 0x010, "WP": 0x020, "DT": 0x040, "LO": 0x080, "CR": 0x100,
}
# fmt: on
# The names of directory service and registry rights would say something misleading about a file.
_DIRECTORY_SERVICE = {"CC", "DC", "LC", "SW", "RP", "WP", "DT", "LO", "CR"}
_WRITTEN_RIGHTS = {
    mask: name for name, mask in _RIGHTS.items() if name not in _DIRECTORY_SERVICE and name[0] != "K"
}


class AceFlags(enum.IntFlag):
    OBJECT_INHERIT = 0x01
    CONTAINER_INHERIT = 0x02
    NO_PROPAGATE = 0x04
    INHERIT_ONLY = 0x08
    INHERITED = 0x10


_FLAGS = {
    "OI": AceFlags.OBJECT_INHERIT,
    "CI": AceFlags.CONTAINER_INHERIT,
    "NP": AceFlags.NO_PROPAGATE,
    "IO": AceFlags.INHERIT_ONLY,
    "ID": AceFlags.INHERITED,
}


class AceKind(enum.Enum):
    ALLOW = "A"
    DENY = "D"
    OTHER = ""
    """Conditional, object, callback: kept as written, and left out when access is judged."""


class BadSddl(ValueError):
    """A text that is no SDDL; says where."""

    def __init__(self, text: str, place: int, fault: str) -> None:
        super().__init__(f"security descriptor {text!r}, character {place + 1}: {fault}")
        self.place = place


@dataclass(frozen=True, slots=True)
class Ace:
    kind: AceKind
    flags: AceFlags
    mask: int
    sid: str
    """S-1-...; or a two-letter alias whose SID only the machine knows."""
    verbatim: str = ""
    """The text between the brackets of an ACE of another kind."""

    def __str__(self) -> str:
        if self.kind is AceKind.OTHER:
            return f"({self.verbatim})"
        flags = "".join(name for name, bit in _FLAGS.items() if self.flags & bit)
        rights = _WRITTEN_RIGHTS.get(self.mask, f"{self.mask:#x}")
        return f"({self.kind.value};{flags};{rights};;;{_ALIASES.get(self.sid, self.sid)})"


def allow(sid: str, mask: int, flags: AceFlags = AceFlags(0)) -> Ace:  # noqa: B008 - a constant
    return Ace(AceKind.ALLOW, flags, mask, sid)


@dataclass(frozen=True, slots=True)
class SecurityDescriptor:
    """Owner, group and DACL. Equal descriptors are written alike; `equivalent` ones protect alike."""

    owner: str | None
    group: str | None
    aces: tuple[Ace, ...] | None
    """None is no DACL at all: everybody may do everything. An empty one grants nobody anything."""
    protected: bool = False
    """Takes no ACE over from its folder."""

    @classmethod
    def parse(cls, text: str) -> SecurityDescriptor:
        return _Reader(text).descriptor()

    def __str__(self) -> str:
        parts = []
        if self.owner is not None:
            parts.append(f"O:{_ALIASES.get(self.owner, self.owner)}")
        if self.group is not None:
            parts.append(f"G:{_ALIASES.get(self.group, self.group)}")
        parts.append("D:P" if self.protected else "D:")
        parts += ["NO_ACCESS_CONTROL"] if self.aces is None else map(str, self.aces)
        return "".join(parts)

    def equivalent(self, other: SecurityDescriptor) -> bool:
        """Whether both protect a file, and what is made below a folder, alike.

        Windows reorders what it stores, maps generic rights to the file's own, and splits an inheritable ACE
        with generic rights in two. The group counts for nothing: Windows never asks for it.
        """
        return (
            self.owner == other.owner
            and self.protected == other.protected
            and (self.aces is None) == (other.aces is None)
            and all(_runs(self.aces or (), part) == _runs(other.aces or (), part) for part in _PARTS)
        )

    def granted(self, sids: Collection[str]) -> int:
        """What AccessCheck grants at most to a token with these SIDs, for a file; privileges left out."""
        if self.aces is None:
            return FILE_ALL
        here = [ace for ace in self.aces if not ace.flags & AceFlags.INHERIT_ONLY]
        is_owner = self.owner in sids
        owner_limited = any(ace.sid == OWNER_RIGHTS for ace in here)
        granted, denied = (READ_CONTROL | WRITE_DAC if is_owner and not owner_limited else 0), 0
        for ace in here:
            if not (ace.sid in sids or (is_owner and ace.sid == OWNER_RIGHTS)):
                continue
            mask = specific(ace.mask)
            if ace.kind is AceKind.ALLOW:
                granted |= mask & ~denied
            elif ace.kind is AceKind.DENY:
                denied |= mask & ~granted
        return granted


def specific(mask: int) -> int:
    """The mask with generic rights replaced by what they mean for a file."""
    for generic, rights in _GENERIC.items():
        if mask & generic:
            mask = mask & ~generic | rights
    return mask


_PARTS: tuple[Callable[[Ace], object], ...] = (
    lambda ace: None if ace.flags & AceFlags.INHERIT_ONLY else "here",
    lambda ace: _below(ace, AceFlags.OBJECT_INHERIT),
    lambda ace: _below(ace, AceFlags.CONTAINER_INHERIT),
)
"""An ACE says something of the object itself, of files below it and of folders below it: each apart."""


def _below(ace: Ace, inherit: AceFlags) -> object:
    return ("below", ace.flags & AceFlags.NO_PROPAGATE) if ace.flags & inherit else None


def _runs(aces: tuple[Ace, ...], part: Callable[[Ace], object]) -> list[tuple[str, dict[object, int]]]:
    """The ACEs that say something of `part`, in runs of one kind. Order within a run means nothing."""
    runs: list[tuple[str, dict[object, int]]] = []
    for ace in aces:
        scope = part(ace)
        mask = specific(ace.mask)
        kind = ace.verbatim or ace.kind.value
        if scope is None or not (mask or ace.verbatim):
            continue
        if not runs or runs[-1][0] != kind:
            runs.append((kind, {}))
        masks = runs[-1][1]
        masks[ace.sid, scope] = masks.get((ace.sid, scope), 0) | mask
    return runs


_SID = re.compile(r"S-1-(0x[0-9A-F]{1,12}|\d{1,10})((?:-\d{1,10}){1,15})", re.IGNORECASE)
_NUMBER = re.compile(r"0x[0-9A-F]{1,8}|\d{1,10}", re.IGNORECASE)


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def descriptor(self) -> SecurityDescriptor:
        owner = self.sid() if self.take("O:") else None
        group = self.sid() if self.take("G:") else None
        protected, aces = self.dacl() if self.take("D:") else (False, None)
        if self.text.startswith("S:", self.place):
            raise self.fault("audit entries (S:) are not supported")
        if self.place != len(self.text):
            raise self.fault("expected O:, G: or D:, each once and in this order")
        return SecurityDescriptor(owner, group, aces, protected)

    def dacl(self) -> tuple[bool, tuple[Ace, ...] | None]:
        protected = null = False
        while True:
            if self.take("NO_ACCESS_CONTROL"):
                null = True
            elif self.take("P"):
                protected = True
            elif not (self.take("AI") or self.take("AR")):
                # AI and AR are notes of how inheritance was last spread; they protect nothing.
                break
        aces = tuple(self.aces())
        if null and aces:
            raise self.fault("NO_ACCESS_CONTROL leaves no room for entries")
        return protected, None if null else aces

    def aces(self) -> Iterator[Ace]:
        while self.take("("):
            yield self.ace()

    def ace(self) -> Ace:
        start = self.place
        if not (self.text.startswith("A;", start) or self.text.startswith("D;", start)):
            return self.other_ace()
        kind = AceKind(self.text[start])
        self.place += 1
        self.expect(";")
        flags = self.flags()
        self.expect(";")
        mask = self.mask()
        self.expect(";;;")
        sid = self.sid()
        self.expect(")")
        return Ace(kind, flags, mask, sid)

    def other_ace(self) -> Ace:
        """Up to its closing bracket: a condition has brackets of its own, and texts in quotes."""
        start, depth, quoted = self.place, 1, False
        for place in range(start, len(self.text)):
            character = self.text[place]
            if character == '"':
                quoted = not quoted
            elif not quoted:
                depth += {"(": 1, ")": -1}.get(character, 0)
            if depth == 0:
                verbatim = self.text[start:place]
                if not re.match(r"[A-Z]{2};", verbatim):
                    raise self.fault("expected A; or D; or another kind of entry")
                self.place = place + 1
                return Ace(AceKind.OTHER, AceFlags(0), 0, "", verbatim)
        raise self.fault("the bracket is never closed")

    def flags(self) -> AceFlags:
        return AceFlags(self.letters(_FLAGS, "expected OI, CI, NP, IO, ID or a semicolon"))

    def letters(self, table: Mapping[str, int], expected: str) -> int:
        """Return the bits of all pairs of letters up to a semicolon."""
        bits = 0
        while not self.text.startswith(";", self.place):
            bit = table.get(self.text[self.place : self.place + 2])
            if bit is None:
                raise self.fault(expected)
            bits |= bit
            self.place += 2
        return bits

    def mask(self) -> int:
        if number := _NUMBER.match(self.text, self.place):
            digits = number[0]
            base = 16 if digits[:2].lower() == "0x" else 8 if digits[0] == "0" else 10
            try:
                mask = int(digits, base)
            except ValueError:
                raise self.fault(f"{digits} is no octal number, which its leading zero makes it") from None
            if mask > 0xFFFF_FFFF:
                raise self.fault("an access mask has 32 bits")
            self.place = number.end()
            return mask
        return self.letters(_RIGHTS, "expected a right such as FA, FR, FX, GA, or a number")

    def sid(self) -> str:
        if match := _SID.match(self.text, self.place):
            authority = int(match[1], 0) if match[1][1:2] in ("x", "X") else int(match[1])
            rest = [int(number) for number in match[2].split("-")[1:]]
            if max(rest) > 0xFFFF_FFFF:
                raise self.fault("a part of the SID is larger than 32 bits")
            self.place = match.end()
            # Windows writes an authority that needs more than 32 bits in hexadecimal.
            written = str(authority) if authority < 1 << 32 else f"0x{authority:012X}"
            return "-".join(["S-1", written, *map(str, rest)])
        alias = self.text[self.place : self.place + 2]
        if alias not in _SIDS and alias not in _RELATIVE:
            raise self.fault("expected a SID (S-1-...) or a well-known alias such as SY or BA")
        self.place += 2
        return _SIDS.get(alias, alias)

    def take(self, word: str) -> bool:
        if self.text.startswith(word, self.place):
            self.place += len(word)
            return True
        return False

    def expect(self, word: str) -> None:
        if not self.take(word):
            raise self.fault(f"expected {word}")

    def fault(self, fault: str) -> BadSddl:
        return BadSddl(self.text, self.place, fault)
