"""Archives, of whoever made them: what is taken, and what is refused."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.artifacts import archives
from agent.artifacts.means import Unusable
from agent.spec import Unpacking
from unit.artifacts.archives_made import Read, refusal, special, tar, tar_gz, unpacked, zip_link, zipped

FILES = (("tool/bin/tool.exe", b"MZ tool"), ("tool/LICENSE", b"free"), ("README", b""))
BOTH = pytest.mark.parametrize("made", [tar_gz, zipped], ids=["tar.gz", "zip"])


@BOTH
def test_all_of_an_archive_is_unpacked(made: Callable[..., bytes]) -> None:
    assert unpacked(made(*FILES)) == {
        "tool\\bin\\tool.exe": b"MZ tool",
        "tool\\LICENSE": b"free",
        "README": b"",
    }


@BOTH
def test_folders_are_left_out_of_names(made: Callable[..., bytes]) -> None:
    assert unpacked(made(*FILES), strip=1) == {"bin\\tool.exe": b"MZ tool", "LICENSE": b"free"}


@BOTH
def test_members_are_chosen_and_named(made: Callable[..., bytes]) -> None:
    chosen = {"tool/bin/tool.exe": "tool-1.2.exe", "./README": "doc/README"}
    assert unpacked(made(*FILES), members=chosen) == {"tool-1.2.exe": b"MZ tool", "doc\\README": b""}


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_read_in_every_form(form: int) -> None:
    name = "/".join(["a" * 60, "b" * 60, "c" * 60])
    assert unpacked(tar_gz((name, b"1"), ("d", b"2"), form=form)) == {
        name.replace("/", "\\"): b"1",
        "d": b"2",
    }


@given(
    st.dictionaries(
        st.text("abcdeé", min_size=1, max_size=120).map(lambda name: f"x{name}"),
        st.binary(max_size=2000),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
)
def test_what_tarfile_writes_is_read(files: dict[str, bytes], form: int) -> None:
    assert unpacked(tar_gz(*files.items(), form=form)) == files


def test_one_gzip_stream_may_follow_another() -> None:
    whole = tar(*FILES)
    assert len(unpacked(gzip.compress(whole[:700]) + gzip.compress(whole[700:]) + bytes(100))) == 3


def test_links_and_folders_that_are_not_wanted_make_no_difference() -> None:
    archive = tar_gz(
        special("bin", tarfile.DIRTYPE), special("bin/current", tarfile.SYMTYPE, "../.."), ("bin/a.exe", b"a")
    )
    assert unpacked(archive, members={"bin/a.exe": "a.exe"}) == {"a.exe": b"a"}


WHOLE = "is a whole path, which is to lead below the folder it goes to"
NAMES = {
    "out of the folder": ("../k/kubelet.exe", "'..' leads back out of its folder"),
    "out of it by backslashes": ("..\\k\\kubelet.exe", "'..' leads back out of its folder"),
    "out of it on the way": ("a/../../b", "'..' leads back out of its folder"),
    "a whole path": ("/etc/passwd", WHOLE),
    "one with a drive": ("C:/k/kubelet.exe", WHOLE),
    "one on a share": ("\\\\server\\share\\a", WHOLE),
    "an alternate data stream": ("a.txt:hidden.exe", "contains ':', which no Windows name can"),
    "a device": ("bin/nul.txt", "'nul.txt' is the name of a device on Windows"),
    "a device with a blank": ("COM1 .log", "'COM1 .log' is the name of a device on Windows"),
    "a dot at the end": ("a.exe.", "ends with a blank or a dot, which Windows would drop"),
    "a blank at the end": ("a.exe ", "ends with a blank or a dot, which Windows would drop"),
    "a wildcard": ("a*", "contains '*', which no Windows name can"),
    "a control character": ("a\x07b", "contains '\\x07', which no Windows name can"),
    "a short name": ("progra~1.exe", "may be Windows' short name of another file"),
    "a name without end": ("/".join(["a" * 200] * 12), "is longer than 2000 characters"),
    "a name with a hole": ("a//b", "'' is empty"),
}


@BOTH
@pytest.mark.parametrize("case", NAMES.values(), ids=NAMES)
def test_a_name_that_windows_takes_for_another_is_refused(
    made: Callable[..., bytes], case: tuple[str, str]
) -> None:
    name, why = case
    assert why in refusal(made(("good", b""), (name, b"")))


CAPITALS = "is in it twice: to Windows capitals make no difference"
TWICE = {
    "the same": (("a", "a"), CAPITALS),
    "in capitals": (("bin/a.exe", "BIN/A.EXE"), CAPITALS),
    "in capitals of another language": (("é", "É"), CAPITALS),
    "by another separator": (("bin/a", "bin\\a"), CAPITALS),
    "as a folder of the other": (("bin", "Bin/a"), "is in it as a file and as a folder"),
    "as a file over a folder": (("Bin/a", "bin"), "is in it as a file and as a folder"),
}


@BOTH
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("case", TWICE.values(), ids=TWICE)
def test_two_files_of_one_name_are_refused(
    made: Callable[..., bytes], case: tuple[tuple[str, str], str]
) -> None:
    members, why = case
    assert why in refusal(made(*((name, b"") for name in members)))


NO_FILES: Mapping[str, bytes] = {
    "a symbolic link": tar_gz(special("evil", tarfile.SYMTYPE, "C:\\Windows")),
    "a hard link": tar_gz(("a", b"a"), special("evil", tarfile.LNKTYPE, "a")),
    "a device": tar_gz(special("evil", tarfile.CHRTYPE)),
    "a pipe": tar_gz(special("evil", tarfile.FIFOTYPE)),
    "a symbolic link in a zip": zipped((zip_link("evil"), b"C:\\Windows")),
}


@pytest.mark.parametrize("archive", NO_FILES.values(), ids=NO_FILES)
def test_what_is_no_file_is_refused(archive: bytes) -> None:
    assert "evil in it is a " in refusal(archive)
    assert "which is not unpacked; name the members that are wanted" in refusal(archive)


def _corrupted(archive: bytes, place: int) -> bytes:
    changed = bytearray(archive)
    changed[place] ^= 0xFF
    return bytes(changed)


BYTES = bytes(range(256)) * 99
DAMAGED: Mapping[str, tuple[bytes, str]] = {
    "nothing": (b"", "it is neither a tar.gz nor a zip archive"),
    "a page": (b"<html>Sign in</html>", "it is neither a tar.gz nor a zip archive"),
    "a gzip of something else": (gzip.compress(b"a" * 2000), "it is no tar archive, or is damaged"),
    "a gzip of nothing": (gzip.compress(b""), "it is cut short"),
    "half a tar.gz": (tar_gz(("a", BYTES))[:200], "it is cut short"),
    "a changed header": (gzip.compress(_corrupted(tar(*FILES), 3)), "it is no tar archive, or is damaged"),
    "a changed checksum of gzip's": (_corrupted(tar_gz(*FILES), -8), "it is no gzip file, or is damaged"),
    "a gzip without its checksum": (tar_gz(*FILES)[:-8], "it is cut short"),
    "a tar.gz of which not even the header is whole": (tar_gz(*FILES)[:5], "it is cut short"),
    "something else behind its end": (tar_gz(*FILES) + b"<html>", "it is no gzip file, or is damaged"),
    "half a gzip behind its end": (tar_gz(*FILES) + gzip.compress(bytes(9))[:-9], "it is cut short"),
    "a tape behind its end": (
        tar_gz(*FILES) + gzip.compress(bytes(1 << 20)) * (archives.MOST_AFTER_END >> 20),
        "more than 64 MiB follow the end of its tar",
    ),
    "half a zip": (zipped(*FILES)[:100], "it is no zip archive, or is damaged"),
    "a changed checksum of zip's": (
        _corrupted(zipped(("a", b"abc" * 99)), zipped(("a", b"abc" * 99)).index(b"PK\1\2") + 16),
        "it is no zip archive, or is damaged",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED.values(), ids=DAMAGED)
def test_what_is_damaged_is_refused_in_a_line(case: tuple[bytes, str]) -> None:
    archive, why = case
    assert refusal(archive) == why


@BOTH
def test_no_changed_byte_changes_what_is_unpacked(made: Callable[..., bytes]) -> None:
    sound = made(("a", BYTES))
    for place in range(len(sound)):
        with suppress(Unusable):
            assert unpacked(_corrupted(sound, place)) == {"a": BYTES}, place


@given(st.binary(max_size=300), st.integers(0, 10_000), st.sampled_from([tar_gz(*FILES), zipped(*FILES)]))
def test_any_archive_is_taken_or_refused(junk: bytes, place: int, archive: bytes) -> None:
    place %= len(archive)
    said = refusal(archive[:place] + junk + archive[place + len(junk) :])
    assert said.isprintable()


@BOTH
def test_a_member_that_is_not_there_is_told_with_those_that_are(made: Callable[..., bytes]) -> None:
    assert refusal(made(*FILES), members={"tool.exe": "a"}) == (
        "there is no tool.exe in it; it has tool/bin/tool.exe, tool/LICENSE, README"
    )


@BOTH
def test_an_archive_of_which_nothing_is_left_is_refused(made: Callable[..., bytes]) -> None:
    assert "nothing of it is wanted" in refusal(made(*FILES), strip=9)


def _tar_bomb(size: int) -> bytes:
    """Of which only the beginning is there: it says itself how large it is."""
    info = tarfile.TarInfo("zeroes")
    info.size = size
    return gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))


def _zip_bomb(size: int) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("zeroes", bytes(1 << 20))
        archive.infolist()[0].file_size = size
    return made.getvalue()


BOMBS = {
    "a tar of 10 GB of zeroes": (_tar_bomb(10 << 30), "it unpacks to more than 4 GiB"),
    "a zip of 10 GB of zeroes": (_zip_bomb(10 << 30), "it unpacks to more than 4 GiB"),
    "a zip that says it is small": (_zip_bomb(10), "it is no zip archive, or is damaged"),
}


@pytest.mark.parametrize("case", BOMBS.values(), ids=BOMBS)
def test_what_unpacks_to_too_much_is_refused_before_it_does(case: tuple[bytes, str]) -> None:
    archive, why = case
    assert refusal(archive) == why


def test_too_many_members_of_a_zip_are_refused_before_each_has_an_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def made(*_: object) -> None:
        raise AssertionError("zipfile has begun to read the directory's entries")

    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    archive = zipped(*((f"{at}", b"") for at in range(4)))
    monkeypatch.setattr(zipfile, "ZipInfo", made)
    assert refusal(archive) == "it has more than 3 members"


@BOTH
def test_too_many_members_are_refused(made: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    assert len(unpacked(made(*((f"{at}", b"PK\x01\x02" * 9) for at in range(3))))) == 3
    assert refusal(made(*((f"{at}", b"") for at in range(4)))) == "it has more than 3 members"


def test_a_header_without_end_is_refused() -> None:
    info = tarfile.TarInfo("name")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    assert (
        refusal(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))) == "a name in it has no end"
    )


def test_a_directory_of_a_zip_without_end_is_refused() -> None:
    archive = zipped(("a", b""))
    end = archive.index(b"PK\5\6")
    huge = bytearray(archive[:end] + bytes(20 << 20) + archive[end:])
    place = huge.rindex(b"PK\5\6")
    huge[place + 12 : place + 20] = (20 << 20).to_bytes(4, "little") + (0).to_bytes(4, "little")
    assert refusal(bytes(huge)) == "it is no zip archive, or is damaged"


def test_headers_without_a_member_have_an_end() -> None:
    """Each may be 64 KB, and they pack well."""
    header = tarfile.TarInfo("x")
    header.type, header.size = tarfile.XHDTYPE, 512
    told = [f"512 k{at}=".encode().ljust(511, b".") + b"\n" for at in range(9)]
    content = b"".join(header.tobuf(tarfile.USTAR_FORMAT) + each for each in told)
    assert refusal(gzip.compress(content + bytes(1024))) == (
        "more is told of one member in it than there is to tell"
    )


@BOTH
def test_memory_stays_bounded(made: Callable[..., bytes]) -> None:
    archive = made(("large", bytes(64 << 20)))
    read = Read(archive)
    tracemalloc.start()
    unpacking = Unpacking(PureWindowsPath("C:\\t"))
    size = sum(len(piece) for _, content in archives.wanted(read, unpacking) for piece in content)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 64 << 20
    assert most < 4 << 20
