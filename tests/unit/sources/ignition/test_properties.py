"""Any input whatever ends in a report, never in a traceback, and in little time."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent.sources import ignition, urls
from agent.sources.ignition import rules, unitfile
from agent.sources.ignition.model import Packing, Unsound, in_blocks

_DATA = Path(__file__).parents[3] / "data" / "ignition"
_DOCUMENTS = [path.read_bytes() for path in sorted(_DATA.glob("*.ign"))]
_WORDS = sorted(
    {
        "ignition", "version", "config", "merge", "append", "replace", "source", "contents", "compression",
        "verification", "hash", "httpHeaders", "name", "value", "storage", "files", "directories", "links",
        "path", "mode", "user", "group", "id", "target", "hard", "overwrite", "filesystem", "disks", "device",
        "partitions", "number", "label", "startMiB", "sizeMiB", "start", "size", "filesystems",
        "format", "raid",
        "level", "devices", "luks", "clevis", "custom", "pin", "tang", "url", "systemd", "units", "dropins",
        "enabled", "enable", "mask", "passwd", "users", "groups", "create", "uid", "networkd",
        "security", "tls",
        "certificateAuthorities", "proxy", "httpProxy", "noProxy", "timeouts", "httpTotal", "kernelArguments",
        "shouldExist", "mount", "options", "keyFile", "cex",
    }
)  # fmt: skip
_VERSIONS = ["2.0.0", "2.1.0", "2.3.0", "2.4.0", "3.0.0", "3.1.0", "3.2.0", "3.4.0", "3.6.0"]
_PIECES = [b"", b'"', b"{", b"}", b"[", b"]", b",", b"\\", b"0", b"null", b"%", b"\xff", b"\x00", b"\n"]
_TEXTS = st.one_of(
    st.sampled_from(
        ["2.0.0", "2.2.0", "2.4.0", "3.0.0", "3.2.0", "3.6.0", "/a", "/a/b", "data:,x", "a.service"]
    ),
    st.sampled_from(
        ["data:;base64,aGk=", "http://h/x", "root", "sha512-00", "[S]\nA=b", "gzip", "x.conf", ""]
    ),
    st.text(max_size=8),
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXTS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.sampled_from(_WORDS), below, max_size=6),
    max_leaves=40,
)


def _check(raw: bytes) -> None:
    outcome = ignition.load("any", raw)
    assert outcome.report.fatal == (outcome.configuration is None)
    for entry in outcome.report.entries:
        text = str(entry)
        assert text.isprintable()
        assert len(text) < 1000
        assert entry.line is None or entry.line <= raw.count(b"\n") + 1
    if outcome.configuration:
        assert outcome.configuration.documents


@given(st.binary(max_size=200))
def test_any_bytes(raw: bytes) -> None:
    _check(raw)


@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    _check(text.encode(errors="surrogatepass"))


@given(
    _VALUES,
    st.sampled_from(_VERSIONS),
)
def test_any_values_under_known_words(value: Any, version: str) -> None:
    if isinstance(value, dict):
        inner = value.get("ignition")
        value = {**value, "ignition": {**(inner if isinstance(inner, dict) else {}), "version": version}}
    _check(json.dumps(value).encode())


@given(st.integers(min_value=0, max_value=2**64))
def test_damaged_documents(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
    raw = bytearray(chance.choice(_DOCUMENTS))
    for _ in range(chance.choice([1, 1, 2, 5, 50])):
        at = chance.randrange(len(raw))
        length = chance.choice([0, 1, 1, 3, 20])
        raw[at : at + length] = chance.choice(
            [
                b"",
                b'"',
                b"{",
                b"}",
                b"[",
                b"]",
                b",",
                b"\\",
                b"0",
                b"null",
                b"%",
                b"\xff",
                bytes([chance.randrange(256)]),
            ]
        )
    _check(bytes(raw))


@given(st.text(alphabet='data:;base64,=/+%"\\x-text09AZ \n\u00e4#?', max_size=60))
def test_any_data_url(text: str) -> None:
    for url in (text, f"data:{text}", f"data:;base64,{text}", f"data:,{text}"):
        try:
            assert len(rules.decode_data_url(url)) <= len(url)
        except rules.NotDecodable as fault:
            assert str(fault).isprintable()


@given(st.text(max_size=60), st.sampled_from(["", "http://", "https://u@", "http://[", "arn:", "s3://"]))
def test_any_url(text: str, start: str) -> None:
    url = urls.parse(start + text)
    urls.shown(start + text)
    if url:
        url.parameter("versionId")


@given(st.text(alphabet="[]=\\\n\r#; \tab\u00e4\u2003", max_size=300), st.integers(0, 3000))
def test_any_unit(text: str, more: int) -> None:
    for contents in (text, text + "x" * more + text, "x" * more + text, f"[S]\nA={'y' * more}\\\n{text}"):
        try:
            unitfile.sections(contents)
        except unitfile.NotAUnit as fault:
            assert str(fault).isprintable()


@given(st.binary(max_size=300), st.booleans())
def test_any_packed_contents(data: bytes, framed: bool) -> None:
    raw = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03" + data if framed else data
    try:
        assert sum(map(len, Packing(compressed=True).unpack(in_blocks(raw), 1 << 16))) <= 1 << 16
    except Unsound as fault:
        assert str(fault).isprintable()
