"""What a certificate says of itself: enough of X.509 to say why it is not trusted, and to know its key."""

from __future__ import annotations

import binascii
import ipaddress
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

_COMMON_NAME, _ORGANISATION, _UNIT = b"\x55\x04\x03", b"\x55\x04\x0a", b"\x55\x04\x0b"
_NAME_PARTS = {_COMMON_NAME: "CN", _ORGANISATION: "O", _UNIT: "OU"}
_ALTERNATIVE_NAMES = b"\x55\x1d\x11"

_UTC_TIME, _GENERALIZED_TIME, _WIDE_TEXT = 0x17, 0x18, 0x1E
_VERSION, _EXTENSIONS = 0xA0, 0xA3
_INTEGER, _SEQUENCE = 0x02, 0x30
_FIELDS = [_INTEGER, *5 * [_SEQUENCE]]
"""Serial number, algorithm, issuer, validity, subject, key."""
_DNS_NAME, _ADDRESS = 0x82, 0x87

PEM = re.compile(rb"-----BEGIN CERTIFICATE-----([^-]+)-----END CERTIFICATE-----")
"""A certificate in a text, whatever stands around it; its base64."""
_BLOCK = re.compile("-----BEGIN ([A-Z0-9 ]+)-----((?:(?!-----BEGIN ).)*?)-----END \\1-----", re.DOTALL)
_BEGINNING = "-----BEGIN "
_CERTIFICATE = "CERTIFICATE"
_LONGEST = 100
_MOMENT = re.compile("([0-9]{4})" + 5 * "([0-9]{2})" + "Z")


@dataclass(frozen=True, slots=True)
class Certificate:
    subject: str
    issuer: str
    subject_name: bytes
    """As it was signed, to compare with another's issuer."""
    issuer_name: bytes
    first: datetime
    last: datetime
    names: tuple[str, ...]
    """Of the hosts that it is for."""
    public_key: bytes
    """Its SubjectPublicKeyInfo, as it was signed."""

    def covers(self, moment: datetime) -> bool:
        return self.first <= moment <= self.last


def read(der: bytes) -> Certificate:
    """Raises ValueError for what is no certificate."""
    try:
        return _read(der)
    except (IndexError, ValueError, OverflowError) as fault:
        raise ValueError("no certificate") from fault


def in_pem(text: str) -> list[bytes]:
    """The certificates of a PEM text, each in DER; what stands around them is for people.

    Raises ValueError, in a line that quotes nothing: what was put there by mistake may be a key.
    """
    found = _BLOCK.findall(text)
    if len(found) != text.count(_BEGINNING):
        raise ValueError("what begins there does not end, as if it were cut off")
    if any(label != _CERTIFICATE for label, _ in found):
        raise ValueError("there is something else than certificates in it")
    return [_der(number, block) for number, (_, block) in enumerate(found, 1)]


def _der(number: int, block: str) -> bytes:
    try:
        der = binascii.a2b_base64("".join(block.split()), strict_mode=True)
        read(der)
    except ValueError:
        raise ValueError(f"the {_ordinal(number)} of what it calls certificates is none") from None
    return der


def _ordinal(number: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(number, f"{number}th")


class _Element(NamedTuple):
    tag: int
    content: bytes
    whole: bytes


def _read(der: bytes) -> Certificate:
    (whole,) = _elements(der)
    fields = _elements(_elements(whole.content)[0].content)
    if fields[0].tag == _VERSION:
        fields = fields[1:]
    _serial, _algorithm, issuer, validity, subject, key, *more = fields
    if [field.tag for field in fields[:6]] != _FIELDS:
        raise ValueError("what a certificate begins with is something else here")
    first, last = _elements(validity.content)
    return Certificate(
        _name(subject),
        _name(issuer),
        subject.whole,
        issuer.whole,
        _time(first),
        _time(last),
        tuple(name for part in more if part.tag == _EXTENSIONS for name in _host_names(part)),
        key.whole,
    )


def _elements(data: bytes) -> list[_Element]:
    """What `data` is a row of."""
    found = []
    place = 0
    while place < len(data):
        size = data[place + 1]
        start = place + 2
        if size & 0x80:
            digits = size & 0x7F
            size = int.from_bytes(data[start : start + digits], "big")
            start += digits
            # A length that could be read in two ways could be read in another way by whoever believes it.
            if size < 0x80 or size >> 8 * (digits - 1) == 0:
                raise ValueError("a length is not written as DER has it")
        end = start + size
        if end > len(data):
            raise ValueError("an element is longer than what it is in")
        found.append(_Element(data[place], data[start:end], data[place:end]))
        place = end
    return found


def _name(name: _Element) -> str:
    parts = []
    for group in _elements(name.content):
        for pair in _elements(group.content):
            kind, value = _elements(pair.content)
            if kind.content in _NAME_PARTS:
                text = value.content.decode("utf-16-be" if value.tag == _WIDE_TEXT else "utf-8", "replace")
                parts.append(f"{_NAME_PARTS[kind.content]}={_plain(text)}")
    return ", ".join(reversed(parts)) or "without a name"


def _plain(text: str) -> str:
    """What a stranger wrote, fit for a console."""
    return "".join(character if character.isprintable() else "?" for character in text[:_LONGEST])


def _time(element: _Element) -> datetime:
    text = element.content.decode("ascii")
    if element.tag == _UTC_TIME:
        text = ("20" if text < "50" else "19") + text
    elif element.tag != _GENERALIZED_TIME:
        raise ValueError("no time")
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError("no time")
    # Not by strptime, which first learns the names of all months and days in this machine's language.
    year, month, day, hour, minute, second = map(int, found.groups())
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _host_names(extensions: _Element) -> list[str]:
    names = []
    for extension in _elements(_elements(extensions.content)[0].content):
        identifier, *_, value = _elements(extension.content)
        if identifier.content == _ALTERNATIVE_NAMES:
            for name in _elements(_elements(value.content)[0].content):
                if name.tag == _DNS_NAME:
                    names.append(_plain(name.content.decode("ascii", "replace")))
                elif name.tag == _ADDRESS:
                    names.append(str(ipaddress.ip_address(name.content)))
    return names
