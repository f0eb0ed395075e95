"""Ignition 3.0 to 3.6: which version has which field, and which rules.

The rules are those of Ignition's own parser, also where its documentation says less.
"""

import json
import posixpath
import re
from collections.abc import Callable

from agent.sources import urls
from agent.sources.ignition import rules, schema, unitfile
from agent.sources.ignition.schema import Check, Field, Many, Record, Scalar, Struct, Within, fields, maybe
from agent.sources.report import quoted

TEXT, FLAG, NUMBER = Scalar.TEXT, Scalar.FLAG, Scalar.NUMBER

NEWEST_MINOR = 6

_SCHEMES = {"http": 0, "https": 0, "tftp": 0, "s3": 0, "gs": 2, "arn": 4}
_FORMATS = {"ext4": 0, "btrfs": 0, "xfs": 0, "swap": 0, "vfat": 0, "none": 3}
_PINS = ("tpm2", "tang", "sss")
_SLASH = re.compile("/")
_INSTANCE = re.compile(r"(.[^@\n]*)@.+\.service")


def _by(name: str) -> Callable[[Record], str]:
    def key(record: Record) -> str:
        value = record.get(name)
        return value.url if isinstance(value, schema.Source) else record.text(name) or ""

    return key


def _partition_key(partition: Record) -> str:
    number, label = partition.number("number"), partition.text("label")
    return f"number:{number}" if number else f"label:{label}" if label is not None else ""


# Sources


def _hash_needs_source(record: Record, check: Check) -> None:
    if record.record("verification").text("hash") is not None and "source" not in record:
        check.error("there is a hash but no source", "verification", "hash")


def _header(record: Record, check: Check) -> None:
    if not record.text("name"):
        check.error("a header needs a name", "name")
    if record.text("value") == "":
        check.error("a header needs a value; without the key, a header of that name is taken away", "value")


def _source_required(list_name: str) -> Callable[[Record, Check], None]:
    def rule(record: Record, check: Check) -> None:
        for index, reference in enumerate(record.records(list_name)):
            source = reference.source()
            if not source or not (source.url or source.data is not None):
                check.error("a source is needed here", list_name, index)

    return rule


VERIFICATION = Struct(
    *maybe("hash", TEXT),
    rules=(rules.verification(lambda minor: ("sha512", "sha256") if minor else ("sha512",)),),
)
HEADERS = Many(Struct(Field("name", TEXT), *maybe("value", TEXT), rules=(_header,)), _by("name"))
_SOURCE_FIELDS = (Field("httpHeaders", HEADERS, since=1), Field("verification", VERIFICATION))
CONTENTS = Struct(
    *maybe("compression source", TEXT),
    *_SOURCE_FIELDS,
    rules=(
        rules.compression,
        _hash_needs_source,
        rules.source(_SCHEMES, keep_url=False),
        rules.headers_need_http,
    ),
)
REFERENCE = Struct(
    *maybe("compression", TEXT, since=1),
    *maybe("source", TEXT),
    *_SOURCE_FIELDS,
    rules=(
        rules.compression,
        Within(_hash_needs_source, since=1),
        rules.source(_SCHEMES, keep_url=True),
        rules.headers_need_http,
    ),
)
AUTHORITY = Struct(
    *maybe("compression", TEXT, since=1),
    Field("source", TEXT, until=0, filled=True),
    *maybe("source", TEXT, since=1),
    *_SOURCE_FIELDS,
    rules=(
        rules.compression,
        Within(_hash_needs_source, since=1),
        Within(rules.source(_SCHEMES, keep_url=True, empty_is_none=False), until=0),
        Within(rules.source(_SCHEMES, keep_url=True), since=1),
        rules.headers_need_http,
    ),
)


# Ignition itself


def _proxy(record: Record, check: Check) -> None:
    for name in ("httpProxy", "httpsProxy"):
        text = record.text(name)
        if text is None:
            continue
        url = urls.parse(text)
        if url is None or url.scheme not in ("http", "https"):
            check.error("a proxy is a URL with http or https", name)
        elif url.scheme == "http" and name == "httpsProxy":
            check.warn("what goes to this proxy by http can be read on the way", name)


_REFERENCES = Struct(
    Field("merge", Many(REFERENCE, _by("source"))),
    Field("replace", REFERENCE),
    rules=(Within(_source_required("merge"), since=1),),
)
_PROXY = Struct(*maybe("httpProxy httpsProxy", TEXT), Field("noProxy", Many(TEXT)), rules=(_proxy,))
_TLS = Struct(
    Field("certificateAuthorities", Many(AUTHORITY, _by("source"))),
    rules=(Within(_source_required("certificateAuthorities"), since=1),),
)
IGNITION = Struct(
    Field("config", _REFERENCES),
    Field("proxy", _PROXY, since=1),
    Field("security", Struct(Field("tls", _TLS))),
    Field("timeouts", Struct(*maybe("httpResponseHeaders httpTotal", NUMBER))),
    Field("version", TEXT),
)


# Files, directories, links


def _path(record: Record, check: Check) -> None:
    if fault := _path_fault(record.text("path") or ""):
        check.error(fault, "path")


def _path_fault(path: str) -> str:
    if not path:
        return "a path is needed here"
    if not rules.is_absolute(path):
        return f"the path {quoted(path)} is not absolute; it must begin with /"
    if not rules.is_simplified(path):
        return f"write the path {quoted(path)} without dots, doubled slashes and a slash at its end"
    return ""


def _special_bits(record: Record, check: Check) -> None:
    if (record.number("mode") or 0) & rules.SPECIAL_BITS:
        check.warn("setuid, setgid and sticky bits have an effect from version 3.6.0 on only", "mode")


def _overwriting_needs_source(record: Record, check: Check) -> None:
    if record.flag("overwrite") and "source" not in record.record("contents"):
        check.error("to overwrite a file, a source is needed", "overwrite")


_OWNER = Struct(*maybe("id", NUMBER), *maybe("name", TEXT), rules=(rules.one_owner,))
_NODE = (*fields("group user", _OWNER), *maybe("overwrite", FLAG), Field("path", TEXT))
_MODE_RULES = (rules.mode, Within(_special_bits, until=5))

FILE = Struct(
    *_NODE,
    Field("append", Many(CONTENTS, keyed=False)),
    Field("contents", CONTENTS),
    *maybe("mode", NUMBER),
    rules=(_path, *_MODE_RULES, _overwriting_needs_source),
)
DIRECTORY = Struct(*_NODE, *maybe("mode", NUMBER), rules=(_path, *_MODE_RULES))
LINK = Struct(
    *_NODE,
    *maybe("hard", FLAG),
    Field("target", TEXT, until=2, filled=True),
    *maybe("target", TEXT, since=3),
    rules=(_path,),
)


def _nothing_below_links(record: Record, check: Check) -> None:
    links = {link.text("path") or "" for link in record.records("links")}
    if not links:
        return
    longest = max(map(len, links))
    for name in ("directories", "files", "links"):
        for index, node in enumerate(record.records(name)):
            path = node.text("path") or ""
            slashes = (found.start() for found in _SLASH.finditer(path, 0, longest + 1))
            if any(path[:slash] in links for slash in slashes):
                check.error("a link of this configuration is on the way to it", name, index)


def _link_targets(record: Record, check: Check) -> None:
    directories = {directory.text("path") or "" for directory in record.records("directories")}
    for index, link in enumerate(record.records("links")):
        target = link.text("target") or ""
        if not target and check.minor >= 3:
            check.error("a link needs a target", "links", index, "target")
        elif link.flag("hard"):
            _hard_link(link, target, index, directories, check)


def _hard_link(link: Record, target: str, index: int, directories: set[str], check: Check) -> None:
    path = link.text("path") or ""
    whole = target if rules.is_absolute(target) else posixpath.join(path, target)
    if (rules.simplified(whole) if rules.is_absolute(whole) else posixpath.normpath(whole)) in directories:
        check.error("a hard link cannot lead to a directory", "links", index)
    for owner in ("user", "group"):
        for name in link.record(owner):
            check.warn(
                "a hard link has the owner of its target; this is ignored", "links", index, owner, name
            )


def _filesystems_on_disks(record: Record, check: Check) -> None:
    disks = {disk.text("device") or "": disk for disk in record.records("disks")}
    for index, filesystem in enumerate(record.records("filesystems")):
        disk = disks.get(filesystem.text("device") or "")
        if disk is None:
            continue
        if disk.records("partitions"):
            check.warn("it overwrites a disk with partitions", "filesystems", index, "device")
        elif disk.flag("wipeTable") and not filesystem.flag("wipeFilesystem"):
            check.warn("it is wiped, because its disk is", "filesystems", index, "device")


# Disks: nothing of them matters on Windows, but a configuration that Ignition refuses is refused


def _device(record: Record, check: Check) -> None:
    if fault := _path_fault(record.text("device") or ""):
        check.error(fault, "device")


def _partition(record: Record, check: Check) -> None:
    others = ("typeGuid", "guid")
    if record.flag("shouldExist") is False and (
        any(name in record for name in ("label", "startMiB", "sizeMiB"))
        or any(record.text(name) for name in others)
    ):
        check.error("a partition that should not exist can have a number only")
    label = record.text("label")
    if not record.number("number") and label is None:
        check.error("a partition needs a number or a label")
    if label is not None and rules.label_too_long(label, 36):
        check.error("a partition's label has at most 36 characters", "label")
    elif label is not None and ":" in label:
        check.error("a partition's label would be cut at its colon", "label")


def _partition_labels(record: Record, check: Check) -> None:
    seen: set[str] = set()
    for index, partition in enumerate(record.records("partitions")):
        label = partition.text("label")
        if label is None:
            continue
        if label in seen:
            check.error(f"there is a partition {quoted(label)} already", "partitions", index)
        seen.add(label)


_PARTITION = Struct(
    *maybe("guid label typeGuid", TEXT),
    Field("number", NUMBER),
    *maybe("resize", FLAG, since=2),
    *maybe("shouldExist wipePartitionEntry", FLAG),
    *maybe("sizeMiB startMiB", NUMBER),
    rules=(_partition, rules.guid("guid"), rules.guid("typeGuid")),
)
DISK = Struct(
    Field("device", TEXT),
    Field("partitions", Many(_PARTITION, _partition_key)),
    *maybe("wipeTable", FLAG),
    rules=(
        _device,
        rules.partition_numbers,
        rules.partitions_overlap("startMiB", "sizeMiB", lambda _: True),
        Within(rules.missing_partitions_have_numbers, until=5),
        _partition_labels,
    ),
)


def _filesystem(record: Record, check: Check) -> None:
    path = record.text("path")
    if path and (fault := _path_fault(path)):
        check.error(fault, "path")
    if record.text("format"):
        rules.format_and_label(record, check, _FORMATS)
    elif (
        any(record.text(name) for name in ("path", "label", "uuid"))
        or record.flag("wipeFilesystem")
        or any(record.texts(name) for name in ("mountOptions", "options"))
    ):
        check.error("a format is needed with the other things that are given", "format")


FILESYSTEM = Struct(
    Field("device", TEXT),
    *maybe("format label path uuid", TEXT),
    Field("mountOptions", Many(TEXT, keyed=False), since=1),
    Field("options", Many(TEXT, keyed=False)),
    *maybe("wipeFilesystem", FLAG),
    rules=(_device, _filesystem),
)


def _raid(record: Record, check: Check) -> None:
    devices = record.texts("devices")
    if not devices:
        check.error("an array needs devices", "devices")
    for index, device in enumerate(devices):
        if fault := _path_fault(device):
            check.error(fault, "devices", index)


RAID = Struct(
    Field("devices", Many(TEXT)),
    Field("level", TEXT, until=2, filled=True),
    *maybe("level", TEXT, since=3),
    Field("name", TEXT),
    Field("options", Many(TEXT, keyed=False)),
    *maybe("spares", NUMBER),
    rules=(rules.raid_level, _raid),
)


def _custom_pin(record: Record, check: Check) -> None:
    pin, config = record.text("pin"), record.text("config")
    if not pin and not config and not (record.flag("needsNetwork") and check.minor >= 3):
        return
    if not pin:
        check.error("a pin is needed here", "pin")
    elif pin not in _PINS and check.minor < 6:
        check.error(f"the pin is unknown; use {', '.join(_PINS)}", "pin")
    if not config:
        check.error("a configuration is needed here", "config")


def _tang(record: Record, check: Check) -> None:
    url = urls.parse(record.text("url") or "")
    if url is None or url.scheme not in ("http", "https"):
        check.error("a Tang server's URL has http or https", "url")
    if not record.text("thumbprint"):
        check.error("a thumbprint is needed here", "thumbprint")
    advertisement = record.text("advertisement")
    if advertisement and not _is_json(advertisement):
        check.error("an advertisement is JSON", "advertisement")


def _is_json(text: str) -> bool:
    def refuse(_: str) -> float:
        raise ValueError

    try:
        json.loads(text, parse_constant=refuse, parse_int=float)
    except (ValueError, RecursionError):
        return False
    return True


def _luks(record: Record, check: Check) -> None:
    if "/" in (record.text("name") or ""):
        check.error("the name cannot contain a slash", "name")
    if rules.label_too_long(record.text("label") or "", 47):
        check.error("a label has at most 47 characters", "label")
    if fault := _path_fault(record.text("device") or ""):
        check.error(fault, "device")
    clevis = record.record("clevis")
    others = clevis.records("tang") or clevis.flag("tpm2") or clevis.number("threshold")
    custom = "custom" in clevis if check.minor < 3 else clevis.record("custom").text("pin")
    if custom and others:
        check.error("a custom pin excludes tang, tpm2 and threshold", "clevis")
    if record.record("cex").flag("enabled"):
        if custom or others:
            check.error("cex excludes clevis", "cex")
        source = record.record("keyFile").source()
        if source and (source.url or source.data is not None):
            check.error("cex excludes a key file", "cex")


_CUSTOM = Struct(
    *fields("config pin", TEXT, until=2, filled=True),
    *maybe("config pin", TEXT, since=3),
    *maybe("needsNetwork", FLAG),
    rules=(_custom_pin,),
)
_TANG = Struct(
    *maybe("advertisement", TEXT, since=4), *maybe("thumbprint", TEXT), Field("url", TEXT), rules=(_tang,)
)
_CLEVIS = Struct(
    Field("custom", _CUSTOM),
    Field("tang", Many(_TANG, _by("url"))),
    *maybe("threshold", NUMBER),
    *maybe("tpm2", FLAG),
)
LUKS = Struct(
    Field("cex", Struct(*maybe("enabled", FLAG)), since=5),
    Field("clevis", _CLEVIS),
    *maybe("device label uuid", TEXT),
    *maybe("discard", FLAG, since=4),
    Field("keyFile", CONTENTS),
    Field("name", TEXT),
    Field("openOptions", Many(TEXT), since=4),
    Field("options", Many(TEXT, keyed=False)),
    *maybe("wipeVolume", FLAG),
    rules=(_luks,),
)

STORAGE = Struct(
    Field("directories", Many(DIRECTORY, _by("path"))),
    Field("disks", Many(DISK, _by("device"))),
    Field("files", Many(FILE, _by("path"))),
    Field("filesystems", Many(FILESYSTEM, _by("device"))),
    Field("links", Many(LINK, _by("path"))),
    Field("luks", Many(LUKS, _by("name")), since=2),
    Field("raid", Many(RAID, _by("name"))),
    rules=(_nothing_below_links, _link_targets, _filesystems_on_disks),
    one_name_space=frozenset({"directories", "files", "links"}),
)


# Users, units, kernel


def _instances(record: Record, check: Check) -> None:
    contents = {unit.text("name"): unit.text("contents") for unit in record.records("units")}
    for index, unit in enumerate(record.records("units")):
        found = _INSTANCE.fullmatch(unit.text("name") or "")
        template = contents.get(f"{found[1]}@.service") if found and unit.flag("enabled") else None
        if template and not _has_install_section(template):
            why = "its template has no [Install] section, so enabling it does nothing"
            check.warn(why, "units", index, "contents")


def _has_install_section(contents: str) -> bool:
    try:
        return "Install" in unitfile.sections(contents)
    except unitfile.NotAUnit:
        # The template itself is refused for that.
        return True


_DROPIN = Struct(
    *maybe("contents", TEXT), Field("name", TEXT), rules=(rules.unit_contents, rules.dropin_name)
)
UNIT = Struct(
    *maybe("contents", TEXT),
    Field("dropins", Many(_DROPIN, _by("name"))),
    *maybe("enabled mask", FLAG),
    Field("name", TEXT),
    rules=(rules.unit_name, rules.unit_contents),
)
_GROUP = Struct(
    *maybe("gid", NUMBER),
    Field("name", TEXT),
    *maybe("passwordHash", TEXT),
    *maybe("shouldExist", FLAG, since=2),
    *maybe("system", FLAG),
)
_USER = Struct(
    *maybe("gecos homeDir passwordHash primaryGroup shell", TEXT),
    *fields("groups sshAuthorizedKeys", Many(TEXT)),
    Field("name", TEXT),
    *maybe("noCreateHome noLogInit noUserGroup system", FLAG),
    *maybe("shouldExist", FLAG, since=2),
    *maybe("uid", NUMBER),
)
PASSWD = Struct(Field("groups", Many(_GROUP, _by("name"))), Field("users", Many(_USER, _by("name"))))


def _units_are_no_files(record: Record, check: Check) -> None:
    """What Ignition writes for a unit is not written as a file as well."""
    folder = "/etc/systemd/system/"
    taken: set[str] = set()
    for unit in record.record("systemd").records("units"):
        path = folder + (unit.text("name") or "")
        if unit.text("contents"):
            taken.add(path)
        dropins = (dropin.text("name") or "" for dropin in unit.records("dropins") if dropin.text("contents"))
        taken.update(f"{path}.d/{name}" for name in dropins)
    for name in ("files", "directories", "links"):
        for index, node in enumerate(record.record("storage").records(name)):
            if (node.text("path") or "") in taken:
                check.error(
                    "a unit or drop-in of this configuration is at that path", "storage", name, index, "path"
                )


_KERNEL = Struct(
    *fields("shouldExist shouldNotExist", Many(TEXT)),
    one_name_space=frozenset({"shouldExist", "shouldNotExist"}),
)
CONFIG = Struct(
    Field("ignition", IGNITION),
    Field("kernelArguments", _KERNEL, since=3),
    Field("passwd", PASSWD),
    Field("storage", STORAGE),
    Field("systemd", Struct(Field("units", Many(UNIT, _by("name"))), rules=(_instances,))),
    rules=(_units_are_no_files,),
)
