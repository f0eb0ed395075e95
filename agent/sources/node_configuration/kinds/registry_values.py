"""Values of the registry."""

import re

from agent.sources.forms import Checking, Fields, Flag, ListOf, Number, Text, text, texts
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.report import Place
from agent.spec.machine import RegistryType, RegistryValue

_MOST_BYTES = 1 << 20
_CONTROL = r"system\currentcontrolset"
_NUMBERED = re.compile(r"^system\\controlset[0-9]{3}(?=\\)")
_OTHERWISE = {
    rf"{_CONTROL}\control\session manager\environment": (
        "the machine's variables are kept by environmentVariables and pathEntries, which Windows hears of"
    ),
    r"software\wmcb": "wmcb keeps here what it goes by itself; choose another key",
    rf"{_CONTROL}\services\wmcb": (
        "this is the service that does all this; the command daemon install changes it"
    ),
}
"""Who looks after what is there."""

_TYPES = {
    "string": RegistryType.STRING, "expandable": RegistryType.EXPANDABLE, "strings": RegistryType.STRINGS,
    "dword": RegistryType.NUMBER, "qword": RegistryType.LONG_NUMBER, "binary": RegistryType.BINARY,
}  # fmt: skip
_REGISTRY_VALUE = Fields(
    {
        "key": Text(
            "Where it lies. Keys on the way are made.",
            r"a key below HKLM, such as HKLM\SOFTWARE\Contoso,",
            pattern=r"(HKLM|HKEY_LOCAL_MACHINE)(\\[^\\\x00-\x1f]{1,255})+",
            most=4_000,
        ),
        "name": Text(
            "Left out, it is the value that the key has without a name.", pattern=r"[^\x00]*", most=16_383
        ),
        "string": Text("Its data, as REG_SZ.", pattern=r"[^\x00]*", most=_MOST_BYTES // 2),
        "expandable": Text(
            "The same as REG_EXPAND_SZ: %NAME% in it stands for a variable's value.",
            pattern=r"[^\x00]*",
            most=_MOST_BYTES // 2,
        ),
        "strings": ListOf(
            Text("", "text", pattern=r"[^\x00]+", most=32_000), "Its data, as REG_MULTI_SZ."
        ),
        "dword": Number("Its data, as REG_DWORD.", most=2**32 - 1),
        "qword": Number("Its data, as REG_QWORD.", most=2**64 - 1),
        "binary": Text(
            "Its data, as REG_BINARY.",
            "bytes in hexadecimal digits, such as 00 1f ff,",
            pattern=r"([0-9A-Fa-f]{2}[\s,]*)*",
            most=3 * _MOST_BYTES,
        ),
        "absent": Flag("There is not to be one.", only_true=True),
        "secret": Flag("Its data is never shown."),
    },
    needed=("key",),
    exactly_one=(*_TYPES, "absent"),
)  # fmt: skip


def _registry_value(checking: Checking, given: Given, place: Place) -> RegistryValue:
    _, _, path = text(given["key"]).partition("\\")
    # The one that Windows runs by has a number of its own, too.
    meant = _NUMBERED.sub(lambda _: _CONTROL, path.lower())
    for reserved, advice in _OTHERWISE.items():
        if f"{meant}\\".startswith(f"{reserved}\\"):
            checking.wrong((*place, "key"), advice)
    name, secret = text(given.get("name")), given.get("secret") is True
    field = next((field for field in _TYPES if field in given), None)
    if field is None:
        return RegistryValue(path, name, None, None, secret)
    return RegistryValue(path, name, _TYPES[field], _data(given, field), secret)


def _data(given: Given, field: str) -> str | int | bytes | tuple[str, ...]:
    value = given[field]
    if field == "strings":
        return texts(value)
    if field == "binary":
        return bytes.fromhex(text(value).replace(",", " "))
    return int(value) if isinstance(value, int | float) else text(value)


KIND = several(ListOf(_REGISTRY_VALUE, "Values of the registry, below HKEY_LOCAL_MACHINE."), _registry_value)
