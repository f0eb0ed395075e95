"""Where containerd's settings stand in its TOML, which is edited in place: comments and order are a person's.

Version 2 of the schema is containerd 1's, and read by 2 as well; version 3 has other names for the same.

TOML can say the same in ways that tomlkit puts a line into the wrong table for: dotted keys before the first
table, tables in one line. So what came of an edit is read once more, and is refused unless all else in it is
as it was.
"""

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit

Place = tuple[str, ...]
Table = Mapping[str, Any]
Edit = Callable[[Any], None]

CNI_PROGRAMS = "cni programs"
CNI_CONFIGURATIONS = "cni configurations"
SANDBOX_IMAGE = "sandbox image"
REGISTRIES = "registries"
ADDRESS = "address"
SYSTEMD_CGROUP = "systemd cgroup"

VERSIONS = (2, 3)

_CRI = ("plugins", "io.containerd.grpc.v1.cri")
_RUNTIME = ("plugins", "io.containerd.cri.v1.runtime")
_IMAGES = ("plugins", "io.containerd.cri.v1.images")
_BIN_DIR, _BIN_DIRS = "bin_dir", "bin_dirs"
_PLACES: Mapping[int, Mapping[str, Place]] = {
    2: {
        CNI_PROGRAMS: (*_CRI, "cni", _BIN_DIR),
        CNI_CONFIGURATIONS: (*_CRI, "cni", "conf_dir"),
        SANDBOX_IMAGE: (*_CRI, "sandbox_image"),
        REGISTRIES: (*_CRI, "registry", "config_path"),
        ADDRESS: ("grpc", "address"),
    },
    3: {
        CNI_PROGRAMS: (*_RUNTIME, "cni", _BIN_DIRS),
        CNI_CONFIGURATIONS: (*_RUNTIME, "cni", "conf_dir"),
        SANDBOX_IMAGE: (*_IMAGES, "pinned_images", "sandbox"),
        REGISTRIES: (*_IMAGES, "registry", "config_path"),
        ADDRESS: ("grpc", "address"),
    },
}
_RUNTIMES = {2: (*_CRI, "containerd", "runtimes"), 3: (*_RUNTIME, "containerd", "runtimes")}
_CGROUP = ("options", "SystemdCgroup")
_NOT_EDITABLE = (
    "its tables are written with dots or in one line, which is not edited here: write them as [tables]"
)


class NotReadable(Exception):
    """The text says why, in half a sentence."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value in the file, as it is written there."""

    place: Place
    source: str


def parsed(text: str) -> Table:
    """Raises NotReadable for what is no TOML, or of a schema that is not known here."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as fault:
        raise NotReadable(f"it is no TOML: {fault}") from fault
    except (ValueError, RecursionError) as fault:
        raise NotReadable("a number in it is too long, or its values are nested too deeply") from fault
    version = document.get("version", 1)
    if version not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise NotReadable(f"its schema is version {version}, and {known} are known here")
    return document


def value(document: Table, name: str) -> str | None:
    """As the file says it; None where it says nothing."""
    if name == SYSTEMD_CGROUP:
        return ", ".join(place[-3] for place in _cgroups(document)) or None
    found = _at(document, _place(document, name))
    if isinstance(found, list):
        return ", ".join(map(str, found)) or None
    return None if found is None else str(found)


def written(text: str, names: Sequence[str]) -> Iterator[Setting]:
    """The same as it stands in the text. Raises NotReadable."""
    try:
        document = tomlkit.parse(text)
        for name in names:
            places = list(_cgroups(document)) if name == SYSTEMD_CGROUP else [_place(document, name)]
            for place in places:
                found = _at(document, place)
                if found is not None:
                    yield Setting(place, tomlkit.item(found).as_string())
    # Of odd tables tomlkit raises what its own code happens to.
    except Exception as fault:
        raise NotReadable(_NOT_EDITABLE) from fault


def edited(text: str, wanted: Mapping[str, Any]) -> str:
    """With these values, and for no runtime that of systemd, if that is named. Raises NotReadable."""

    def edit(document: Any) -> None:
        for name, wish in wanted.items():
            if name == SYSTEMD_CGROUP:
                _remove_cgroups(document)
            elif wish is not None:
                place = _place(document, name)
                _put(document, place, [wish] if place[-1] == _BIN_DIRS else wish)

    return _judged(text, edit)


def given_back(text: str, names: Sequence[str], before: Sequence[Setting]) -> str:
    """With these as they were, and without what was not there. Raises NotReadable."""
    there = {setting.place for setting in before}

    def edit(document: Any) -> None:
        for name in names:
            if name == SYSTEMD_CGROUP:
                _remove_cgroups(document, but=there)
            elif (place := _place(document, name)) not in there:
                _remove(document, place)
        for setting in before:
            _put(document, setting.place, tomlkit.value(setting.source))

    return _judged(text, edit)


def _judged(text: str, edit: Edit) -> str:
    """The same is done to what the text means: that has to be what the edited one means."""
    meant = parsed(text)
    try:
        edit(meant)
        document = tomlkit.parse(text)
        edit(document)
        made = tomlkit.dumps(document)
        if tomllib.loads(made) == meant:
            return made
    except Exception as fault:
        raise NotReadable(_NOT_EDITABLE) from fault
    raise NotReadable(_NOT_EDITABLE)


def _place(document: Table, name: str) -> Place:
    place = _PLACES[document["version"]][name]
    if name == CNI_PROGRAMS:
        # containerd 2.0 knows the one only, 2.1 the other as well, and refuses a file that sets both. Its own
        # default has both, the former empty.
        former = (*place[:-1], _BIN_DIR)
        found = _at(document, former)
        return former if found or (found is not None and _at(document, place) is None) else place
    return place


def _cgroups(document: Table) -> Iterator[Place]:
    runtimes = _RUNTIMES[document["version"]]
    found = _at(document, runtimes)
    for name in found if hasattr(found, "get") else ():
        place = (*runtimes, name, *_CGROUP)
        if _at(document, place) is not None:
            yield place


def _at(document: Table, place: Place) -> Any:
    found: Any = document
    for step in place:
        if not hasattr(found, "get") or (found := found.get(step)) is None:
            return None
    return found


def _put(document: MutableMapping[str, Any], place: Place, wish: Any) -> None:
    table = document
    for step in place[:-2]:
        if step not in table:
            table[step] = tomlkit.table(is_super_table=True)
        table = table[step]
    if len(place) > 1:
        if place[-2] not in table:
            table[place[-2]] = tomlkit.table()
        table = table[place[-2]]
    table[place[-1]] = wish


def _remove_cgroups(document: Table, but: Collection[Place] = ()) -> None:
    for place in list(_cgroups(document)):
        if place not in but:
            del _at(document, place[:-1])[place[-1]]


def _remove(document: MutableMapping[str, Any], place: Place) -> None:
    """With the tables that hold nothing else then."""
    for end in range(len(place), 0, -1):
        above = _at(document, place[: end - 1]) if end > 1 else document
        if above is None or place[end - 1] not in above:
            continue
        if end < len(place) and above[place[end - 1]]:
            return
        del above[place[end - 1]]
