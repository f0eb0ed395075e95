"""What containerd's configuration file has to say, among what others say in it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import PureWindowsPath
from typing import cast

from agent.amounts import in_bytes
from agent.host.errors import NotFound
from agent.host.port import Host
from agent.host.protection import PROGRAM_FILE
from agent.resources import containerd_toml as toml
from agent.resources.kind import CannotBeSo, Kept, Kind, State, Value
from agent.spec.files import ContainerdConfiguration

_LARGEST = 1 << 20
"""Bytes of a file; containerd's own default has some ten thousand."""
_FAULT = "fault"
_WRITTEN = "written"
"""The values as they stand in the text: so they can come back with their quotes."""
_NO_FIELDS = frozenset({_FAULT, _WRITTEN})
_VERSION = "version"
_FOLDERS = frozenset({toml.CNI_PROGRAMS, toml.CNI_CONFIGURATIONS, toml.REGISTRIES})
_SETTINGS = frozenset({*_FOLDERS, toml.SANDBOX_IMAGE, toml.ADDRESS, toml.SYSTEMD_CGROUP})


class ContainerdConfigurationResource(Kind[ContainerdConfiguration]):
    firm = _SETTINGS

    def wanted(self, want: ContainerdConfiguration) -> State:
        said = {
            toml.CNI_PROGRAMS: want.cni_programs,
            toml.CNI_CONFIGURATIONS: want.cni_configurations,
            toml.SANDBOX_IMAGE: want.sandbox_image,
            toml.REGISTRIES: want.registries,
            toml.ADDRESS: want.address,
        }
        none: dict[str, Value] = {toml.SYSTEMD_CGROUP: None} if want.without_systemd_cgroup else {}
        return {name: value for name, value in said.items() if value} | none

    def manner(self, want: ContainerdConfiguration) -> State:
        return {"version": want.version, "settings": list(self.wanted(want))}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:
        try:
            text = _text(host, PureWindowsPath(name))
            if text is None:
                return None
            document = toml.parsed(text)
            found: dict[str, Value] = {field: toml.value(document, field) for field in wanted}
            settings = list(toml.written(text, list(wanted)))
            if not all(self.same(field, each, found[field]) for field, each in wanted.items()):
                toml.edited(text, wanted)
        except toml.NotReadable as fault:
            return {_FAULT: str(fault)}
        return found | {_WRITTEN: [[list(each.place), each.source] for each in settings]}

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        if field in _FOLDERS and isinstance(found, str):
            return PureWindowsPath(str(wanted)) == PureWindowsPath(found)
        return wanted == found

    def obstacle(self, want: ContainerdConfiguration, found: State | None) -> str | None:
        if found is not None and _FAULT in found:
            return f"{want.path} cannot be edited: {found[_FAULT]}; put it right, or move it away"
        return None

    def apply(self, host: Host, want: ContainerdConfiguration, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - what was there is in the state
        with _editing(want.path):
            text = f"version = {want.version}\n" if found is None else _text(host, want.path) or ""
            edited = toml.edited(text, self.wanted(want))
        _write(host, want.path, edited)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        path = PureWindowsPath(name)
        try:
            text = _text(host, path)
            if before is None:
                return None if text is None else _take_ours(host, path, text, manner)
            names = [field for field in before if field not in _NO_FIELDS]
            if text is None:
                # Somebody has removed it all. What was ours can be there again; the rest was never known
                # here.
                with _editing(path):
                    text = f"version = {manner['version']}\n"
                    given_back = toml.edited(text, {field: before[field] for field in names})
            else:
                given_back = toml.given_back(text, names, _settings(before))
        except toml.NotReadable as fault:
            return f"{path} stays as it is: {fault}"
        _write(host, path, given_back)
        return None


def _take_ours(host: Host, path: PureWindowsPath, text: str, manner: State) -> str | None:
    """Out of a file that was made here; with it, unless somebody has put something into it since."""
    left = toml.given_back(text, cast("Sequence[str]", manner.get("settings", sorted(_SETTINGS))), ())
    if toml.parsed(left).keys() <= {_VERSION}:
        with suppress(NotFound):
            host.files.remove(path)
        return None
    _write(host, path, left)
    return f"{path} stays, with what somebody else has put into it"


@contextmanager
def _editing(path: PureWindowsPath) -> Iterator[None]:
    try:
        yield
    except toml.NotReadable as fault:
        raise CannotBeSo(f"{path} cannot be edited: {fault}") from fault


def _settings(before: State) -> Sequence[toml.Setting]:
    listed = cast("Sequence[tuple[Sequence[str], str]]", before.get(_WRITTEN, ()))
    return [toml.Setting(tuple(place), source) for place, source in listed]


def _text(host: Host, path: PureWindowsPath) -> str | None:
    """Return the file's text, None where there is none. Raises toml.NotReadable for one that is too large."""
    try:
        content = host.files.read(path, _LARGEST + 1)
    except NotFound:
        return None
    if len(content) > _LARGEST:
        raise toml.NotReadable(f"it is larger than {in_bytes(_LARGEST)}")
    # What is no UTF-8 can be in a comment alone, and stays as it is.
    return content.decode("utf-8-sig", "surrogateescape")


def _write(host: Host, path: PureWindowsPath, text: str) -> None:
    there = host.files.examine(path, content=False)
    descriptor = there.descriptor if there is not None and there.descriptor else PROGRAM_FILE
    aside = host.files.write(path, text.encode(errors="surrogateescape"), descriptor)
    if aside is not None:
        host.files.remove_at_reboot(aside)
