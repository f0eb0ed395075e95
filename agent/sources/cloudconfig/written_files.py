"""write_files: where each file goes on Windows, what it holds, who may read it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent.secret_fields import registers_secrets
from agent.sources.cloudconfig.document import Node, kind_of, value_name
from agent.sources.cloudconfig.model import Findings, Refused, WrittenFile
from agent.sources.cloudconfig.parts import LARGEST, Unreadable, from_base64, gunzipped
from agent.sources.report import Origin, quoted, quoted_key
from agent.sources.windows_paths import NotOnWindows, check_names, on_windows
from agent.spec import Inline, Key, Protection

_BASE64 = "base64"
_GZIP = "gzip"
_STEPS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("gz", "gzip"), (_GZIP,)),
    **dict.fromkeys(("b64", "base64"), (_BASE64,)),
    **dict.fromkeys(("gz+base64", "gzip+base64", "gz+b64", "gzip+b64"), (_BASE64, _GZIP)),
    **dict.fromkeys(("", "text/plain"), ()),
}
_UNPACK: dict[str, Callable[[bytes], bytes]] = {_BASE64: from_base64, _GZIP: gunzipped}

DEFAULT_MODE = 0o644
_PRIVATE_MODE = 0o600
_LARGEST_MODE = 0o7777
_OTHERS_MAY_READ = 0o004
_KNOWN = frozenset({"path", "content", "encoding", "permissions", "owner", "append", "defer"})
_ADMINISTRATORS = frozenset({"", "root", "administrator", "administrators", "system"})
_OWN = ("programdata", "wmcb")
_TRUE = frozenset({"1", "on", "yes", "true", "y", "t"})


@registers_secrets
@dataclass(frozen=True, slots=True)
class Entry:
    """One file as the document has it."""

    linux: str
    """Its path in the document."""
    path: PureWindowsPath
    content: bytes = field(repr=False)
    protection: Protection
    protection_said: bool
    appended: bool
    origin: Origin

    def written(self) -> WrittenFile:
        return WrittenFile(self.path, Inline(self.content), self.protection, self.appended)


def entries(node: Node, findings: Findings) -> list[Entry]:
    """Each path once: what is written twice is what was written last, with what was appended to it."""
    listed = node.value if isinstance(node.value, list) else [node]
    if node.value is None:
        return []
    made: dict[Key, list[Entry]] = {}
    room = LARGEST
    for item in listed:
        try:
            entry = _entry(item, findings)
        except Refused as fault:
            findings.refused(fault)
            continue
        room -= len(entry.content)
        if room < 0:
            findings.error(item.origin, f"with it, the files are larger than {LARGEST:,} bytes")
            break
        key = Key("file", str(entry.path))
        if not entry.appended:
            made[key] = []
        made.setdefault(key, []).append(entry)
    return [_added(written) for written in made.values()]


def _added(written: list[Entry]) -> Entry:
    """What is added without a word of permissions does not open a file to others."""
    first, *_ = written
    said = [entry.protection for entry in written if entry.protection_said]
    content = b"".join(entry.content for entry in written)
    return replace(first, content=content, protection=said[-1] if said else first.protection)


def _entry(item: Node, findings: Findings) -> Entry:
    if not isinstance(item.value, dict):
        raise Refused(item.origin, f"a file is a mapping with path and content; this is {kind_of(item)}")
    fields = item.value
    given = fields.get("path")
    if given is None or not isinstance(given.value, str) or not given.value:
        raise Refused((given or item).origin, "path has to be the absolute path of a file")
    if "source" in fields:
        why = "a file is not fetched here; put its content into the document"
        raise Refused(fields["source"].origin, why)
    subject = f"file {value_name(given.value)}"
    for key in fields.keys() - _KNOWN:
        findings.warn(subject, f"its field {quoted_key(key)} is not known here")
    _note_owner(fields.get("owner"), subject, findings)
    return Entry(
        given.value,
        path_on_windows(given),
        _content(fields, subject, item, findings),
        protection(_mode(fields.get("permissions"), subject, findings)),
        "permissions" in fields,
        flag(fields.get("append")),
        given.origin,
    )


def path_on_windows(given: Node) -> PureWindowsPath:
    """Raises Refused, and quotes nothing: what stands there in error may be a secret."""
    try:
        return windows_path(given.text)
    except NotOnWindows as fault:
        raise Refused(given.origin, f"this cannot be a path on Windows: {fault.unquoted}") from None


def windows_path(path: str) -> PureWindowsPath:
    """Of a path of Linux, or one with a drive's letter. Raises NotOnWindows."""
    if path.startswith("/") and not path.startswith("//"):
        return PureWindowsPath(on_windows(path))
    own = PureWindowsPath(path)
    if not own.is_absolute() or own.drive.startswith("\\"):
        raise NotOnWindows("it has to begin with / or with a drive, such as C:\\")
    names = own.parts[1:]
    if not names:
        raise NotOnWindows("it is a whole drive")
    # As with cloudbase-init, C:\Windows is allowed: a path with a drive was written for Windows.
    check_names(names)
    if tuple(name.lower() for name in names[:2]) == _OWN:
        raise NotOnWindows("it lies in this program's own folder")
    return own


def protection(mode: int) -> Protection:
    return Protection.PROGRAM if mode & _OTHERS_MAY_READ else Protection.PRIVATE


def flag(node: Node | None) -> bool:
    """As cloud-init takes it: true, or a word for it."""
    if node is None or isinstance(node.value, dict | list):
        return False
    return node.value if isinstance(node.value, bool) else node.text.strip().lower() in _TRUE


def _content(fields: dict[str, Node], subject: str, item: Node, findings: Findings) -> bytes:
    content, encoding = fields.get("content"), fields.get("encoding")
    if content is None or content.value is None:
        return b""
    if not isinstance(content.value, str | bytes):
        raise Refused(content.origin, f"content has to be text; this is {kind_of(content)}")
    made = content.value.encode(errors="surrogatepass") if isinstance(content.value, str) else content.value
    for step in _steps(encoding, subject, findings):
        try:
            made = _UNPACK[step](made)
        except Unreadable as fault:
            raise Refused((content or item).origin, str(fault)) from None
    return made


def _steps(encoding: Node | None, subject: str, findings: Findings) -> Iterable[str]:
    said = encoding.text.strip().lower() if encoding else ""
    if said not in _STEPS:
        findings.warn(
            subject, f"its encoding {quoted(said)} is not known, so that its content is taken as it stands"
        )
    return _STEPS.get(said, ())


def _mode(permissions: Node | None, subject: str, findings: Findings) -> int:
    """A slip of the pen opens no file that may have been meant to be private."""
    if permissions is None or permissions.value in (None, ""):
        return DEFAULT_MODE
    mode = _number(permissions)
    if mode is None:
        why = (
            f"its permissions in {permissions.origin} are no octal number such as '0644': it is kept private"
        )
        findings.warn(subject, why)
        return _PRIVATE_MODE
    return mode


def _number(permissions: Node) -> int | None:
    value = permissions.value
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            mode = int(value)
        else:
            mode = int(permissions.text, 8)
    except (ValueError, OverflowError):
        return None
    return mode if 0 <= mode <= _LARGEST_MODE else None


def _note_owner(owner: Node | None, subject: str, findings: Findings) -> None:
    named = {word.strip().lower() for word in owner.text.split(":")} if owner else set()
    if named - _ADMINISTRATORS:
        findings.ignore(subject, "its owner: on Windows it belongs to the administrators")
