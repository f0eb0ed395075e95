"""Which paths both hosts take: absolute, on a drive, and with names that mean one file and no other.

Windows itself is more lenient: it drops dots and blanks at a name's end, takes NUL.txt for a device and
`file:stream` for a part of a file. Whoever lets such a name in has a file that is not where it seems.
"""

import re
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import BadName
from agent.redaction import in_quotes

_LONGEST_ELEMENT = 255
_LONGEST_PATH = 32_000
"""Windows' 32,767, less what it puts in front of a long path itself and what we add to a temporary name."""

_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"/|?*]')
_DEVICE = re.compile(r"(CON|PRN|AUX|NUL|(COM|LPT)[1-9¹²³]|CONIN\$|CONOUT\$)\s*(\..*)?", re.IGNORECASE)


def check_path(action: str, path: PureWindowsPath) -> None:
    """Raises BadName, whose text says what `action` was refused and why."""
    if not re.fullmatch(r"[A-Za-z]:", path.drive) or not path.root:
        raise BadName(
            action, str(path), winerror.ERROR_BAD_PATHNAME, "give a whole path with its drive, such as C:\\k"
        )
    if _units(str(path)) > _LONGEST_PATH:
        raise BadName(
            action,
            str(path)[:60] + "...",
            winerror.ERROR_FILENAME_EXCED_RANGE,
            f"it is longer than {_LONGEST_PATH} characters",
        )
    for element in path.parts[1:]:
        if fault := _fault(element):
            raise BadName(action, str(path), winerror.ERROR_INVALID_NAME, f"{in_quotes(element)} {fault}")


def check_pipe(name: str) -> None:
    """Raises BadName for what cannot be a pipe's name."""
    if not name or set(name) & {"\0", "/", "\\"}:
        raise BadName(
            "look for",
            f"pipe {in_quotes(name)}",
            winerror.ERROR_INVALID_NAME,
            "give its name without what stands before it",
        )


def check_registry_key(key: str) -> str:
    """Return the key below HKEY_LOCAL_MACHINE. Raises BadName for what cannot be one.

    An empty name would be the root of all, which to remove would be the end of Windows.
    """
    if not key.strip("\\") or key.startswith("\\"):
        subject, advice = f"registry key {in_quotes(key)}", "give it without HKEY_LOCAL_MACHINE"
        raise BadName("use", subject, winerror.ERROR_BAD_PATHNAME, advice)
    return key


def _fault(element: str) -> str | None:
    if element == "..":
        return "leads back out of its folder"
    if found := _FORBIDDEN.search(element):
        return f"contains {in_quotes(found[0])}"
    if element.endswith((" ", ".")):
        return "ends with a blank or a dot, which Windows would drop"
    if _DEVICE.fullmatch(element):
        return "is the name of a device"
    if _units(element) > _LONGEST_ELEMENT:
        return f"is longer than {_LONGEST_ELEMENT} characters"
    return None


def _units(text: str) -> int:
    """Its length as Windows counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
