"""From a merged record to the model: one entry a path and a name, contents with how to unpack them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from agent.sources.ignition import model, rules
from agent.sources.ignition.model import Hash, Packing, TooLarge, Unsound
from agent.sources.ignition.schema import Record
from agent.sources.report import Origin, Place, quoted

Refuse = Callable[[Origin, "Place", str], None]
"""Told what cannot be made, where (with the steps below it), and why."""

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]+")
_NOWHERE = Origin("", ())


def contents(record: Record) -> model.Contents | None:
    """None where a source is not even named."""
    source = record.source()
    if source is None:
        return None
    packing = Packing(record.text("compression") == "gzip", _hash(record))
    if source.data is not None:
        return model.Inline(source.data, packing)
    if not source.url:
        # Ignition takes an empty URL for an empty file, whatever else is said of it.
        return model.Inline(b"")
    return model.Remote(source.url, headers(record), packing)


def _hash(record: Record) -> Hash | None:
    wanted = record.record("verification").text("hash")
    if not wanted:
        return None
    algorithm, _, digest = wanted.partition("-")
    return Hash(algorithm, digest.lower())


def headers(record: Record) -> tuple[tuple[str, str], ...]:
    return tuple(
        (item.text("name") or "", item.text("value") or "") for item in record.records("httpHeaders")
    )


def header_fault(given: Iterable[tuple[str, str]]) -> str:
    """Why headers could not be sent; nothing where they could."""
    for name, value in given:
        if not _HEADER_NAME.fullmatch(name):
            return f"{quoted(name)} is no name for a header"
        if not _HEADER_VALUE.fullmatch(value):
            return f"the header {quoted(name)} has no value, or one with characters that no header has"
    return ""


def network(config: Record, authorities: tuple[bytes, ...]) -> model.Network:
    ignition = config.record("ignition")
    proxy, timeouts = ignition.record("proxy"), ignition.record("timeouts")
    response, total = timeouts.number("httpResponseHeaders"), timeouts.number("httpTotal")
    return model.Network(
        proxy.text("httpProxy") or "",
        proxy.text("httpsProxy") or "",
        tuple(proxy.texts("noProxy")),
        model.RESPONSE_TIMEOUT if response is None else max(response, 0),
        max(total or 0, 0),
        authorities,
    )


def files(config: Record, major: int, refuse: Refuse) -> dict[str, model.File]:
    """By path. In version 2 a path can be there again: to append to it, or in place of the first."""
    made: dict[str, model.File] = {}
    appended: dict[str, list[model.Contents]] = {}
    for record in _on_root(config, "files", major):
        file = _file_2(record) if major == 2 else _file_3(record)
        before = made.get(file.path)
        if before and record.flag("append"):
            appended[file.path].extend(file.appended)
            made[file.path] = _with_owner_and_mode(before, file)
            continue
        if before and file.overwrite is False:
            why = f"{quoted(file.path)} is there already, and not to be overwritten"
            refuse(file.origin, ("overwrite",), why)
        made[file.path] = file
        appended[file.path] = list(file.appended)
    return {
        path: replace(file, appended=tuple(appended[path])) if appended[path] else file
        for path, file in made.items()
    }


def _file_3(record: Record) -> model.File:
    added = (contents(item) for item in record.records("append"))
    return model.File(
        record.text("path") or "",
        _origin(record),
        contents(record.record("contents")),
        tuple(item for item in added if item is not None),
        record.number("mode"),
        _owner(record),
        record.flag("overwrite"),
    )


def _file_2(record: Record) -> model.File:
    said = contents(record.record("contents")) or model.Inline(b"")
    appends = bool(record.flag("append"))
    return model.File(
        rules.simplified(record.text("path") or ""),
        _origin(record),
        None if appends else said,
        (said,) if appends else (),
        record.number("mode"),
        _owner(record),
        record.flag("overwrite"),
    )


def _with_owner_and_mode(before: model.File, more: model.File) -> model.File:
    """What is appended brings its own mode and owner along, if it has any."""
    owner = model.Owner(
        before.owner.user if more.owner.user is None else more.owner.user,
        before.owner.group if more.owner.group is None else more.owner.group,
    )
    mode = before.mode if more.mode is None else more.mode
    return replace(before, mode=mode, owner=owner)


def directories(config: Record, major: int) -> dict[str, model.Directory]:
    made = {}
    for record in _on_root(config, "directories", major):
        path = rules.simplified(record.text("path") or "")
        made[path] = model.Directory(
            path, _origin(record), record.number("mode"), _owner(record), record.flag("overwrite")
        )
    return made


def links(config: Record, major: int) -> dict[str, model.Link]:
    made = {}
    for record in _on_root(config, "links", major):
        path = rules.simplified(record.text("path") or "")
        made[path] = model.Link(path, _origin(record), record.text("target") or "", bool(record.flag("hard")))
    return made


def units(config: Record) -> dict[str, model.Unit]:
    """By name. In version 2 a name can be there again."""
    made: dict[str, model.Unit] = {}
    for record in config.record("systemd").records("units"):
        unit = model.Unit(
            record.text("name") or "",
            _origin(record),
            record.text("contents") or "",
            _dropins(record),
            True if record.flag("enable") else record.flag("enabled"),
            bool(record.flag("mask")),
        )
        before = made.get(unit.name)
        made[unit.name] = _again(before, unit) if before else unit
    return made


def _dropins(record: Record) -> dict[str, model.Dropin]:
    return {
        name: model.Dropin(name, _origin(item), text)
        for item in record.records("dropins")
        if (text := item.text("contents")) and (name := item.text("name"))
    }


def _again(before: model.Unit, unit: model.Unit) -> model.Unit:
    return model.Unit(
        unit.name,
        unit.origin,
        unit.contents or before.contents,
        {**before.dropins, **unit.dropins},
        # Ignition writes both into a preset file, of which systemd goes by the first line that fits.
        unit.enabled if before.enabled is None else before.enabled,
        before.masked or unit.masked,
    )


_IGNORED = (
    ("disk", "storage", "disks", ("device",)),
    ("RAID array", "storage", "raid", ("name",)),
    ("filesystem", "storage", "filesystems", ("name", "path", "device")),
    ("LUKS volume", "storage", "luks", ("name",)),
    ("group", "passwd", "groups", ("name",)),
    ("user", "passwd", "users", ("name",)),
    ("networkd unit", "networkd", "units", ("name",)),
)


def ignored(config: Record, major: int) -> Iterator[model.Ignored]:
    for kind, section, name, fields in _IGNORED:
        for record in config.record(section).records(name):
            yield model.Ignored(kind, next(filter(None, map(record.text, fields)), ""), _origin(record))
    kernel = config.record("kernelArguments")
    for argument in kernel.texts("shouldExist") + kernel.texts("shouldNotExist"):
        yield model.Ignored("kernel argument", argument, _NOWHERE)
    if major == 2:
        for kind, name in (("file", "files"), ("directory", "directories"), ("link", "links")):
            for record in config.record("storage").records(name):
                if not _is_on_root(record):
                    yield model.Ignored(
                        f"{kind} on another filesystem", record.text("path") or "", _origin(record)
                    )


def _on_root(config: Record, name: str, major: int) -> list[Record]:
    """Return those that are on the machine itself: in version 2 each says on which filesystem it is."""
    return [each for each in config.record("storage").records(name) if major != 2 or _is_on_root(each)]


def _is_on_root(record: Record) -> bool:
    return record.text("filesystem") == "root"


def _owner(record: Record) -> model.Owner:
    user, group = record.record("user"), record.record("group")
    return model.Owner(_id_or_name(user), _id_or_name(group))


def _id_or_name(record: Record) -> int | str | None:
    number = record.number("id")
    return number if number is not None else record.text("name") or None


def _origin(record: Record) -> Origin:
    return record.origin or _NOWHERE


ALLOW_MORE = "if that is right, --max-file-size allows more"

HEADERS = {
    "Accept": "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
    "Accept-Encoding": "identity",
    "User-Agent": "Ignition/2.26.0",
}
"""What Ignition itself sends with every request, for a configuration as for a file's contents.

Servers choose by these what they serve: OpenShift's by Accept, before 4.7 by User-Agent. Without, they serve
version 2.
"""


class Unobtainable(Exception):
    """The text says why."""

    def __init__(
        self, why: str, field: str = "source", *, is_too_large: bool = False, is_unserved: bool = False
    ) -> None:
        super().__init__(why)
        self.is_unserved = is_unserved
        """Whether it was asked for, and no server served it."""
        self.is_too_large = is_too_large
        self.field = field
        """Of the contents: what is wrong, or what could be changed."""


def obtained(
    contents: model.Contents,
    network: model.Network,
    fetch: model.Fetch | None,
    limit: int,
    headers: Mapping[str, str] = HEADERS,
) -> bytes:
    """Unpacked and checked; raises Unobtainable. Without `fetch` nothing that is elsewhere can be had."""
    try:
        if isinstance(contents, model.Inline):
            return contents.read(limit)
        blocks = _fetched(contents, network, fetch, headers)
        return b"".join(contents.packing.unpack(blocks, limit))
    except Unsound as fault:
        raise Unobtainable(str(fault), is_too_large=isinstance(fault, TooLarge)) from None
    except model.FetchFailed as fault:
        is_unserved = not isinstance(fault, model.FetchRefused)
        raise Unobtainable(f"it cannot be fetched: {fault}", is_unserved=is_unserved) from None


def _fetched(
    remote: model.Remote, network: model.Network, fetch: model.Fetch | None, headers: Mapping[str, str]
) -> Iterable[bytes]:
    scheme = remote.url.partition(":")[0].lower()
    if scheme not in ("http", "https"):
        raise Unobtainable(f"{scheme} is not fetched by this program; use http or https")
    if fault := header_fault(remote.headers):
        raise Unobtainable(fault, "httpHeaders")
    if fetch is None:
        raise Unobtainable("it would have to be fetched, and nothing is fetched here")
    own = {name.title(): value for name, value in remote.headers}
    return fetch(model.Request(remote.url, tuple({**headers, **own}.items()), remote.packing, network))
