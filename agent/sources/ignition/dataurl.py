"""data: URLs, as strict as the library that Ignition decodes them with: base64 and percent."""

import binascii
import re

_PREFIX = "data:"
_WORD = r"[!#$%&'*+.0-9A-Z^_`a-z{|}~-]"
_HEADER = re.compile(
    r"data:"
    rf"(?:(?:[xX]-{_WORD}*|(?:text|image|audio|video|application|message|multipart){_WORD}*)/{_WORD}*)?"
    rf"(?P<parameters>(?:;{_WORD}+=(?:{_WORD}+|\"(?:[^\"\\]|\\.)*\"))*)"
    r"(?P<base64>;base64)?,",
    re.ASCII | re.DOTALL,
)
_PARAMETER = re.compile(rf";{_WORD}+=(?:\"((?:[^\"\\]|\\.)*)\"|({_WORD}+))", re.DOTALL)
_QUOTED_TEXT = re.compile(
    r"(?:[\x00-\x09\x0b-\x5b\x5d-\x7f]|\\(?:[abfnrtv\\\"]|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}"
    r"|u(?![dD][89A-Fa-f])[0-9A-Fa-f]{4}|U(?!0000[dD][89A-Fa-f])00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}))*"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Also # goes, in the parameters' values; there it begins a fragment to the URL around.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DATA = b"!$%&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"


class NotDecodable(Exception):
    """No data URL. The text says why."""


def decode(url: str) -> bytes:
    """The bytes inside; raises NotDecodable."""
    header = _HEADER.match(url)
    if header is None:
        raise NotDecodable(_why_no_header(url))
    if not _sound_parameters(header["parameters"]) or _CONTROL.search(header[0]):
        raise NotDecodable("the parameters before its comma are not sound")
    if "#" in header[0] and _BAD_ESCAPE.search(url, header[0].index("#")):
        raise NotDecodable("it has a % without two hexadecimal digits")
    if header["base64"]:
        return _from_base64(url[header.end() :])
    return _from_percent(url, header.end())


def _why_no_header(url: str) -> str:
    if not url.startswith(_PREFIX):
        return f"it does not begin with {_PREFIX} in lower case"
    if "," not in url:
        return "it has no comma before its data"
    return "what is before its comma is no media type, parameter or ;base64"


def _sound_parameters(parameters: str) -> bool:
    return all(
        _QUOTED_TEXT.fullmatch(quoted) and not _BAD_ESCAPE.search(plain)
        for quoted, plain in _PARAMETER.findall(parameters)
    )


def _from_base64(data: str) -> bytes:
    try:
        # Python lets padding pass where none is needed.
        if len(data) % 4 == 0 and not data.endswith("==="):
            return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:  # binascii.Error, and any character that isn't ASCII
        pass
    raise NotDecodable("its data is not base64 (standard alphabet, with padding, no blanks)")


def _from_percent(url: str, start: int) -> bytes:
    data = url[start:].encode()
    if data.translate(None, _DATA):
        found = next(byte for byte in data.decode() if byte not in _DATA.decode())
        raise NotDecodable(f"the character U+{ord(found):04X} in its data must be written with %")
    # Quoted-printable is the same with another sign, and the only such thing that Python decodes in C. It
    # leaves alone what is no escape, which shows in the length.
    decoded = binascii.a2b_qp(data.replace(b"=", b"=3D").replace(b"%", b"="))
    if len(decoded) != len(data) - 2 * data.count(b"%"):
        raise NotDecodable("it has a % without two hexadecimal digits")
    return decoded
