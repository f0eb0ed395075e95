"""How user data travels, and of what parts it is made."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Iterator
from pathlib import PureWindowsPath

import pytest

from agent.sources import cloudconfig, ignition
from agent.sources.cloudconfig import document
from agent.spec import Effect
from unit.sources.cloudconfig.loaded import config, error, made, multipart, notes, scripts

PLAIN = b"#cloud-config\nruncmd: [echo]\n"
RUN = {"runcmd": b"echo\r\n"}

TRAVELS = {
    "plain": PLAIN,
    "with a byte order mark": b"\xef\xbb\xbf" + PLAIN,
    "with the line ends of Windows": PLAIN.replace(b"\n", b"\r\n"),
    "gzip": gzip.compress(PLAIN),
    "base64 of gzip": base64.b64encode(gzip.compress(PLAIN)),
    "base64 of gzip on lines": base64.encodebytes(gzip.compress(PLAIN)),
    "gzip of gzip": gzip.compress(gzip.compress(PLAIN)),
    "multipart": multipart(("text/cloud-config", PLAIN.decode())),
    "multipart in gzip": gzip.compress(multipart(("text/cloud-config", PLAIN.decode()))),
    "multipart, its type not said": multipart(("text/plain", PLAIN.decode())),
    "multipart, said to be a script": multipart(("text/x-shellscript", PLAIN.decode())),
    "multipart with blank lines before": b"\n\n" + multipart(("text/cloud-config", PLAIN.decode())),
    "capitals": b"#Cloud-Config\nruncmd: [echo]\n",
}


@pytest.mark.parametrize("name", TRAVELS)
def test_how_it_travels(name: str) -> None:
    assert scripts(made(TRAVELS[name]).before) == RUN


def _encoded(encoding: str, payload: bytes, kind: str = "text/cloud-config") -> bytes:
    head = f"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: {kind}\n"
    return f"{head}Content-Transfer-Encoding: {encoding}\n\n".encode() + payload + b"\n--b--\n"


ENCODED = {
    "base64": _encoded("base64", base64.b64encode(PLAIN)),
    "quoted-printable": _encoded("quoted-printable", PLAIN.replace(b"[echo]", b"[ec=68=\no]")),
    "base64 of gzip": _encoded("base64", base64.b64encode(gzip.compress(PLAIN)), "application/gzip"),
    "8bit": _encoded("8bit", PLAIN),
}


@pytest.mark.parametrize("name", ENCODED)
def test_how_a_part_travels(name: str) -> None:
    assert scripts(made(ENCODED[name]).before) == RUN


def test_multipart_within_multipart() -> None:
    inner = (
        (
            "--b\nContent-Type: text/cloud-config\n\nruncmd: [1]\n"
            "--b\nContent-Type: text/cloud-config\n\nruncmd: [2]\n--b--\n"
        )
        .replace("1", "one")
        .replace("2", "two")
    )
    raw = multipart(("multipart/mixed; boundary=b", inner), ("text/cloud-config", "runcmd: [three]"))
    assert scripts(made(raw).before) == {"runcmd": b"one\r\ntwo\r\nthree\r\n"}


_HEADS = b"MIME-Version: 1.0\nContent-Type: multipart/mixed"
BAD: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "user data: it is empty"),
    "blank": (b" \n", "user data: it is empty"),
    "UTF-16": ("#cloud-config\n".encode("utf-16"), "user data: it is UTF-16; save it as UTF-8"),
    "not UTF-8": (b"#cloud-config\n\xff", "user data: it is not UTF-8: a byte in line 2"),
    "gzip cut short": (gzip.compress(PLAIN)[:-3], "user data: it is gzip that ends too early"),
    "gzip damaged": (b"\x1f\x8bxxxxxxxx", "user data: it is not gzip, or damaged"),
    "a bomb": (gzip.compress(bytes(17 << 20)), "user data: it is larger than 16,777,216 bytes unpacked"),
    "too large": (b"#" * ((16 << 20) + 1), "user data: it is larger than 16,777,216 bytes"),
    "packed again and again": (
        gzip.compress(gzip.compress(gzip.compress(gzip.compress(gzip.compress(PLAIN))))),
        "user data: it is packed in gzip or base64 again and again",
    ),
    "base64 of a cloud-config": (
        base64.encodebytes(PLAIN),
        "user data line 1, column 1: it is base64; decode it first",
    ),
    "base64 of a cloud-config, in a part that does not say so": (
        multipart(("text/cloud-config", base64.b64encode(PLAIN).decode())),
        "user data part 1 line 1, column 1: a cloud-config is a mapping of keys",
    ),
    "base64 of nothing known": (base64.b64encode(b"hello " * 9), "it begins like no user data"),
    "nobody knows": (b"hello", "user data line 1, column 1: it begins like no user data"),
    "Ignition": (b'{"ignition": {}}', "it is JSON, maybe Ignition, and that is for --ignition"),
    "bash": (b"#!/bin/sh\n", "user data line 1: it is a script for a Linux shell"),
    "an archive": (b"#cloud-config-archive\n[]", "such an archive is not read here"),
    "a patch": (b"#cloud-config-jsonp\n[]", "JSON patches are not understood here"),
    "a part handler": (b"#part-handler\n", "a part handler is a Python program"),
    "multipart without its boundary": (_HEADS + b"\n\nx", "it is multipart, and names no boundary"),
    "multipart with another boundary": (
        _HEADS + b"; boundary=a\n\n--b\n\nx\n--b--\n",
        "no part begins with the boundary that its header names",
    ),
    "multipart of many": (
        multipart(*[("text/cloud-config", "runcmd: []")] * 101),
        "it has more than 100 parts",
    ),
    "base64 damaged": (_encoded("base64", b"x*x=x"), "a part of it is not base64"),
    "a part in a part": (
        multipart(("text/plain", base64.b64encode(gzip.compress(multipart(("text/plain", "x")))).decode())),
        "user data part 1: it is multipart MIME, packed into a part",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_read(name: str) -> None:
    raw, expected = BAD[name]
    assert expected in error(raw)


def test_a_part_is_named_in_errors() -> None:
    raw = multipart(("text/cloud-config", "a: 1"), ("text/cloud-config", "\nruncmd: 5", "two.yaml"))
    assert error(raw).startswith("error: user data part 2 (two.yaml) ")
    assert "line 2, column 9 at $.runcmd: a list of command lines is expected" in error(raw)


def test_a_missing_closing_boundary_is_reported() -> None:
    """The peers read such a message to its end and say nothing."""
    raw = multipart(("text/cloud-config", "runcmd: [echo]")).removesuffix(b"--==--\n")
    read = made(raw)
    assert scripts(read.before) == RUN
    assert notes(read) == ["warning user data: its closing boundary is missing: its end may be missing, too"]


def test_what_belongs_to_somebody_else() -> None:
    [note] = notes(made(multipart(("text/x-cfninitdata", "x", "cfn"), ("text/cloud-config", "runcmd: [a]"))))
    assert note == 'ignored user data part 1 (cfn): nothing here knows what to do with "text/x-cfninitdata"'


def test_what_belongs_to_somebody_else_need_not_be_text() -> None:
    raw = _encoded("8bit", b"MZ\x90\xff", "application/x-program")
    [note] = notes(made(raw))
    assert note.endswith('nothing here knows what to do with "application/x-program"')


def test_an_empty_part_is_none() -> None:
    assert scripts(made(multipart(("text/plain", ""), ("text/cloud-config", "runcmd: [echo]"))).before) == RUN


# Merging

MERGED: dict[str, tuple[list[str], dict[str, bytes]]] = {
    "lists follow each other": (
        ["runcmd: [a]", "runcmd: [b]"],
        {"runcmd": b"a\r\nb\r\n"},
    ),
    "of others the last one holds": (
        ["ntp: {servers: [a]}", "ntp: {servers: [b]}"],
        {"ntp": b'net start w32time\r\nw32tm /config /manualpeerlist:"b" /syncfromflags:manual /update\r\n'},
    ),
    "cloud-init: replaced": (
        ["runcmd: [a, b]", "merge_how: dict(replace)+list()+str()\nruncmd: [c]"],
        {"runcmd": b"c\r\n"},
    ),
    "cloud-init: appended": (
        ["runcmd: [a]", "merge_how: dict(recurse_array)+list(append)\nruncmd: [b]"],
        {"runcmd": b"a\r\nb\r\n"},
    ),
    "cloud-init: prepended": (
        ["runcmd: [a]", "merge_type: 'dict(recurse_list)+list(prepend)'\nruncmd: [b]"],
        {"runcmd": b"b\r\na\r\n"},
    ),
    "cloud-init: the first holds": (
        ["runcmd: [a]", "merge_how: dict(no_replace)\nruncmd: [b]\nbootcmd: [c]"],
        {"runcmd": b"a\r\n", "bootcmd": b"c\r\n"},
    ),
    "cloud-init: taken away": (
        ["runcmd: [a]", "merge_how: dict(allow_delete)\nruncmd: null"],
        {},
    ),
    "cloud-init: item by item": (
        ["runcmd: [a, b]", "merge_how: dict(recurse_list)+list()\nruncmd: [c]"],
        {"runcmd": b"c\r\nb\r\n"},
    ),
    "cloud-init: as a list": (
        [
            "runcmd: [a]",
            "merge_how: [{name: list, settings: [append]}, {name: dict, settings: [recurse_list]}]\n"
            "runcmd: [b]",
        ],
        {"runcmd": b"a\r\nb\r\n"},
    ),
    "cloud-init: texts": (
        ["ntp: {servers: a}", "merge_how: dict(recurse_dict, recurse_str)+str(append)\nntp: {servers: b}"],
        {"ntp": b'net start w32time\r\nw32tm /config /manualpeerlist:"ab" /syncfromflags:manual /update\r\n'},
    ),
}


@pytest.mark.parametrize("name", MERGED)
def test_several_cloud_configs(name: str) -> None:
    texts, expected = MERGED[name]
    raw = multipart(*(("text/cloud-config", text) for text in texts))
    assert scripts(made(raw).before) == expected


def test_a_header_can_say_how_to_merge() -> None:
    raw = multipart(("text/cloud-config", "runcmd: [a]"), ("text/cloud-config", "runcmd: [b]")).replace(
        b"\n\nruncmd: [b]", b"\nMerge-Type: dict(recurse_array)+list(prepend)\n\nruncmd: [b]"
    )
    assert scripts(made(raw).before) == {"runcmd": b"b\r\na\r\n"}


@pytest.mark.parametrize("said", ["dict(x)", "tuple()", "dict", "5", "[x]", "[{name: dict}]"])
def test_nobody_knows_how_to_merge(said: str) -> None:
    assert error(config(f"merge_how: {said}")).startswith("error: user data line 2, column 1")


# What is elsewhere


def _fetch(request: ignition.Request) -> Iterator[bytes]:
    if "missing" in request.url:
        raise ignition.FetchFailed("the server answers 404")
    yield b"#cloud-config\nruncmd: ["
    yield request.url.rpartition("/")[2].encode() + b"]\n"


INCLUDES = {
    "one": ("#include\nhttps://x/a\n", b"a\r\n"),
    "on the same line": ("#include https://x/a", b"a\r\n"),
    "once": ("#include-once\nhttp://x/a\n", b"a\r\n"),
    "several": ("#include\n# remark\n\nhttps://x/a\nhttps://x/b\n", b"a\r\nb\r\n"),
}


@pytest.mark.parametrize("name", INCLUDES)
@pytest.mark.parametrize("alone", [False, True])
def test_includes(name: str, alone: bool) -> None:
    text, expected = INCLUDES[name]
    raw = text.encode() if alone else multipart(("text/x-include-url", text))
    outcome = cloudconfig.load("user data", raw, fetch=_fetch)
    assert outcome.user_data
    assert scripts(outcome.user_data.before) == {"runcmd": expected}


BAD_INCLUDES: dict[str, tuple[bytes, ignition.Fetch | None, str]] = {
    "nothing is fetched": (
        b"#include\nhttps://x/token",
        None,
        "user data line 2: it would have to be fetched",
    ),
    "missing": (
        b"#include\nhttps://x/missing",
        _fetch,
        "line 2: it cannot be fetched: the server answers 404",
    ),
    "another scheme": (b"#include\nftp://x/token", _fetch, "an address with http, https or file is expected"),
    "a file that nobody writes": (b"#include file:///etc/token", None, "only a boot hook can have written"),
    "a file on no path": (b"#include file:///etc/token%3Ax", None, "this cannot be a path on Windows"),
    "round and round": (
        b"#include\nhttps://x/a",
        lambda _: iter([b"#include\nhttps://x/a"]),
        "more than 20 documents are included",
    ),
}


@pytest.mark.parametrize("name", BAD_INCLUDES)
def test_bad_includes(name: str) -> None:
    raw, fetch, expected = BAD_INCLUDES[name]
    outcome = cloudconfig.load("user data", raw, fetch=fetch)
    [entry] = outcome.report.errors
    assert expected in str(entry)
    assert "token" not in str(entry)


def test_a_boot_hook_brings_the_rest() -> None:
    """As Cluster API's provider for AWS does it, with a boot hook that Windows understands."""
    raw = multipart(
        ("text/cloud-boothook", "#cloud-boothook\n#ps1_sysnative\nfetch", "hook"),
        ("text/x-include-url", "file:///etc/secret-userdata.txt\n"),
    )
    path = PureWindowsPath(r"C:\etc\secret-userdata.txt")
    first = made(raw)
    assert first.awaited == (path,)
    assert list(scripts(first.before)) == ["boot hook hook"]
    second = cloudconfig.load("user data", raw, included={path: gzip.compress(PLAIN)}).user_data
    assert second
    assert not second.awaited
    assert list(scripts(second.before)) == ["boot hook hook", "runcmd"]


# Other keys

KEYS: dict[str, tuple[str, list[str]]] = {
    "time zone": ("timezone: UTC", ["ignored timezone: a node's certificates"]),
    "users": ("users: [default, {name: a, passwd: secret}]", ["ignored user default: ", "ignored user a: "]),
    "groups": ("groups: [a, b: [c]]", ["ignored group a: ", "ignored group b: "]),
    "disks": ("disk_setup: {/dev/sdb: {}}", ["ignored disk /dev/sdb: "]),
    "mounts": ("mounts: [[/dev/sdb, /x], []]", ["ignored mount /dev/sdb: ", "ignored mount: "]),
    "packages": ("packages: [a]\npackage_update: true", ["ignored packages: ", "ignored package_update: "]),
    "authorities": ("ca_certs: {trusted: [x]}", ["warning ca_certs: authorities are not installed"]),
    "restart": ("power_state: {mode: reboot}", ["warning power_state: the machine is not restarted"]),
    "unknown": ("whatever: 1", ["warning key whatever: it is not known here"]),
    "mistyped": ("run_cmd: [a]", ["warning key run_cmd: it is not known here, and nothing is done for it"]),
    "twice": ("packages: [a]\npackages: [b]", ["warning key packages: it is there a second", "ignored pack"]),
    "many users": (
        "users: [" + ", ".join(f"u{number}" for number in range(30)) + "]",
        [*(f"ignored user u{number}: " for number in range(20)), "ignored user and 10 more: "],
    ),
}


@pytest.mark.parametrize("name", KEYS)
def test_keys_that_are_not_carried_out(name: str) -> None:
    said, expected = KEYS[name]
    found = notes(made(config(said)))
    assert len(found) == len(expected)
    assert all(note.startswith(start) for note, start in zip(found, expected, strict=True)), found
    assert not any("secret" in note for note in found)


def test_whose_accounts_are_left_out_is_told_what_to_do() -> None:
    first, second = notes(
        made(config("users: [{name: a, ssh_authorized_keys: [k]}]\nssh_authorized_keys: [k]"))
    )
    keys = r"rite administrators' keys to C:\ProgramData\ssh\administrators_authorized_keys, by write_files"
    assert first == (
        "ignored user a: no account is made here; make it in the machine's image, or with net user in runcmd"
        f". W{keys}"
    )
    assert second == f"ignored ssh_authorized_keys: no account's keys are set here; w{keys}"


def test_a_mistyped_key_is_guessed() -> None:
    [note] = made(config("run_cmd: [a]")).notes
    assert note.effect is Effect.WARNING
    assert note.reason.endswith("(user data line 2); is runcmd meant?")


NTP: dict[str, tuple[str, bytes | None]] = {
    "servers and pools": ("ntp: {servers: [a.example], pools: [b.example]}", b'"a.example b.example"'),
    "one": ("ntp: {servers: 192.0.2.1}", b'"192.0.2.1"'),
    "IPv6": ("ntp: {servers: ['2001:db8::1']}", b'"2001:db8::1"'),
    "switched off": ("ntp: {enabled: false, servers: [a]}", None),
    "switched on": ("ntp: {enabled: true, servers: [a]}", b'"a"'),
    "none": ("ntp: {servers: }", None),
    "nothing": ("ntp:", None),
}


@pytest.mark.parametrize("name", NTP)
def test_time_servers(name: str) -> None:
    said, expected = NTP[name]
    found = scripts(made(config(said)).before)
    command = b"net start w32time\r\nw32tm /config /manualpeerlist:%s /syncfromflags:manual /update\r\n"
    assert found == ({"ntp": command % expected} if expected else {})


@pytest.mark.parametrize("said", ['a" & del b', "a b", "", "-x", "[a]", "5", "a" * 300])
def test_a_time_server_is_no_way_into_a_command(said: str) -> None:
    assert "the name or address of a time server is expected" in error(
        config(f"ntp: {{servers: [{said!r}, [x]]}}")
    )


HOST_NAMES = {
    "hostname": ("hostname: win-1", "win-1"),
    "up to its first dot": ("hostname: win-1.example.com", "win-1"),
    "set_hostname": ("set_hostname: win-1", "win-1"),
    "fqdn": ("fqdn: win-1.example.com", "win-1"),
    "both": ("fqdn: a.example\nhostname: b", "b"),
    "both, and the whole is preferred": (
        "fqdn: a.example\nhostname: b\nprefer_fqdn_over_hostname: true",
        "a",
    ),
    "only one, and the whole is preferred": ("hostname: b\nprefer_fqdn_over_hostname: true", "b"),
    "long": ("hostname: my-cluster-md-windows-7f6d5-abcde", "my-cluster-md-windows-7f6d5-abcde"),
    "kept": ("hostname: a\npreserve_hostname: true", None),
    "none": ("hostname:", None),
}


@pytest.mark.parametrize("name", HOST_NAMES)
def test_host_names(name: str) -> None:
    said, expected = HOST_NAMES[name]
    assert made(config(said)).host_name == expected


@pytest.mark.parametrize("said", ["a_b", "-a", "[a]", "a" * 64, "''"])
def test_bad_host_names(said: str) -> None:
    assert "at $.hostname: a name of letters, digits and hyphens" in error(config(f"hostname: {said}"))


@pytest.mark.parametrize("said", ["12345", "'12345'", "12345.example"])
def test_a_name_of_digits_alone_is_none_for_windows(said: str) -> None:
    assert "at $.hostname: Windows takes no name of digits alone" in error(config(f"hostname: {said}"))


YAML: dict[str, tuple[bytes, str]] = {
    "not YAML": (b"#cloud-config\na: [token\nb: c", "user data line 3, column 2: it is not YAML"),
    "a list": (b"#cloud-config\n- a\n", "user data line 2, column 1: a cloud-config is a mapping"),
    "a text": (b"#cloud-config\ntoken\n", "user data line 2, column 1: a cloud-config is a mapping"),
    "nothing": (b"#cloud-config\n", "user data: a cloud-config is a mapping"),
    "two documents": (
        b"#cloud-config\na: 1\n---\nb: 2\n",
        "line 3, column 1: it holds more than one document",
    ),
    "a tag": (b"#cloud-config\na: !token b\n", "line 2, column 4 at $.a: this tag has no meaning here"),
    "a tag of Python": (
        b"#cloud-config\na: !!python/object/apply:os.system [token]\n",
        "line 2, column 4 at $.a: this tag has no meaning here",
    ),
    "no binary": (b"#cloud-config\na: !!binary abcde\n", "at $.a: this is not what its tag says"),
    "no number": (b"#cloud-config\na: !!int token\n", "at $.a: this is not what its tag says"),
    "a number without end": (b"#cloud-config\na: " + b"1" * 5000, "at $.a: this number has too many digits"),
    "an alias of nothing": (b"#cloud-config\na: *token\n", "there is no finished value with this anchor"),
    "aliases of aliases": (
        b"#cloud-config\na: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + b"".join(
            b"%c: &%c [%s]\n" % (now, now, b",".join([b"*%c" % (now - 1)] * 10)) for now in b"bcdefgh"
        ),
        "it expands to more than 50,000 values",
    ),
    "deep": (b"#cloud-config\na: " + b"[" * 60 + b"]" * 60, "it is nested deeper than 50 levels"),
    "very deep": (b"#cloud-config\na: " + b"[" * 100_000, "it is nested deeper than 50 levels"),
    "a list for a key": (b"#cloud-config\n? [a]\n: b\n", "a key has to be text"),
    "merged with a text": (b"#cloud-config\na: &x token\nb:\n  <<: *x\n", "<< wants a mapping"),
    "a character that cannot be": (b"#cloud-config\na: \x07\n", "it is not YAML: a character in it cannot"),
}


@pytest.mark.parametrize("name", YAML)
def test_bad_yaml(name: str) -> None:
    raw, expected = YAML[name]
    assert expected in error(raw)
    assert "token" not in error(raw)


def test_yaml_that_is_merged() -> None:
    raw = config("""
        x: &x {permissions: '0600', content: a}
        write_files:
        - {<<: *x, path: /a}
    """)
    user_data = made(raw)
    assert [getattr(step, "path", None) for step in user_data.before] == [PureWindowsPath(r"C:\a")]


def test_a_text_that_looks_like_a_merge_is_a_key() -> None:
    assert set(document.read("user data", "'<<': {a: 1}\n<<: {b: 2}\n").root.mapping) == {"<<", "b"}


def test_all_errors_are_told_at_once() -> None:
    raw = config("write_files: [{path: a}, {path: /nul}]\nruncmd: 5\nhostname: _\n")
    report = cloudconfig.load("user data", raw).report
    assert [entry.path for entry in report.errors] == [
        "$.write_files.0.path",
        "$.write_files.1.path",
        "$.runcmd",
        "$.hostname",
    ]
