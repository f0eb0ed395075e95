"""Where a path of a Linux document lies on a Windows node: the same path on C:.

What Windows would take for something else is refused, not repaired: a name that ends in a dot, the name of a
device, a stream of another file. Whoever writes such a file would find it in a place that nobody asked for.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.redaction import in_quotes, redacted

DRIVE = "C:"

_LONGEST_ELEMENT = 255
_LONGEST_PATH = 32_000
"""As the hosts take it: Windows' own limit, less room for temporary names."""

_FORBIDDEN = re.compile(r'[\x00-\x1f<>:"|?*\\]')
_SHORT_NAME = re.compile(r"[^.~]{1,6}~[0-9]{1,6}(\..{0,3})?")
_DEVICE = re.compile(r"(CON|PRN|AUX|NUL|(COM|LPT)[1-9¹²³]|CONIN\$|CONOUT\$)\s*(\..*)?", re.IGNORECASE)

WINDOWS_OWN = frozenset({
    "$recycle.bin", "$winreagent", "boot", "bootmgr", "bootnxt", "config.msi", "documents and settings",
    "dumpstack.log", "efi", "hiberfil.sys", "pagefile.sys", "perflogs", "program files",
    "program files (x86)", "programdata", "recovery", "swapfile.sys", "system volume information", "users",
    "windows",
})  # fmt: skip
"""What lies on C: already and is the system's: a Linux document that names it means something else."""


class NotOnWindows(Exception):
    """The text says what Windows has against the path."""

    def __init__(self, text: str, unquoted: str = "") -> None:
        """`unquoted` says the same without a word of the path."""
        super().__init__(text)
        self.unquoted = unquoted or text


def on_windows(linux: str) -> str:
    """/etc/kubernetes/manifests/ becomes C:\\etc\\kubernetes\\manifests. Raises NotOnWindows."""
    if not linux.startswith("/"):
        raise NotOnWindows("it does not start at /")
    elements = [element for element in linux.split("/") if element not in ("", ".")]
    if not elements:
        raise NotOnWindows("it is the whole drive")
    if elements[0].lower() in WINDOWS_OWN:
        raise NotOnWindows(f"{DRIVE}\\{elements[0]} is Windows' own")
    check_names(elements)
    path = f"{DRIVE}\\" + "\\".join(elements)
    if _units(path) > _LONGEST_PATH:
        raise NotOnWindows(f"it is longer than {_LONGEST_PATH} characters")
    return path


def check_names(elements: Iterable[str]) -> None:
    """Raise NotOnWindows for a path with an element that Windows would change or read as something else."""
    for element in elements:
        if fault := name_fault(element):
            raise NotOnWindows(f"{in_quotes(redacted(element)[:40])} {fault}", f"a name in it {fault}")


def windows_path_fault(path: PureWindowsPath) -> str | None:
    """Why a path that was given as one of Windows, on a drive, is not for a file or folder of ours."""
    names = path.parts[1:]
    if not names:
        return "it is a whole drive"
    if names[0].lower() == "windows":
        return f"{path.drive}\\{names[0]} is Windows' own"
    try:
        check_names(names)
    except NotOnWindows as fault:
        return str(fault)
    return None


def name_fault(element: str) -> str | None:
    """What Windows has against one element of a path."""
    if element == "..":
        return "leads back out of its folder"
    if found := _FORBIDDEN.search(element):
        return f"contains {in_quotes(found[0])}, which no Windows name can"
    if element.endswith((" ", ".")):
        return "ends with a blank or a dot, which Windows would drop"
    if _DEVICE.fullmatch(element):
        return "is the name of a device on Windows"
    if _SHORT_NAME.fullmatch(element):
        return "may be Windows' short name of another file"
    if _units(element) > _LONGEST_ELEMENT:
        return f"is longer than {_LONGEST_ELEMENT} characters"
    return None


def _units(text: str) -> int:
    """Its length as Windows counts it, in UTF-16 units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


_SEPARATOR = "\\"
_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class UnusablePath(Exception):
    """The text says why."""

    def __init__(self, text: str, unquoted: str) -> None:
        """`unquoted` says the same without a word of the path."""
        super().__init__(text)
        self.unquoted = unquoted


@dataclass(frozen=True, slots=True)
class Reference:
    """A file or folder that the kubelet is told of."""

    linux: str
    windows: str
    by: str
    """The flag, the field of the configuration, or that of a kubeconfig."""
    folder: bool = False


def path_on_windows(path: str, folder: str = "/") -> str:
    """A Linux path mapped; one that is made for Windows, or none at all, as it is. Raises UnusablePath.

    A path that does not start at / begins in `folder`.
    """
    if not path or _ON_A_DRIVE.match(path):
        return path
    try:
        return on_windows(absolute(path, folder))
    except NotOnWindows as fault:
        raise UnusablePath(str(fault), fault.unquoted) from None


_OF_OPENSHIFT = {
    "--config": "kubelet.conf",
    "--bootstrap-kubeconfig": "bootstrap-kubeconfig",
    "--kubeconfig": "kubeconfig",
    "--client-ca-file": "kubelet-ca.crt",
    "authentication.x509.clientCAFile": "kubelet-ca.crt",
    "--cloud-config": "",
}
"""Names that OpenShift's bootstrapper gives to what a flag or field names; empty for the file's own."""


def place_on_windows(path: str, by: str, install_directory: str, folder: str = "/") -> str:
    """Return where the file lies that the flag or field `by` names. Raises UnusablePath.

    With an install directory it is where OpenShift's bootstrapper puts it, and where its other programs look
    for it; else, and for all other files, it is the Linux path mapped.
    """
    mapped = path_on_windows(path, folder)
    if not install_directory or by not in _OF_OPENSHIFT or mapped == path:
        return mapped
    return f"{install_directory}\\{_OF_OPENSHIFT[by] or mapped.rpartition(_SEPARATOR)[2]}"


def absolute(path: str, folder: str) -> str:
    """As Linux would find it from `folder`; one that is made for Windows as it is."""
    return path if path.startswith("/") or _ON_A_DRIVE.match(path) else f"{folder}/{path}"
