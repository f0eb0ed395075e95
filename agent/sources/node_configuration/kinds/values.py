"""What one field of a document says of a node, and the values that several of them have."""

import base64
import binascii
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from agent.documents import Value, items, mapping, text
from agent.sources.forms import Checking, Fields, Form, ListOf, Number, Text
from agent.sources.kubelet.quantities import quantity
from agent.sources.node_configuration.model import RemoteFile
from agent.sources.report import Place
from agent.sources.windows_paths import windows_path_fault
from agent.spec import Inline, Key, Protection, Want
from agent.spec.files import SIZE_LIMIT

Given = dict[str, Value]
Wanted = Want | RemoteFile


@dataclass(frozen=True, slots=True)
class Kind:
    form: Form
    wanted: Callable[[Checking, Value, Place], Iterator[tuple[Wanted, Place]]]
    """Of a value that has its form; what else is wrong goes into the checking. With its place each."""


def several(form: ListOf, of_one: Callable[[Checking, Given, Place], Wanted]) -> Kind:
    """A list, each item of which is a resource."""

    def wanted(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for number, item in enumerate(items(value)):
            here = (*place, number)
            yield of_one(checking, mapping(item), here), here

    return Kind(form, wanted)


def single(form: Form, of_it: Callable[[Checking, Value, Place], Iterable[Wanted]]) -> Kind:
    """A value that is there once in a document."""

    def wanted(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
        for each in of_it(checking, value, place):
            yield each, place

    return Kind(form, wanted)


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


_FORMS = {
    "file": path_form("The file of this path."),
    "directory": path_form("The folder of this path."),
    "service": service_name_form("The service of this name."),
    "environmentVariable": VARIABLE,
    "command": name_form("The command of this name."),
    "network": name_form("The container network of this name."),
    "containerdConfiguration": path_form("containerd's configuration file of this path."),
    "windowsFeature": FEATURE,
}
_KINDS = {
    "environmentVariable": "environment_variable",
    "network": "hns_network",
    "containerdConfiguration": "containerd_configuration",
    "windowsFeature": "windows_feature",
}
"""Of the specification, where its name is another."""
_BY_PATH = ("file", "directory", "containerdConfiguration")

REFERENCE = Fields(_FORMS, "Something else that is wanted of the node.", exactly_one=tuple(_FORMS))


def references(given: Value) -> Iterator[Key]:
    for reference in map(mapping, items(given)):
        for field, value in reference.items():
            name = text(value)
            yield Key(_KINDS.get(field, field), str(PureWindowsPath(name)) if field in _BY_PATH else name)
