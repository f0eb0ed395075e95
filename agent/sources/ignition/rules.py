"""Rules that both major versions share, and the words for what breaks them."""

import binascii
import itertools
import operator
import posixpath
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from agent.sources import urls
from agent.sources.ignition import unitfile
from agent.sources.ignition.schema import Check, Record, Rule, Source
from agent.sources.report import quoted

_PREFIX = "data:"
_WORD = r"[!#$%&'*+.0-9A-Z^_`a-z{|}~-]"
_HEADER = re.compile(
    r"data:"
    rf"(?:(?:[xX]-{_WORD}*|(?:text|image|audio|video|application|message|multipart){_WORD}*)/{_WORD}*)?"
    rf"(?P<parameters>(?:;{_WORD}+=(?:{_WORD}+|\"(?:[^\"\\]|\\.)*\"))*)"
    r"(?P<base64>;base64)?,",
    re.ASCII | re.DOTALL,
)
_PARAMETER = re.compile(rf";{_WORD}+=(?:\"((?:[^\"\\]|\\.)*)\"|({_WORD}+))", re.DOTALL)
_QUOTED_TEXT = re.compile(
    r"(?:[\x00-\x09\x0b-\x5b\x5d-\x7f]|\\(?:[abfnrtv\\\"]|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}"
    r"|u(?![dD][89A-Fa-f])[0-9A-Fa-f]{4}|U(?!0000[dD][89A-Fa-f])00(?:0[0-9A-Fa-f]|10)[0-9A-Fa-f]{4}))*"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
# Also # goes, in the parameters' values; there it begins a fragment to the URL around.
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_DATA = b"!$%&'()*+,-./0123456789:;=?@ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~"


class NotDecodable(Exception):
    """No data URL. The text says why."""


def decode_data_url(url: str) -> bytes:
    """The bytes inside; raises NotDecodable."""
    header = _HEADER.match(url)
    if header is None:
        raise NotDecodable(_why_no_header(url))
    if not _sound_parameters(header["parameters"]) or _CONTROL.search(header[0]):
        raise NotDecodable("the parameters before its comma are not sound")
    if "#" in header[0] and _BAD_ESCAPE.search(url, header[0].index("#")):
        raise NotDecodable("it has a % without two hexadecimal digits")
    if header["base64"]:
        return _from_base64(url[header.end() :])
    return _from_percent(url, header.end())


def _why_no_header(url: str) -> str:
    if not url.startswith(_PREFIX):
        return f"it does not begin with {_PREFIX} in lower case"
    if "," not in url:
        return "it has no comma before its data"
    return "what is before its comma is no media type, parameter or ;base64"


def _sound_parameters(parameters: str) -> bool:
    return all(
        _QUOTED_TEXT.fullmatch(quoted) and not _BAD_ESCAPE.search(plain)
        for quoted, plain in _PARAMETER.findall(parameters)
    )


def _from_base64(data: str) -> bytes:
    try:
        # Python lets padding pass where none is needed.
        if len(data) % 4 == 0 and not data.endswith("==="):
            return binascii.a2b_base64(data, strict_mode=True)
    except ValueError:  # binascii.Error, and any character that isn't ASCII
        pass
    raise NotDecodable("its data is not base64 (standard alphabet, with padding, no blanks)")


def _from_percent(url: str, start: int) -> bytes:
    data = url[start:].encode()
    if data.translate(None, _DATA):
        found = next(byte for byte in data.decode() if byte not in _DATA.decode())
        raise NotDecodable(f"the character U+{ord(found):04X} in its data must be written with %")
    # Quoted-printable is the same with another sign, and the only such thing that Python decodes in C. It
    # leaves alone what is no escape, which shows in the length.
    decoded = binascii.a2b_qp(data.replace(b"=", b"=3D").replace(b"%", b"="))
    if len(decoded) != len(data) - 2 * data.count(b"%"):
        raise NotDecodable("it has a % without two hexadecimal digits")
    return decoded


_GUID = re.compile(r"(?:[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12})?")
_UNIT_TYPES = frozenset({
    ".service", ".socket", ".device", ".mount", ".automount", ".swap", ".target", ".path", ".timer",
    ".snapshot", ".slice", ".scope",
})  # fmt: skip
_DIGITS = {"sha256": 64, "sha512": 128}
_LONGEST_LABELS = {"ext4": 16, "btrfs": 256, "xfs": 12, "swap": 15, "vfat": 11}
_LEVELS = {
    "linear": False, "raid0": False, "0": False, "stripe": False,
    "raid1": True, "1": True, "mirror": True, "raid4": True, "4": True, "raid5": True, "5": True,
    "raid6": True, "6": True, "raid10": True, "10": True,
}  # fmt: skip
"""Each level of RAID, and whether it can have spares."""

SPECIAL_BITS = 0o7000


def is_absolute(path: str) -> bool:
    return path.startswith("/")


def is_simplified(path: str) -> bool:
    """Whether there is no shorter way to write an absolute path."""
    return path == "/" or not any(step in ("", ".", "..") for step in path[1:].split("/"))


def simplified(path: str) -> str:
    """An absolute path without dots and doubled slashes."""
    return posixpath.normpath("/" + path.lstrip("/"))


def extension(name: str) -> str:
    """As Go has it: from the last dot of the last part, however the name begins."""
    last = name.rpartition("/")[2]
    return last[last.rindex(".") :] if "." in last else ""


def mode(record: Record, check: Check) -> None:
    value = record.number("mode")
    if value is not None and not 0 <= value <= 0o7777:
        check.error(f"the mode {value} is none; write it in decimal, from 0 to 4095 (0644 is 420)", "mode")


def one_owner(record: Record, check: Check) -> None:
    if "id" in record and record.text("name"):
        check.error("give an id or a name, not both")


def compression(record: Record, check: Check) -> None:
    if record.text("compression") not in (None, "", "gzip"):
        check.error("the compression is unknown; Ignition knows gzip", "compression")


def verification(algorithms: Callable[[int], Sequence[str]]) -> Rule:
    """`algorithms` says which a minor version knows."""

    def rule(record: Record, check: Check) -> None:
        wanted = record.text("hash")
        if wanted is None:
            return
        name, dash, digest = wanted.partition("-")
        known = algorithms(check.minor)
        if not dash:
            check.error("a hash is written as sha512-<128 hexadecimal digits>", "hash")
        elif name not in known:
            check.error(f"the hash {quoted(name)} is not known here; use {' or '.join(known)}", "hash")
        elif len(digest.encode()) != _DIGITS[name]:
            why = f"{name} has {_DIGITS[name]} hexadecimal digits, this has {len(digest)} characters"
            check.error(why, "hash")

    return rule


def source(schemes: Mapping[str, int], *, keep_url: bool, empty_is_none: bool = True) -> Rule:
    """Checks a source and decodes the data in it. `schemes` says since which minor version each goes."""

    def rule(record: Record, check: Check) -> None:
        url = record.get("source")
        if not isinstance(url, str):
            return
        record["source"] = Source(url)
        if not url and empty_is_none:
            return
        if url.startswith("data:"):
            try:
                data = decode_data_url(url)
            except NotDecodable as fault:
                check.error(f"it is a data URL that cannot be decoded: {fault}", "source")
                return
            record["source"] = Source(url if keep_url else "", data)
        elif why := _url_fault(url, [name for name, since in schemes.items() if since <= check.minor]):
            check.error(why, "source")

    return rule


def _url_fault(text: str, schemes: Sequence[str]) -> str:
    url = urls.parse(text)
    if url is None:
        return f"{quoted(urls.shown(text))} is no URL"
    if url.scheme not in schemes:
        return f"{quoted(urls.shown(text))} has an unknown scheme; use {', '.join(schemes)} or data"
    if url.scheme == "arn" and not _names_s3_object(url):
        return "it is no ARN of an object in S3"
    if url.scheme in ("s3", "arn") and url.parameter("versionId") == "":
        return "its versionId is empty"
    return ""


def _names_s3_object(url: urls.Url) -> bool:
    """arn:aws:s3:::bucket/key, or arn:aws:s3:REGION:ACCOUNT:accesspoint/NAME/object/KEY"""
    sections = url.opaque.split(":", 4)
    if len(sections) != 5 or sections[1] != "s3":
        return False
    return url.opaque.count("/") >= (2 if sections[4].startswith("accesspoint/") else 1)


def headers_need_http(record: Record, check: Check) -> None:
    if not record.records("httpHeaders"):
        return
    source = record.get("source")
    url = source.url if isinstance(source, Source) else ""
    parsed = urls.parse(url) if url else None
    if parsed is None or parsed.scheme not in ("http", "https"):
        check.error("headers go with a source by http or https only", "httpHeaders")


def _name_ends(types: Collection[str], why: str) -> Rule:
    def rule(record: Record, check: Check) -> None:
        if extension(record.text("name") or "") not in types:
            check.error(why, "name")

    return rule


unit_name = _name_ends(_UNIT_TYPES, "a unit's name ends with its type, such as .service")
dropin_name = _name_ends((".conf",), "a drop-in's name ends with .conf")
network_unit_name = _name_ends(
    (".link", ".netdev", ".network"), "a networkd unit's name ends with .link, .netdev or .network"
)


def unit_contents(record: Record, check: Check) -> None:
    """Of a unit or drop-in. Warns where enabling a unit would do nothing."""
    contents = record.text("contents") or ""
    try:
        sections = unitfile.sections(contents)
    except unitfile.NotAUnit as fault:
        check.error(f"it is no unit file: {fault}", "contents")
        return
    enabled = record.flag("enabled") or record.flag("enable")
    if enabled and contents and "Install" not in sections:
        check.warn("it is enabled but has no [Install] section, so enabling it does nothing", "contents")


def guid(name: str) -> Rule:
    def rule(record: Record, check: Check) -> None:
        if not _GUID.fullmatch(record.text(name) or ""):
            check.error("a GUID looks like 01234567-89AB-CDEF-EDCB-A98765432101", name)

    return rule


def raid_level(record: Record, check: Check) -> None:
    can_have_spares = _LEVELS.get(record.text("level") or "")
    if can_have_spares is None:
        check.error("the level of RAID is unknown", "level")
    elif record.number("spares") and not can_have_spares:
        check.error("arrays of this level can have no spares", "level")


def partition_numbers(record: Record, check: Check) -> None:
    seen: set[int] = set()
    for index, partition in enumerate(record.records("partitions")):
        number = partition.number("number") or 0
        # Of 0 there may be many: each takes the next free number.
        if number and number in seen:
            check.error(f"there is a partition {number} already", "partitions", index)
        seen.add(number)


def partitions_overlap(start: str, size: str, same_is_other: Callable[[int], bool]) -> Rule:
    """`same_is_other` says in which minor versions two partitions that say the same are two."""

    def rule(record: Record, check: Check) -> None:
        placed: list[tuple[int, int, int]] = []
        said: set[tuple[object, ...]] = set()
        for index, partition in enumerate(record.records("partitions")):
            first, length = partition.number(start), partition.number(size)
            # A start of 0 is a place that is chosen later; a size of 0 takes what is free there.
            if not first or length is None:
                continue
            if length < 0:
                check.error("a partition's size cannot be negative", "partitions", index, size)
            words = tuple(sorted(partition.items(), key=operator.itemgetter(0)))
            if same_is_other(check.minor) or words not in said:
                placed.append((first, first + max(length, 1) - 1, index))
                said.add(words)
        _refuse_overlap(placed, check)

    return rule


def _refuse_overlap(placed: list[tuple[int, int, int]], check: Check) -> None:
    """Of (first, last, index); one report for a disk is enough."""
    placed.sort()
    for (_, last, _), (first, _, index) in itertools.pairwise(placed):
        if first <= last:
            check.error("the partition overlaps with another", "partitions", index)
            return


def missing_partitions_have_numbers(record: Record, check: Check) -> None:
    partitions = record.records("partitions")
    if any(item.flag("shouldExist") is False for item in partitions) and any(
        not item.number("number") for item in partitions
    ):
        why = "with a partition that should not exist, every partition of the disk needs a number"
        check.error(why, "partitions")


def format_and_label(record: Record, check: Check, formats: Mapping[str, int]) -> None:
    """`formats` says since which minor version each is known."""
    form, label = (record.text(name) or "" for name in ("format", "label"))
    if formats.get(form, check.minor + 1) > check.minor:
        check.error("the format is unknown", "format")
    if form in _LONGEST_LABELS and label_too_long(label, _LONGEST_LABELS[form]):
        check.error(f"a label has at most {_LONGEST_LABELS[form]} characters in {form}", "label")


def label_too_long(text: str, longest: int) -> bool:
    """Counted in bytes, as Ignition does."""
    return len(text.encode()) > longest
