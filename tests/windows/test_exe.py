"""wmcb.exe run once: what it says, in which circumstances, and how it ends."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pefile  # type: ignore[import-untyped]
import pytest

from agent.release import RELEASE
from judges.bills import faults
from lab import windows_python, wine
from lab.fixtures import demand_the_lab
from lab.node import Node
from lab.repository import ROOT
from lab.standin_kubelet import StandinKubelet
from lab.web import Web
from unit.exe.cyclonedx import broken_rules, components
from windows import frozen
from windows.exe import (
    DIST,
    DOWNLOADED,
    INSTALLED,
    INTERNAL,
    PLACE,
    PROGRAM,
    SHIPPED,
    download,
    folder_files,
    lay_out,
    unpacked,
)  # fmt: skip

MEGABYTE = 1_000_000
WORKER = ROOT / "tests" / "data" / "ignition" / "worker-3.4.ign"
BOTH = pytest.mark.parametrize("exe", [DOWNLOADED, INSTALLED], ids=["downloaded", "installed"])


@pytest.fixture(scope="module")
def machine() -> Iterator[Node]:
    """A node with both kinds of the exe, for tests that change nothing on it."""
    demand_the_lab()
    node = Node()
    download(node)
    lay_out(node)
    yield node
    assert unpacked(node) == [], "every run removes what it unpacked"
    node.close()


# What it is, as Windows and others see it


@pytest.mark.parametrize("path", [SHIPPED, PROGRAM], ids=["shipped", "laid out"])
class TestSeenFromOutside:
    def test_the_version_resource_names_release_and_commit(self, path: Path) -> None:
        texts = _version_texts(path)
        assert texts["ProductName"] == "wmcb"
        assert texts["FileVersion"] == RELEASE
        assert texts["OriginalFilename"] == "wmcb.exe"
        assert re.fullmatch(re.escape(RELEASE) + r"\+[0-9a-f]{40}(-modified)?", texts["ProductVersion"])

    def test_memory_is_random_and_not_both_writable_and_executable(self, path: Path) -> None:
        parsed = pefile.PE(path)
        wanted = ("DYNAMIC_BASE", "HIGH_ENTROPY_VA", "NX_COMPAT", "GUARD_CF")
        for flag in wanted:
            assert getattr(parsed.OPTIONAL_HEADER, f"IMAGE_DLLCHARACTERISTICS_{flag}"), flag
        for section in parsed.sections:
            assert not (section.IMAGE_SCN_MEM_WRITE and section.IMAGE_SCN_MEM_EXECUTE), section.Name

    def test_it_asks_for_no_rights_and_allows_long_paths(self, path: Path) -> None:
        manifest = _resource(path, "RT_MANIFEST").decode()
        assert 'level="asInvoker"' in manifest
        assert ">true</longPathAware>" in manifest

    def test_it_has_an_icon_and_the_texts_of_events(self, path: Path) -> None:
        assert _resource(path, "RT_GROUP_ICON")
        assert "%1" in _resource(path, "RT_MESSAGETABLE").decode("utf-16-le", errors="replace")


def test_only_libraries_that_every_process_has_are_linked() -> None:
    """Nothing is looked for in a folder of downloads, nor, by what PyInstaller's loader links, in its own."""
    parsed = pefile.PE(SHIPPED)
    linked = {entry.dll.decode().lower() for entry in parsed.DIRECTORY_ENTRY_IMPORT}
    assert linked == {"kernel32.dll", "ntdll.dll"}
    system32_alone = 0x800
    assert parsed.DIRECTORY_ENTRY_LOAD_CONFIG.struct.DependentLoadFlags == system32_alone
    known_to_windows = {"advapi32.dll", "kernel32.dll", "user32.dll"}
    assert {
        entry.dll.decode().lower() for entry in pefile.PE(PROGRAM).DIRECTORY_ENTRY_IMPORT
    } == known_to_windows


def _version_texts(path: Path) -> dict[str, str]:
    (strings,) = (block for block in pefile.PE(path).FileInfo[0] if block.Key == b"StringFileInfo")
    (table,) = strings.StringTable
    return {name.decode(): text.decode() for name, text in table.entries.items()}


def _resource(path: Path, kind: str) -> bytes:
    parsed = pefile.PE(path)
    (entry,) = (
        entry
        for entry in parsed.DIRECTORY_ENTRY_RESOURCE.entries
        if entry.struct.Id == pefile.RESOURCE_TYPE[kind]
    )
    data = entry.directory.entries[0].directory.entries[0].data.struct
    content: bytes = parsed.get_data(data.OffsetToData, data.Size)
    return content


def test_the_shipped_file_is_small_and_has_its_checksum_beside_it() -> None:
    assert SHIPPED.stat().st_size <= 24 * MEGABYTE
    expected = f"{hashlib.sha256(SHIPPED.read_bytes()).hexdigest()} *wmcb.exe\n"
    assert (DIST / "wmcb.exe.sha256").read_text() == expected


def test_the_bill_of_materials_names_all_that_is_laid_out() -> None:
    content = (DIST / "wmcb.cdx.json").read_bytes()
    bill = json.loads(content)
    assert faults(content) == []
    assert broken_rules(bill) == []
    own = bill["metadata"]["component"]
    commit = _version_texts(SHIPPED)["ProductVersion"].partition("+")[2]
    assert (own["version"], own["properties"][0]["value"]) == (RELEASE, commit)
    hashes = {each["name"]: each["hashes"][0]["content"] for each in components(bill) if "hashes" in each}
    assert hashes == {name: hashlib.sha256(content).hexdigest() for name, content in folder_files().items()}
    assert (DIST / "wmcb-log.exe").read_bytes() == (PROGRAM.parent / INTERNAL / "wmcb-log.exe").read_bytes()


def test_the_bill_of_materials_names_the_versions_that_are_carried(machine: Node) -> None:
    bill = json.loads((DIST / "wmcb.cdx.json").read_bytes())
    named = {each["name"]: each.get("version") for each in bill["components"]}
    facts = json.loads(machine.run(INSTALLED, "version", "--output", "json").out)
    assert named["CPython"] == facts["python"]
    assert f"OpenSSL {named['OpenSSL']} " in facts["openssl"]
    told = machine.python(
        "-c",
        "import cryptography, psutil, tomlkit, yaml; "
        "print([m.__version__ for m in (cryptography, psutil, tomlkit, yaml)])",
    )
    carried = [named[name] for name in ("cryptography", "psutil", "tomlkit", "PyYAML")]
    assert str(carried) == told.out.strip()


# What it says


@BOTH
def test_version(machine: Node, exe: str) -> None:
    result = machine.run(exe, "version")
    assert (result.code, result.err) == (0, "")
    first, second, third = result.out.splitlines()
    commit = _version_texts(SHIPPED)["ProductVersion"].partition("+")[2]
    assert first == f"wmcb {RELEASE} (commit {commit})"
    assert re.fullmatch(r"Python 3\.\d+\.\d+, OpenSSL 3\.\S+ .*", second)
    assert third == "Windows 10.0.19043 amd64"


@BOTH
def test_version_for_programs(machine: Node, exe: str) -> None:
    facts = json.loads(machine.run(exe, "version", "--output", "json").out)
    told = machine.python("-c", "import platform, ssl; print(platform.python_version(), ssl.OPENSSL_VERSION)")
    assert f"{facts['python']} {facts['openssl']}" == told.out.strip()
    assert facts["release"] == RELEASE


def test_the_openssl_that_is_named_is_the_one_that_is_carried(machine: Node) -> None:
    """It is written down at build, since to ask OpenSSL itself takes long."""
    named = json.loads(machine.run(INSTALLED, "version", "--output", "json").out)["openssl"]
    library = PROGRAM.parent / INTERNAL / "libcrypto-3.dll"
    assert named.encode() in library.read_bytes()


@BOTH
def test_it_prints_the_licence_of_each_file_that_it_carries(machine: Node, exe: str) -> None:
    result = machine.run(exe, "version", "--licenses")
    assert (result.code, result.err) == (0, "")
    lines = result.out.splitlines()
    own = {"wmcb.exe", f"{INTERNAL}/wmcb-log.exe", f"{INTERNAL}/wmcb.licenses.txt"}
    for name in folder_files().keys() - own:
        assert f"  {name}" in lines, name
    for words in ("Apache License", "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2", "Kirill Simonov"):
        assert words in result.out


def test_it_explains_a_field_of_a_document(machine: Node) -> None:
    result = machine.run(INSTALLED, "explain", "services.restart")
    assert (result.code, result.err) == (0, "")
    assert result.out.splitlines()[:2] == [
        "KIND:       NodeConfiguration",
        "VERSION:    wmcb.internal/v1beta1",
    ]
    asked = machine.run(INSTALLED, "explain", "service")
    assert (asked.code, asked.out) == (2, "")
    assert asked.err.endswith("has no field service; did you mean services?\n")


@BOTH
def test_help_can_be_read_on_a_console_of_80_columns(machine: Node, exe: str) -> None:
    result = machine.run(exe, "--help")
    assert (result.code, result.err) == (0, "")
    assert result.stdout.isascii()
    assert max(len(line) for line in result.out.splitlines()) < 80


@BOTH
@pytest.mark.parametrize(
    ("arguments", "circumstances", "code", "line"),
    [
        pytest.param(["versoin"], {}, 2, "unknown command versoin; did you mean version?", id="misspelt"),
        pytest.param([], {}, 2, "no command given; wmcb --help lists them", id="nothing"),
        pytest.param(
            ["daemon", "install"],
            {"as_user": True},
            3,
            "daemon install needs an administrator: start it from an elevated prompt",
            id="a plain user",
        ),
        pytest.param(
            ["daemon", "uninstall"],
            {"as_user": True},
            3,
            "daemon uninstall needs an administrator: start it from an elevated prompt",
            id="a plain user again",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_one_line_and_an_exit_code(
    machine: Node, exe: str, arguments: list[str], circumstances: dict[str, bool], code: int, line: str
) -> None:
    result = machine.run(exe, *arguments, as_user=circumstances.get("as_user", False))
    assert (result.code, result.out, result.err) == (code, "", f"wmcb: {line}\n")


def test_the_service_started_by_hand_says_how_it_is_started(machine: Node) -> None:
    """Wine's SCM takes ten seconds to say no; Windows' says so at once."""
    result = machine.run(INSTALLED, "daemon", "run")
    assert (result.code, result.out) == (2, "")
    assert result.err == "wmcb: Windows runs this; start the service with: sc.exe start wmcb\n"


@BOTH
@pytest.mark.parametrize(
    "arguments",
    [
        ["with space", "x"],
        ['quote"d', "back\\slash\\"],
        ["", "empty"],
        ["Größe", "日本", "\U0001f600"],
        ['C:\\a b\\\\"', "*.txt"],
    ],
    ids=["a space", "quotes", "an empty one", "other scripts", "backslashes, a wildcard"],
)
def test_arguments_arrive_as_they_were_given(machine: Node, exe: str, arguments: list[str]) -> None:
    result = machine.run(exe, *arguments)
    assert result.err == f"wmcb: unknown command {' '.join(arguments)}; see wmcb --help\n"


@BOTH
@pytest.mark.parametrize("locale", ["en_US", "de_DE", "ja_JP", "tr_TR"])
def test_files_and_pipes_get_utf8_in_any_language(machine: Node, exe: str, locale: str) -> None:
    result = machine.run(exe, "Größe-日本", locale=locale)
    assert result.stderr.rstrip() == "wmcb: unknown command Größe-日本; see wmcb --help".encode()


@BOTH
@pytest.mark.parametrize("code_page", [437, 850, 932, 65001])
def test_a_console_shows_text_whatever_its_code_page(machine: Node, exe: str, code_page: int) -> None:
    result = machine.run(exe, "Größe", console=code_page)
    assert result.code == 2
    assert "unknown command Größe" in result.out


CLOSED = [
    pytest.param(streams, id=" ".join(streams))
    for streams in (
        ("stdin",),
        ("stdout",),
        ("stderr",),
        ("stdin", "stdout"),
        ("stdout", "stderr"),
        ("stdin", "stdout", "stderr"),
    )
]


@BOTH
@pytest.mark.parametrize("closed", CLOSED)
def test_it_does_its_work_without_streams(machine: Node, exe: str, closed: tuple[str, ...]) -> None:
    done = machine.run(exe, "version", closed=closed)
    assert (done.code, done.err) == (0, "")
    assert done.out == "" if "stdout" in closed else f"wmcb {RELEASE}" in done.out
    wrong = machine.run(exe, "versoin", closed=closed)
    assert (wrong.code, wrong.out) == (2, "")


@BOTH
def test_a_reader_that_leaves_early_is_no_failure(machine: Node, exe: str) -> None:
    """`wmcb --help | more`, and q: the pipe breaks, which is neither a traceback nor a failure."""
    program = f"""
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
done = subprocess.run([{exe!r}, "--help"], stdout=writer, stderr=subprocess.PIPE)
print(done.returncode, done.stderr)
"""
    assert machine.python("-c", program).out == "0 b''\n"


@BOTH
def test_its_name_may_be_another(machine: Node, exe: str) -> None:
    """It will be called kubeadm.exe, and is downloaded as `wmcb (1).exe`."""
    source = machine.path(exe)
    folder = exe.rpartition("\\")[0]
    machine.copy_in(source, rf"{folder}\wmcb (1).exe")
    assert machine.run(rf"{folder}\wmcb (1).exe", "version").code == 0


def test_every_module_of_the_product_can_be_imported_in_it(machine: Node) -> None:
    """Also those that no command of today imports: a build that leaves one out is found now."""
    source = machine.copy_in(Path(__file__).with_name("probe.py"), r"C:\probe.py")
    code = machine.python(
        "-c", r"import marshal, sys; code = compile(open(r'C:\probe.py').read(), 'probe', 'exec');"
        "sys.stdout.buffer.write(marshal.dumps(code))"
    )  # fmt: skip
    assert code.code == 0, code.err
    source.unlink()
    machine.path(rf"{PLACE}\probe.exe").write_bytes(frozen.with_script(PROGRAM.read_bytes(), code.stdout))
    own = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for package in ("agent", "service")
        for path in sorted((ROOT / package).rglob("*.py"))
    ]
    libraries = ("encodings.idna", "psutil", "tomlkit", "unicodedata", "yaml", "yaml._yaml")
    result = machine.run(rf"{PLACE}\probe.exe", *own, *libraries)
    assert (result.code, result.out.strip(), result.err) == (0, "", "")


# Which files it loads


# What a Python with ctypes, sockets and TLS brings itself or looks for by name. Without the KnownDLLs, which
# Windows takes from memory and looks for nowhere; Wine has none of these.
WANTED = sorted(
    {
        *(path.name for path in (PROGRAM.parent / INTERNAL).rglob("*")),
        "api-ms-win-core-path-l1-1-0.dll", "bcrypt.dll", "crypt32.dll", "cryptbase.dll",
        "cryptsp.dll", "dbghelp.dll", "iphlpapi.dll", "mswsock.dll", "ncrypt.dll", "netapi32.dll",
        "pathcch.dll", "powrprof.dll", "profapi.dll", "propsys.dll", "rsaenh.dll", "secur32.dll",
        "sspicli.dll", "ucrtbase.dll", "userenv.dll", "uxtheme.dll", "version.dll", "winhttp.dll",
        "winmm.dll", "winsta.dll", "wintrust.dll", "wtsapi32.dll",
    }
)  # fmt: skip
PLACES = {
    "its own folder": r"C:\download",
    "the current folder": r"C:\current",
    "a folder on PATH": r"C:\onpath",
}


# By how each ends: what talks to servers, asks WMI and makes services loads more than the others.
KUBELET = ("--kubelet", r"C:\given\kubelet.exe")
LOADING: tuple[tuple[tuple[str, ...], int], ...] = (
    (("version", "--output=json"), 0),
    (("preflight",), 3),
    (("plan", "--ignition", r"C:\given\pointer.ign", *KUBELET, "--max-time=1"), 1),
    (("--ignition", r"C:\given\worker.ign", *KUBELET, "--runtime-service=none"), 0),
    (("status",), 0),
    (("reset",), 0),
    (("daemon", "install"), 0),
    (("daemon", "uninstall"), 0),
)


@pytest.fixture
def planted(node: Node, secure_web: Web) -> dict[str, list[str]]:
    """Runs the exe with a library of each name in each place: who loaded one, by place."""
    download(node)
    StandinKubelet(node, r"C:\given\kubelet.exe", version="1.31.0")
    node.copy_in(WORKER, r"C:\given\worker.ign")
    pointer = {"version": "3.2.0", "config": {"merge": [{"source": secure_web.url("/worker")}]}}
    node.path(r"C:\given\pointer.ign").write_text(json.dumps({"ignition": pointer}))
    marks = {place: node.plant(*(rf"{folder}\{name}" for name in WANTED)) for place, folder in PLACES.items()}
    for arguments, code in LOADING:
        result = node.run(
            DOWNLOADED,
            *arguments,
            folder=PLACES["the current folder"],
            environment={"PATH": PLACES["a folder on PATH"] + r";C:\windows\system32;C:\windows"},
        )
        assert result.code == code, f"{arguments}: {result.err}"
    return {
        place: [f"{mark.place.name} by {by}" for mark in found for by in mark.loaded_by]
        for place, found in marks.items()
    }


def test_no_library_is_loaded_from_where_others_can_write(planted: dict[str, list[str]]) -> None:
    assert planted == {place: [] for place in PLACES}


BEFORE = re.compile(
    r'L"(api-ms-win-[a-z0-9-]+|imm32\.dll|kernel32|[A-Z]:\\\\.+\\\\_internal\\\\[a-z0-9_]+(\.dll|\.pyd)?)"'
)
"""What PyInstaller's loader, Python and Wine's user32 load before our own first line."""


@BOTH
def test_libraries_asked_for_by_name_alone_come_from_system32(machine: Node, exe: str) -> None:
    """Whatever third-party code asks for later. And no process that is started inherits our folder."""
    result = machine.run(exe, "version", traced=True)
    of_folders = ("SetDllDirectoryW", "AddDllDirectory")
    of_loading = ("SetDefaultDllDirectories", "LoadLibraryW", "LoadLibraryExW", *of_folders)
    by_thread: dict[str, list[tuple[str, str]]] = {}
    for call in result.calls:
        if call.function in of_loading:
            by_thread.setdefault(call.thread, []).append((call.function, call.arguments))
    system32 = ("SetDefaultDllDirectories", "00000800")
    *launchers, program = by_thread.values()
    assert len(launchers) == (1 if exe == DOWNLOADED else 0), "a thread of each process loads libraries"
    assert all(calls[0] == system32 for calls in launchers)
    before = program[: program.index(system32)]
    assert [each for each in before if each[0] not in of_folders and not BEFORE.search(each[1])] == []
    assert [arguments for function, arguments in program if function == "SetDllDirectoryW"][-1] == "00000000"
    added = {arguments for function, arguments in program if function == "AddDllDirectory"}
    assert all("\\\\_internal" in each for each in added), "modules find what they need beside Python"


def test_the_program_gets_its_streams_and_no_other_handle(machine: Node) -> None:
    handle_list, largest = "00020002", 3 * 8
    result = machine.run(DOWNLOADED, "version", traced=True)
    lists = [
        words
        for call in result.calls
        if call.function == "UpdateProcThreadAttribute"
        and (words := call.arguments.split(","))[2] == handle_list
    ]
    assert lists
    assert all(0 < int(words[4], 16) <= largest for words in lists)


def test_a_program_that_takes_no_care_would_have_loaded_one(node: Node) -> None:
    """The control for the test above: Python's own, beside a planted library that it wants."""
    for name in ("python.exe", "python313.dll", "vcruntime140.dll"):
        source = next(path for path in _python_folder().iterdir() if path.name == name)
        node.copy_in(source, rf"C:\download\{name}")
    (planted,) = node.plant(r"C:\download\version.dll")
    node.run(r"C:\download\python.exe", "-I", "-S", "-c", "")
    assert len(planted.loaded_by) == 1


def _python_folder() -> Path:
    return wine.outside(windows_python.PLACE)


def test_python_listens_to_no_variable(machine: Node) -> None:
    variables = {"PYTHONPATH": r"C:\evil", "PYTHONHOME": r"C:\evil", "PYTHONSTARTUP": r"C:\evil\x.py"}
    machine.path(r"C:\evil").mkdir()
    machine.path(r"C:\evil\json.py").write_text("raise SystemExit(99)")
    result = machine.run(INSTALLED, "version", "--output=json", environment=variables)
    assert result.code == 0


CHILD = r"""
import ctypes, os
size = ctypes.windll.kernel32.GetDllDirectoryW(0, None)
names = [name for name in os.environ if name.startswith("_PYI") or name.startswith("PYINSTALLER")]
folders = [each for each in os.environ["PATH"].split(";") if "wmcb" in each.lower()]
print(names, folders, "no folder for libraries" if size <= 1 else "a folder for libraries")
"""


@pytest.mark.parametrize("exe", [DOWNLOADED, INSTALLED], ids=["downloaded", "installed"])
def test_what_it_starts_inherits_nothing_of_its_loader(node: Node, exe: str) -> None:
    """Its variables, what it puts into PATH, and the folder that libraries are looked for in."""
    download(node)
    lay_out(node)
    node.path(r"C:\child.py").write_text(CHILD)
    command = r"Z:\python\python.exe C:\child.py > C:\inherited.txt 2>&1"
    node.path(r"C:\user-data").write_text(f"#cloud-config\nruncmd:\n- '{command}'\n")
    done = node.run(exe, "--user-data", r"C:\user-data")
    assert done.code == 0, done.err
    assert node.path(r"C:\inherited.txt").read_text().strip() == "[] [] no folder for libraries"


def test_modules_are_read_through_one_open_file(machine: Node) -> None:
    """PyInstaller's loader would open the program for each."""

    def times_opened(*words: str) -> int:
        calls = machine.run(INSTALLED, *words, traced=True).calls
        return sum(
            call.function == "CreateFileW" and r"\\wmcb.exe" in call.arguments.lower() for call in calls
        )

    assert times_opened("status") == times_opened("version") > 0
