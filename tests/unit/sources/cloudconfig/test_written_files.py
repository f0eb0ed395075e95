"""write_files: paths, contents, permissions, and what is appended."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import PureWindowsPath

import pytest

from agent.sources import cloudconfig
from agent.sources.cloudconfig import WrittenFile
from agent.spec import Directory, File, Inline, Protection
from unit.sources.cloudconfig.loaded import config, error, files, made, notes

PACKED = gzip.compress(b"text\n", mtime=0)


def _files(*listed: dict[str, object]) -> bytes:
    """JSON is YAML."""
    return config(json.dumps({"write_files": list(listed)}))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


CONTENTS: dict[str, tuple[dict[str, object], bytes]] = {
    "plain": ({"content": "text\n"}, b"text\n"),
    "none": ({}, b""),
    "nothing": ({"content": None}, b""),
    "text/plain": ({"content": "YQ==", "encoding": "text/plain"}, b"YQ=="),
    "base64": ({"content": _base64(b"text\n"), "encoding": "base64"}, b"text\n"),
    "b64": ({"content": _base64(b"\x00\xff"), "encoding": "b64"}, b"\x00\xff"),
    "base64 on several lines": ({"content": "dGV4\ndAo=\n", "encoding": "base64"}, b"text\n"),
    "gzip+base64": ({"content": _base64(PACKED), "encoding": "gzip+base64"}, b"text\n"),
    "gz+base64": ({"content": _base64(PACKED), "encoding": "gz+base64"}, b"text\n"),
    "gz+b64": ({"content": _base64(PACKED), "encoding": "gz+b64"}, b"text\n"),
    "gzip+b64": ({"content": _base64(PACKED), "encoding": " GZIP+B64 "}, b"text\n"),
    "not known": ({"content": "YQ==", "encoding": "rot13"}, b"YQ=="),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_contents(name: str) -> None:
    fields, expected = CONTENTS[name]
    user_data = made(_files({"path": "/opt/a", **fields}))
    assert files(user_data.before) == {r"C:\opt\a": expected}


@pytest.mark.parametrize("encoding", ["gz", "gzip"])
def test_gzip_comes_as_binary(encoding: str) -> None:
    raw = config(f"""
        write_files:
        - path: /opt/a
          encoding: {encoding}
          content: !!binary {_base64(PACKED)}
    """)
    assert files(made(raw).before) == {r"C:\opt\a": b"text\n"}


PERMISSIONS: dict[str, tuple[str, Protection]] = {
    "none": ("", Protection.PROGRAM),
    "null": ("permissions:", Protection.PROGRAM),
    "octal text": ("permissions: '0600'", Protection.PRIVATE),
    "octal text, others may read": ("permissions: '0644'", Protection.PROGRAM),
    "octal number of YAML": ("permissions: 0640", Protection.PRIVATE),
    "decimal number": ("permissions: 420", Protection.PROGRAM),
    "with 0o": ("permissions: 0o644", Protection.PROGRAM),
    "others may only run it": ("permissions: '0711'", Protection.PRIVATE),
    "no number": ("permissions: u=rw", Protection.PRIVATE),
    "no octal digit": ("permissions: '9z'", Protection.PRIVATE),
    "negative": ("permissions: '-1'", Protection.PRIVATE),
    "too many digits": ("permissions: '06444444'", Protection.PRIVATE),
    "no end of it": ("permissions: .inf", Protection.PRIVATE),
    "a list": ("permissions: ['0644']", Protection.PRIVATE),
}


@pytest.mark.parametrize("name", PERMISSIONS)
def test_permissions(name: str) -> None:
    said, expected = PERMISSIONS[name]
    [step] = made(config(f"write_files:\n- path: /opt/a\n  {said}\n")).before
    assert isinstance(step, WrittenFile)
    assert step.protection is expected


PATHS = {
    "of Linux": ("/etc/kubernetes//x/./y", r"C:\etc\kubernetes\x\y"),
    "of Windows": (r"C:\k\x", r"C:\k\x"),
    "of Windows with slashes": ("c:/k/x", r"c:\k\x"),
    "on another drive": (r"D:\data\x", r"D:\data\x"),
    "below a folder that is called as Windows' own": (r"C:\k\windows\x", r"C:\k\windows\x"),
    "below a folder of ProgramData": (r"C:\ProgramData\ssh\x", r"C:\ProgramData\ssh\x"),
    "with a tilde that no short name has": (r"C:\k\backup~old\x", r"C:\k\backup~old\x"),
    "in C:\\Windows, by its drive": (r"C:\Windows\Temp\x.ps1", r"C:\Windows\Temp\x.ps1"),
}


@pytest.mark.parametrize("name", PATHS)
def test_paths(name: str) -> None:
    said, expected = PATHS[name]
    assert list(files(made(_files({"path": said})).before)) == [expected]


BAD_PATHS: dict[str, tuple[dict[str, object], str]] = {
    "none": ({"content": "x"}, "path has to be the absolute path of a file"),
    "a number": ({"path": 5}, "path has to be the absolute path of a file"),
    "relative": ({"path": "etc/x"}, "it has to begin with / or with a drive"),
    "relative on a drive": ({"path": "C:x"}, "it has to begin with / or with a drive"),
    "a share": ({"path": r"\\server\share\x"}, "it has to begin with / or with a drive"),
    "a share with slashes": ({"path": "//server/share/x"}, "it has to begin with / or with a drive"),
    "out of its folder": ({"path": r"C:\k\..\Windows\x"}, "leads back out of its folder"),
    "out of its folder, on Linux": ({"path": "/opt/../x"}, "leads back out of its folder"),
    "Windows' own, by Linux' path": ({"path": "/windows/x"}, r"C:\windows is Windows' own"),
    "this program's own": ({"path": r"C:\ProgramData\WMCB\x"}, "it lies in this program's own folder"),
    "this program's own, with slashes": ({"path": "c:/programdata/wmcb/x"}, "this program's own folder"),
    "this program's own, by a dot that Windows drops": (
        {"path": r"C:\ProgramData.\wmcb\node.json"},
        "a name in it ends with a blank or a dot, which Windows would drop",
    ),
    "this program's own, by a blank that Windows drops": (
        {"path": r"C:\ProgramData\wmcb \node.json"},
        "a name in it ends with a blank or a dot, which Windows would drop",
    ),
    "this program's own, by a short name": (
        {"path": r"C:\PROGRA~3\wmcb\node.json"},
        "a name in it may be Windows' short name of another file",
    ),
    "a short name, on Linux": ({"path": "/progra~3/x"}, "a name in it may be Windows' short name"),
    "a device": ({"path": r"C:\k\nul"}, "a name in it is the name of a device on Windows"),
    "a device, as the first folder": ({"path": r"C:\NUL\x"}, "a name in it is the name of a device on"),
    "a device, as a folder": ({"path": r"C:\k\com1.txt\x"}, "a name in it is the name of a device on"),
    "a device, on Linux": ({"path": "/k/aux/x"}, "a name in it is the name of a device on Windows"),
    "a stream of a file": ({"path": r"C:\k\x:stream"}, "a name in it contains ':'"),
    "a stream of the first folder": ({"path": r"C:\k:stream\x"}, "a name in it contains ':'"),
    "a stream, on no drive": ({"path": "x:stream"}, "it has to begin with / or with a drive"),
    "a stream": ({"path": "/opt/a:b"}, "a name in it contains ':'"),
    "a drive": ({"path": "C:\\"}, "it is a whole drive"),
    "fetched": ({"path": "/a", "source": {"uri": "https://x"}}, "a file is not fetched here"),
}


@pytest.mark.parametrize("name", BAD_PATHS)
def test_bad_paths(name: str) -> None:
    fields, expected = BAD_PATHS[name]
    assert expected in error(_files(fields))


def test_an_error_tells_part_line_and_field_and_no_content() -> None:
    raw = config("""
        write_files:
        - path: /opt/a
        - path: /opt/secret
          encoding: gz+b64
          content: c2VjcmV0
    """)
    where = "error: user data line 7, column 12 at $.write_files.1.content: "
    assert error(raw) == where + "it is not gzip, or damaged"


def test_what_expands_too_far_is_refused() -> None:
    bomb = _base64(gzip.compress(bytes(20 << 20)))
    assert "it is larger than 16,777,216 bytes unpacked" in error(
        _files({"path": "/a", "content": bomb, "encoding": "gz+b64"})
    )


def test_all_files_together_have_a_limit() -> None:
    half = _base64(gzip.compress(bytes(9 << 20)))
    listed: list[dict[str, object]] = [
        {"path": path, "content": half, "encoding": "gz+b64"} for path in ("/a", "/b")
    ]
    raw = _files(*listed)
    assert "with it, the files are larger than 16,777,216 bytes" in error(raw)


def test_a_later_file_of_one_name_takes_the_place_of_the_first() -> None:
    raw = _files({"path": "/opt/a", "content": "1"}, {"path": r"c:\OPT\A", "content": "2"})
    assert files(made(raw).before) == {r"c:\OPT\A": b"2"}


APPENDED: dict[str, tuple[bytes | None, bytes]] = {
    "nothing there": (None, b"added\n"),
    "something there": (b"first\n", b"first\nadded\n"),
    "there from an earlier run": (b"first\nadded\nlater\n", b"first\nadded\nlater\n"),
}


@pytest.mark.parametrize("name", APPENDED)
def test_what_is_appended_to_a_file_of_the_machine(name: str) -> None:
    existing, expected = APPENDED[name]
    path = PureWindowsPath(r"C:\opt\hosts")
    user_data = made(_files({"path": "/opt/hosts", "content": "added\n", "append": True}))
    assert user_data.appended_to == (path,)
    wants = cloudconfig.wants(user_data.before, {path: existing} if existing is not None else {})
    assert wants[-1] == File(path, Inline(expected), Protection.PROGRAM)


def test_what_is_appended_keeps_a_secret_secret() -> None:
    raw = _files(
        {"path": "/opt/a", "content": "1", "permissions": "0600"},
        {"path": "/opt/a", "content": "2", "append": True},
    )
    [step] = made(raw).before
    assert isinstance(step, WrittenFile)
    assert (step.protection, step.appended) == (Protection.PRIVATE, False)


def test_folders_are_made_and_those_of_others_left_to_them() -> None:
    user_data = made(_files({"path": "/etc/kubernetes/x"}, {"path": "/opt/a/b"}))
    own = Directory(PureWindowsPath(r"C:\etc\kubernetes"), Protection.PRIVATE)
    wants = cloudconfig.wants(user_data.before, known={own.key: own})
    folders = {str(want.path): want for want in wants if isinstance(want, Directory)}
    assert list(folders) == [r"C:\etc", r"C:\opt", r"C:\opt\a"]
    assert all(want.shared and want.protection is Protection.PROGRAM for want in folders.values())


NOTED: dict[str, tuple[dict[str, object], str]] = {
    "owner": ({"owner": "www-data:www-data"}, "ignored file /a: its owner: on Windows it belongs to"),
    "unknown field": ({"contents": "x"}, 'warning file /a: its field "contents" is not known here'),
    "encoding": ({"content": "x", "encoding": "rot13"}, 'warning file /a: its encoding "rot13" is not known'),
    "permissions": (
        {"permissions": "rw"},
        "warning file /a: its permissions in user data line 2 are no octal number such as '0644': "
        "it is kept private",
    ),
    "of Windows": ({"path": r"C:\k\a", "permissions": "rw"}, r"warning file C:\k\a: its permissions in "),
}


@pytest.mark.parametrize("name", NOTED)
def test_notes(name: str) -> None:
    fields, expected = NOTED[name]
    [note] = notes(made(_files({"path": "/a", **fields})))
    assert note.startswith(expected)


@pytest.mark.parametrize("owner", ["root:root", "Administrators", "SYSTEM", "root"])
def test_an_administrator_as_owner_is_nothing_to_note(owner: str) -> None:
    assert not notes(made(_files({"path": "/a", "owner": owner, "defer": True})))
