"""Values that several kinds have: their forms, and how they are made typed."""

import base64
import binascii
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.sources.forms import Checking, Number, Text, text
from agent.sources.kubelet.quantities import quantity
from agent.sources.node_configuration.kinds.kind import Given
from agent.sources.report import Place
from agent.sources.windows_paths import windows_path_fault
from agent.spec import Inline, Protection
from agent.spec.files import SIZE_LIMIT

DAY = 86_400
"""In seconds."""

_LONGEST_PATH = 32_000
_OWN_FOLDER = ("programdata", "wmcb")


def path_form(about: str) -> Text:
    expected = "a whole Windows path with its drive, such as C:\\k\\tool.exe,"
    return Text(about, expected, pattern=r"[A-Za-z]:[\\/][^\x00-\x1f]*", most=_LONGEST_PATH)


def name_form(about: str) -> Text:
    return Text(about, "a name", pattern=r"[^\x00-\x1f]+", most=256)


def service_name_form(about: str) -> Text:
    return Text(about, "a service's name", pattern=r"[^/\\\x00-\x1f]+", most=256)


def seconds_form(about: str, most: float = DAY, least: float = 0) -> Number:
    return Number(about, least=least, most=most, whole=False)


_BYTE = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = rf"({_BYTE}\.){{3}}{_BYTE}"


def address_form(about: str) -> Text:
    return Text(about, "an IPv4 address", pattern=_IPV4)


def prefix_form(about: str) -> Text:
    return Text(about, "an IPv4 network such as 10.244.0.0/16", pattern=rf"{_IPV4}/(3[0-2]|[12]?[0-9])")


VARIABLE = Text("Its name.", "a variable's name", pattern=r"[^=\x00-\x1f]+", most=255)
FEATURE = Text(
    "As DISM knows it: Containers, Microsoft-Hyper-V.",
    "a feature's name",
    pattern=r"[A-Za-z0-9._-]+",
    most=255,
)
ANY_TEXT = Text(pattern=r"[^\x00]*", most=32_000)
VALUE = replace(ANY_TEXT, about="Its value.")
PROTECTION = Text(
    "Who may do what with it. private: SYSTEM and administrators only. program: users may read and run it."
    " pods:"
    " a folder of volumes, which users may add to.",
    one_of=("private", "program", "pods"),
)
MAX_SIZE = Text(
    "It is refused if it is larger: 1Gi where nothing is said.",
    "a size, such as 500Mi or 4Gi,",
    pattern="[1-9][0-9]{0,11}(?:[kMGT]|[KMGT]i)?",
)
SHA256 = Text("What it has to hash to.", "a SHA-256 in 64 hexadecimal digits", pattern="[0-9A-Fa-f]{64}")
BASE64 = Text("Its content, in base64.", "base64", pattern=r"[A-Za-z0-9+/=\s]*")


def path(given: Given, name: str) -> PureWindowsPath | None:
    return PureWindowsPath(text(given[name])) if name in given else None


def own_path(checking: Checking, given: Given, place: Place, name: str = "path") -> PureWindowsPath:
    """The field of that name, of something that is to be made; `place` is that of what has the field."""
    own = PureWindowsPath(text(given[name]))
    if fault := windows_path_fault(own):
        checking.wrong((*place, name), f"nothing of ours can lie there: {fault}")
    if tuple(part.lower() for part in own.parts[1:3]) == _OWN_FOLDER:
        checking.wrong(
            (*place, name), "this is where wmcb keeps what it knows of the node; choose another folder"
        )
    return own


def protection(given: Given) -> Protection:
    return Protection(text(given.get("protection")) or "private")


def size_limit(given: Given) -> int:
    """Of what has perhaps a field `maxSize`."""
    said = quantity(text(given.get("maxSize")))
    return SIZE_LIMIT if said is None else int(said)


def content(checking: Checking, given: Given, place: Place) -> Inline:
    """Of the fields `text` and `base64`, one of which is there."""
    if "text" in given:
        return Inline(_utf8(checking, text(given["text"]), (*place, "text")))
    joined = "".join(text(given["base64"]).split())
    try:
        return Inline(base64.b64decode(joined, validate=True))
    except binascii.Error:
        checking.wrong((*place, "base64"), "it is no base64, or not all of it")
        return Inline(b"")


def _utf8(checking: Checking, given: str, place: Place) -> bytes:
    try:
        return given.encode()
    except UnicodeEncodeError:
        checking.wrong(place, "it has half a character, which no file in UTF-8 can hold")
        return b""
