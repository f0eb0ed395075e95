"""Ignition 2.0 to 2.4: which version has which field, and which rules.

The rules are those of Ignition's own parser, also where its documentation says less.
"""

from agent.sources.ignition import rules
from agent.sources.ignition.schema import Check, Field, Many, Record, Scalar, Struct, Within, fields, maybe
from agent.sources.report import quoted

TEXT, FLAG, NUMBER = Scalar.TEXT, Scalar.FLAG, Scalar.NUMBER

NEWEST_MINOR = 4

_SCHEMES = {"http": 0, "https": 0, "oem": 0, "tftp": 1, "s3": 1}
_FORMATS = {"ext4": 0, "btrfs": 0, "xfs": 0, "swap": 1, "vfat": 1}


# Sources


def _headers(record: Record, check: Check) -> None:
    seen: set[str] = set()
    for index, header in enumerate(record.records("httpHeaders")):
        name = header.text("name") or ""
        if not name:
            check.error("a header needs a name", "httpHeaders", index, "name")
        elif name in seen:
            check.error(f"the header {quoted(name)} is there already", "httpHeaders", index, "name")
        seen.add(name)


def _url_written_anew(record: Record, _: Check) -> None:
    """Of 2.0, Ignition takes URLs apart and puts them together again."""
    url = record.get("source")
    if isinstance(url, str):
        scheme, colon, rest = url.removesuffix("#").partition(":")
        record["source"] = f"{scheme.lower()}{colon}{rest}"


_HASH = Struct(*maybe("hash", TEXT), rules=(rules.verification(lambda _: ("sha512",)),))
_SOURCE_FIELDS = (
    Field("httpHeaders", Many(Struct(*fields("name value", TEXT))), since=4),
    Field("source", TEXT),
    Field("verification", _HASH),
)
_BEFORE = Within(_url_written_anew, until=0)
_AFTER = (_headers, rules.headers_need_http)
REFERENCE = Struct(*_SOURCE_FIELDS, rules=(_BEFORE, rules.source(_SCHEMES, keep_url=True), *_AFTER))
CONTENTS = Struct(
    Field("compression", TEXT),
    *_SOURCE_FIELDS,
    rules=(rules.compression, _BEFORE, rules.source(_SCHEMES, keep_url=False), *_AFTER),
)


# Files, directories, links


def _path(record: Record, check: Check) -> None:
    path = record.text("path") or ""
    if not rules.is_absolute(path):
        check.error(f"the path {quoted(path)} is not absolute; it must begin with /", "path")


def _filesystem_named(record: Record, check: Check) -> None:
    if not record.text("filesystem"):
        check.error('the filesystem is missing; the one of the machine itself is "root"', "filesystem")


def _mode_given(record: Record, check: Check) -> None:
    if "mode" not in record:
        check.warn("without a mode, it gets 0: nobody but root may read it", "mode")


def _append_or_overwrite(record: Record, check: Check) -> None:
    if record.flag("append") and record.flag("overwrite"):
        check.error("append and overwrite exclude each other", "append")


_OWNER_2_0 = Struct(Field("id", NUMBER, filled=True))
_OWNER = Struct(*maybe("id", NUMBER), Field("name", TEXT), rules=(rules.one_owner,))
_NODE = (
    *fields("filesystem path", TEXT),
    *fields("group user", _OWNER_2_0, until=0, filled=True),
    *maybe("group user", _OWNER, since=1),
    *maybe("overwrite", FLAG, since=2),
)
_MODE = (
    Field("mode", Scalar.UNSIGNED_32, until=0, filled=True),
    Field("mode", NUMBER, since=1, until=1, filled=True),
    *maybe("mode", NUMBER, since=2),
)
_NODE_RULES = (_path, _filesystem_named)
_MODE_RULES = (rules.mode, Within(_mode_given, since=2))

FILE = Struct(
    *_NODE,
    *_MODE,
    Field("append", FLAG, since=2),
    Field("contents", CONTENTS),
    rules=(*_NODE_RULES, *_MODE_RULES, _append_or_overwrite),
)
DIRECTORY = Struct(*_NODE, *_MODE, rules=(*_NODE_RULES, *_MODE_RULES))
LINK = Struct(*_NODE, Field("hard", FLAG), Field("target", TEXT), rules=_NODE_RULES)


# Disks: nothing of them matters on Windows, but a configuration that Ignition refuses is refused


def _device(record: Record, check: Check) -> None:
    if not rules.is_absolute(record.text("device") or ""):
        check.error("a device is an absolute path", "device")


def _partition_label(record: Record, check: Check) -> None:
    label = record.text("label") or ""
    if rules.label_too_long(label, 36):
        check.error("a partition's label has at most 36 characters", "label")
    elif ":" in label:
        check.warn("a partition's label is cut at its colon", "label")


_SECTORS = ("start", "size")
_MEBIBYTES = ("startMiB", "sizeMiB")


def _partition(record: Record, check: Check) -> None:
    if _has_any(record, _SECTORS) and _has_any(record, _MEBIBYTES):
        check.error("give places and sizes in sectors or in MiB, not both")
    missing = record.flag("shouldExist") is False
    if missing and (_has_any(record, ("label", *_SECTORS)) or record.text("guid") or record.text("typeGuid")):
        check.error("a partition that should not exist can have a number only")
    for name in _SECTORS:
        if name in record:
            check.warn(f"it is deprecated; use {name}MiB", name)


def _has_any(record: Record, names: tuple[str, ...]) -> bool:
    return any(name in record for name in names)


def _aligned(record: Record, check: Check) -> None:
    for index, partition in enumerate(record.records("partitions")):
        if (partition.number("start") or 0) % 2048:
            check.error("a partition starts at a multiple of 2048 sectors", "partitions", index, "start")


def _one_unit(record: Record, check: Check) -> None:
    partitions = record.records("partitions")
    if any(_has_any(item, _SECTORS) for item in partitions) and any(
        _has_any(item, _MEBIBYTES) for item in partitions
    ):
        check.error("the places and sizes on one disk are in sectors or in MiB, not both", "partitions")


_PARTITION = Struct(
    Field("guid", TEXT, since=1),
    Field("label", TEXT, until=2, filled=True),
    Field("number", NUMBER),
    *fields("size start", Scalar.UNSIGNED, until=0, filled=True),
    *fields("size start", NUMBER, since=1, until=2, filled=True),
    Field("typeGuid", TEXT),
    Field("wipePartitionEntry", FLAG, since=3),
    *maybe("label", TEXT, since=3),
    *maybe("shouldExist", FLAG, since=3),
    *maybe("size sizeMiB start startMiB", NUMBER, since=3),
    rules=(_partition_label, Within(_partition, since=3), rules.guid("guid"), rules.guid("typeGuid")),
)
DISK = Struct(
    Field("device", TEXT),
    Field("partitions", Many(_PARTITION)),
    Field("wipeTable", FLAG),
    rules=(
        _device,
        rules.partition_numbers,
        rules.partitions_overlap("start", "size", lambda minor: minor >= 3),
        _aligned,
        Within(rules.missing_partitions_have_numbers, since=3),
        Within(_one_unit, since=3),
    ),
)


def _raid_devices(record: Record, check: Check) -> None:
    for index, device in enumerate(record.texts("devices")):
        if not rules.is_absolute(device):
            check.error("a device is an absolute path", "devices", index)


RAID = Struct(
    Field("devices", Many(TEXT)),
    Field("options", Many(TEXT), since=2),
    *fields("level name", TEXT),
    Field("spares", NUMBER),
    rules=(rules.raid_level, _raid_devices),
)


def _mount_format(record: Record, check: Check) -> None:
    rules.format_and_label(record, check, _FORMATS)


def _filesystem(record: Record, check: Check) -> None:
    path, mount = record.text("path"), record.record("mount")
    if path is None and "mount" not in record:
        check.error("a filesystem needs a mount or a path")
    elif path is not None and "mount" in record:
        check.error("a filesystem has a mount or a path, not both")
    if path is not None and not rules.is_absolute(path):
        check.error("the path is not absolute; it must begin with /", "path")
    if "create" in mount:
        if mount.flag("wipeFilesystem"):
            check.error("create and wipeFilesystem exclude each other", "mount", "create")
        if mount.texts("options"):
            check.error("create and options exclude each other", "mount", "create")


_MOUNT = Struct(
    *maybe("create", Struct(Field("force", FLAG), Field("options", Many(TEXT)))),
    *fields("device format", TEXT),
    *maybe("label uuid", TEXT, since=1),
    Field("options", Many(TEXT), since=1),
    Field("wipeFilesystem", FLAG, since=1),
    rules=(_device, _mount_format),
)
FILESYSTEM = Struct(*maybe("mount", _MOUNT), Field("name", TEXT), *maybe("path", TEXT), rules=(_filesystem,))
STORAGE = Struct(
    Field("directories", Many(DIRECTORY), since=1),
    Field("disks", Many(DISK)),
    Field("files", Many(FILE)),
    Field("filesystems", Many(FILESYSTEM)),
    Field("links", Many(LINK), since=1),
    Field("raid", Many(RAID)),
)


# Users, units


def _create_alone(record: Record, check: Check) -> None:
    if "create" not in record:
        return
    for field in _ACCOUNT:
        if record.get(field.name):
            check.error("it cannot be given beside create", field.name)
    if "uid" in record:
        check.error("it cannot be given beside create", "uid")


_ACCOUNT = (
    Field("gecos", TEXT),
    Field("groups", Many(TEXT)),
    Field("homeDir", TEXT),
    *fields("noCreateHome noLogInit noUserGroup", FLAG),
    *fields("primaryGroup shell", TEXT),
    Field("system", FLAG),
)
_UID = (Field("uid", Scalar.UNSIGNED, until=0, optional=True), *maybe("uid", NUMBER, since=1))
_GROUP = Struct(
    Field("gid", Scalar.UNSIGNED, until=0, optional=True),
    *maybe("gid", NUMBER, since=1),
    *fields("name passwordHash", TEXT),
    Field("system", FLAG),
)
_USER = Struct(
    *maybe("create", Struct(*_ACCOUNT, *_UID)),
    Field("name", TEXT),
    Field("passwordHash", TEXT, until=0),
    *maybe("passwordHash", TEXT, since=1),
    Field("sshAuthorizedKeys", Many(TEXT)),
    *(Field(field.name, field.kind, since=1) for field in _ACCOUNT),
    *maybe("uid", NUMBER, since=1),
    rules=(_create_alone,),
)
PASSWD = Struct(Field("groups", Many(_GROUP)), Field("users", Many(_USER)))
_DROPIN = Struct(*fields("contents name", TEXT), rules=(rules.unit_contents, rules.dropin_name))
UNIT = Struct(
    *fields("contents name", TEXT),
    Field("dropins", Many(_DROPIN)),
    *fields("enable mask", FLAG),
    *maybe("enabled", FLAG, since=1),
    rules=(rules.unit_name, rules.unit_contents),
)
NETWORK_UNIT = Struct(
    *fields("contents name", TEXT),
    Field("dropins", Many(_DROPIN), since=2),
    rules=(rules.unit_contents, rules.network_unit_name),
)


# All of it


def _filesystems_are_there(record: Record, check: Check) -> None:
    known = {"root"}
    for index, filesystem in enumerate(record.record("storage").records("filesystems")):
        name = filesystem.text("name") or ""
        if name in known:
            why = f"it hides another filesystem {quoted(name)}"
            check.warn(why, "storage", "filesystems", index, "name")
        known.add(name)
    for kind in ("files", "links", "directories"):
        for index, node in enumerate(record.record("storage").records(kind)):
            name = node.text("filesystem") or ""
            if name and name not in known:
                why = f"the filesystem {quoted(name)} is not in this document; another may have it"
                check.warn(why, "storage", kind, index, "filesystem")


_REFERENCES = Struct(Field("append", Many(REFERENCE)), *maybe("replace", REFERENCE))
_PROXY = Struct(*fields("httpProxy httpsProxy", TEXT), Field("noProxy", Many(TEXT)))
_TLS = Struct(Field("certificateAuthorities", Many(REFERENCE)))
_IGNITION = Struct(
    Field("config", _REFERENCES),
    Field("proxy", _PROXY, since=4),
    Field("security", Struct(Field("tls", _TLS)), since=2),
    Field("timeouts", Struct(*maybe("httpResponseHeaders httpTotal", NUMBER)), since=1),
    Field("version", TEXT),
)
CONFIG = Struct(
    Field("ignition", _IGNITION),
    Field("networkd", Struct(Field("units", Many(NETWORK_UNIT)))),
    Field("passwd", PASSWD),
    Field("storage", STORAGE),
    Field("systemd", Struct(Field("units", Many(UNIT)))),
    rules=(_filesystems_are_there,),
)
