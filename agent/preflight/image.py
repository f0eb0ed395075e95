"""Whether a machine is fit to be copied: what is on it that each of its copies would have.

Of what other programs keep for themselves, and sysprep takes away, nothing is asked here.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import PureWindowsPath

from agent.host.errors import AccessDenied, InUse, NotFound, Unsupported
from agent.host.files import Entry, FileKind
from agent.host.port import Host
from agent.preflight.situation import Finding, Verdict, finding

Check = Callable[[Host], tuple[Verdict, str]]

_OF_ONE_NODE = (
    r"C:\etc\kubernetes\kubelet.conf",
    r"C:\etc\kubernetes\bootstrap-kubelet.conf",
    r"C:\var\lib\kubelet\kubeadm-flags.env",
    r"C:\var\lib\kubelet\pki",
    r"C:\var\lib\cni",
)
_OF_ONE_START = (r"C:\ProgramData\cloudbase-init\user-data", r"C:\run\kubeadm", r"C:\run\cluster-api")
"""Where cloudbase-init and Cluster API put what only one machine is given."""
_LOGS = (
    r"C:\ProgramData\wmcb\logs",
    r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log",
    r"C:\var\log",
)
ANSWERS = (
    r"C:\Autounattend.xml",
    r"C:\Unattend.xml",
    r"C:\Windows\Panther\unattend.xml",
    r"C:\Windows\Panther\unattend-original.xml",
    r"C:\Windows\Panther\Unattend\unattend.xml",
    r"C:\Windows\System32\Sysprep\unattend.xml",
)
_SSH = PureWindowsPath(r"C:\ProgramData\ssh")
_HOME_FOLDERS = PureWindowsPath(r"C:\Users")
_LET_IN = PureWindowsPath(r".ssh\authorized_keys")
_HOST_KEY = re.compile(r"ssh_host_\w+_key", re.IGNORECASE)
_SECRETS: Mapping[str, re.Pattern[bytes]] = {
    "a bootstrap token": re.compile(rb"(?<![\w.])(?=[a-z.]{0,22}[0-9])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w.])"),
    "a private key": re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "a token": re.compile(rb"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
}
_REMARK = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_PASSWORD = re.compile(rb"<(\w*Password)\b[^<>]*(?<!/)>(.*?)(?:</\1\s*>|\Z)", re.IGNORECASE | re.DOTALL)
_INSIDE = re.compile(
    rb"<(?P<name>\w+)\b[^<>]*(?:(?<=/)>|>(?P<text>.*?)(?:</(?P=name)\s*>|\Z))", re.IGNORECASE | re.DOTALL
)
_USED = b"*SENSITIVE"
"""Windows' own setup writes *SENSITIVE*DATA*DELETED* over those that it has used."""
_READ_OF_EACH = 4 << 20
_MOST_LOGS = 500
_DEEPEST = 4


def identity(host: Host) -> tuple[Verdict, str]:
    """What a node has of its own: its credentials, its arguments, and which addresses its pods have."""
    if found := of_a_node(host):
        return Verdict.ERROR, f"{', '.join(found)}: left from a node; each copy would have it"
    return Verdict.GOOD, "nothing of a node is here"


def ssh_keys(host: Host) -> tuple[Verdict, str]:
    """Whom OpenSSH lets in, and the keys by which the machine is known: sysprep leaves both."""
    for path in (_SSH / "administrators_authorized_keys", *_let_in_at_home(host)):
        if host.files.observe(path) is not None:
            return Verdict.ERROR, f"{path} lets somebody in; remove it, or each copy does"
    for entry in _entries(host, _SSH):
        if _HOST_KEY.fullmatch(entry.name):
            text = "the key by which this machine is known; remove it, and sshd makes another for each copy"
            return Verdict.ERROR, f"{_SSH / entry.name} is {text}"
    return Verdict.GOOD, "OpenSSH has none here"


def user_data(host: Host) -> tuple[Verdict, str]:
    """What only one machine is given, a token in it perhaps, by cloudbase-init or Cluster API."""
    for name in _OF_ONE_START:
        if _holds_something(host, PureWindowsPath(name)):
            return Verdict.ERROR, f"{name} is of one machine's start; remove it, or each copy believes it"
    return Verdict.GOOD, "none is left"


def answers(host: Host) -> tuple[Verdict, str]:
    """Passwords in the files by which Windows was set up."""
    for name in ANSWERS:
        said = _REMARK.sub(b"", _start_of(host, PureWindowsPath(name)))
        for element, inside in _PASSWORD.findall(said):
            if any(map(_is_in_use, _texts(inside))):
                return Verdict.ERROR, f"{name} holds a password ({element.decode()}); remove that file"
    return Verdict.GOOD, "no answer file holds a password"


def _texts(inside: bytes) -> Iterator[bytes]:
    """Its own, and a Value's: PlainText, which may stand before that, says how the Value is written."""
    yield _INSIDE.sub(b"", inside)
    yield from (
        each["text"] or b"" for each in _INSIDE.finditer(inside) if (each["name"] or b"").lower() == b"value"
    )


def _is_in_use(text: bytes) -> bool:
    return bool(text.strip()) and not text.strip().upper().startswith(_USED)


def logs(host: Host) -> tuple[Verdict, str]:
    """Tokens and keys in what wmcb, the kubelet, containerd and cloudbase-init have said."""
    count, unread = 0, ""
    for path in _all_logs(host):
        if count == _MOST_LOGS:
            text = f"there are more than {_MOST_LOGS}; remove old ones, and ask again"
            return Verdict.NOT_CHECKED, text
        try:
            end_of_it = host.files.tail(path, _READ_OF_EACH)
        except NotFound:
            continue
        except (InUse, AccessDenied) as fault:
            unread = unread or str(fault)  # another may hold what is an error
            continue
        for what, pattern in _SECRETS.items():
            if pattern.search(end_of_it):
                return Verdict.ERROR, f"{path} holds {what}; remove that log"
        count += 1
    if unread:
        return Verdict.WARNING, unread
    return Verdict.GOOD, "no log holds a token or a key"


def networks(host: Host) -> tuple[Verdict, str]:
    """Each copy would have container networks of the same ids and addresses."""
    try:
        names = [each.name for each in host.networks.list()]
    except Unsupported:
        return Verdict.GOOD, "this Windows has none"
    if names:
        away = f"{host.called} reset --all-hns"
        return Verdict.WARNING, f"there are container networks ({', '.join(names)}); {away} deletes them"
    return Verdict.GOOD, "there are none"


NODE = "image-node"
"""Whether wmcb remembers that this machine is one, which is not known here."""
CHECKS: Mapping[str, Check] = {
    "image-identity": identity,
    "image-ssh-keys": ssh_keys,
    "image-user-data": user_data,
    "image-answer-files": answers,
    "image-logs": logs,
    "image-networks": networks,
}
IDS = (NODE, *CHECKS)


def findings(host: Host) -> Sequence[Finding]:
    """One of each check."""
    return [finding(name, check, host) for name, check in CHECKS.items()]


def of_a_node(host: Host) -> Sequence[str]:
    """What there is of one that this machine is, or was."""
    return [name for name in _OF_ONE_NODE if _holds_something(host, PureWindowsPath(name))]


def _holds_something(host: Host, path: PureWindowsPath) -> bool:
    """A folder that is empty says nothing of anybody."""
    there = host.files.observe(path)
    if there is None or there.kind is not FileKind.DIRECTORY:
        return there is not None
    return next(iter(host.files.entries(path)), None) is not None


def _let_in_at_home(host: Host) -> Iterator[PureWindowsPath]:
    for entry in _entries(host, _HOME_FOLDERS):
        if entry.kind is FileKind.DIRECTORY:
            yield _HOME_FOLDERS / entry.name / _LET_IN


def _entries(host: Host, folder: PureWindowsPath) -> Iterator[Entry]:
    """None where there is no such folder."""
    there = host.files.observe(folder)
    if there is not None and there.kind is FileKind.DIRECTORY:
        yield from host.files.entries(folder)


def _start_of(host: Host, path: PureWindowsPath) -> bytes:
    try:
        content = host.files.read(path, _READ_OF_EACH)
    except NotFound:
        return b""
    return content.replace(b"\0", b"")  # it may be UTF-16, where no more than Latin letters count here


def _all_logs(host: Host) -> Iterator[PureWindowsPath]:
    for name in _LOGS:
        yield from _files_below(host, PureWindowsPath(name), _DEEPEST)


def _files_below(host: Host, folder: PureWindowsPath, deepest: int) -> Iterator[PureWindowsPath]:
    for entry in _entries(host, folder):
        if entry.kind is FileKind.FILE:
            yield folder / entry.name
        elif entry.kind is FileKind.DIRECTORY and deepest:
            yield from _files_below(host, folder / entry.name, deepest - 1)
