"""The lab itself: a node shows what happens on it, and nothing else."""

from __future__ import annotations

import json

import pytest

from lab.node import Node
from lab.registry import Value
from lab.running import Circumstances, TimedOut
from lab.waiting import until

# Not shell32's IsUserAnAdmin, which under Wine takes a group that is there for denying only for membership.
IS_ADMINISTRATOR = (
    "(w := __import__('win32security')).CheckTokenMembership(None, w.ConvertStringSidToSid('S-1-5-32-544'))"
)
PRINT = "import sys, json, os; sys.stdout.write(json.dumps({}))"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["plain"], id="plain"),
        pytest.param(["with space", ""], id="a space and nothing"),
        pytest.param(['quote"d', "end\\"], id="a quote, a backslash at the end"),
        pytest.param(["C:\\a b\\\\", '\\\\"'], id="backslashes before quotes"),
        pytest.param(["Größe", "日本"], id="letters of other languages"),
    ],
)
def test_arguments_arrive_as_they_were_given(lasting: Node, arguments: list[str]) -> None:
    assert json.loads(lasting.python("-c", PRINT.format("sys.argv[1:]"), *arguments).out) == arguments


@pytest.mark.parametrize("code", [0, 3, 256, 1001, 3221225477])
def test_the_whole_exit_code_is_seen(lasting: Node, code: int) -> None:
    program = f"import ctypes; ctypes.windll.kernel32.ExitProcess({code})"
    assert lasting.python("-c", program).code == code


@pytest.mark.parametrize(
    ("asked", "circumstances", "answer"),
    [
        pytest.param("os.getcwd()", {"folder": r"C:\windows"}, r"C:\windows", id="folder"),
        pytest.param("os.environ.get('GREETING')", {"environment": {"GREETING": "hé"}}, "hé", id="variable"),
        pytest.param("os.environ.get('OS')", {"environment": {"OS": None}}, None, id="no variable"),
        pytest.param("sys.stdin.read()", {"stdin": b"given"}, "given", id="input"),
        pytest.param("sys.stdin.read()", {}, "", id="no input"),
        pytest.param("sys.stdin is None", {"closed": ["stdin"]}, True, id="closed input"),
        pytest.param("sys.stderr is None", {"closed": ["stderr"]}, True, id="closed errors"),
        pytest.param(IS_ADMINISTRATOR, {}, True, id="administrator"),
        pytest.param(IS_ADMINISTRATOR, {"as_user": True}, False, id="plain user"),
        pytest.param("__import__('locale').getencoding()", {"locale": "ja_JP"}, "cp932", id="Japanese"),
    ],
)
def test_a_program_runs_in_the_circumstances_asked_for(
    lasting: Node, asked: str, circumstances: Circumstances, answer: object
) -> None:
    assert json.loads(lasting.python("-c", PRINT.format(asked), **circumstances).out) == answer


def test_a_closed_output_takes_nothing(lasting: Node) -> None:
    result = lasting.python("-c", "import sys; sys.exit(0 if sys.stdout is None else 7)", closed=["stdout"])
    assert (result.code, result.stdout) == (0, b"")


@pytest.mark.parametrize(("code_page", "encoded"), [(850, "Gr\u00f6\u00dfe"), (65001, "Gr\u00f6\u00dfe")])
def test_a_console_shows_what_a_program_writes(lasting: Node, code_page: int, encoded: str) -> None:
    program = "import ctypes; print(ctypes.windll.kernel32.GetConsoleOutputCP(), 'Gr\\u00f6\\u00dfe')"
    assert f"{code_page} {encoded}" in lasting.python("-c", program, console=code_page).out


def test_a_program_that_does_not_end_is_ended(lasting: Node) -> None:
    with pytest.raises(TimedOut):
        lasting.python("-c", "import time; time.sleep(60)", seconds=0.5)
    until(lambda: not lasting.processes("python.exe"), "it has ended")


def test_a_running_program_is_seen_and_killed(lasting: Node) -> None:
    running = lasting.start(
        r"Z:\python\python.exe", "-c", "import time; print(1, flush=True); time.sleep(60)"
    )
    until(lambda: running.stdout, "it runs")
    (process,) = lasting.processes("python.exe")
    assert process.command[1] == "-c"
    assert process.resident_bytes > 4_000_000
    assert running.windows_pid != process.pid
    lasting.kill(process)
    assert running.wait().code != 0


def test_programs_of_another_node_are_not_seen(lasting: Node, node: Node) -> None:
    running = node.start(r"Z:\python\python.exe", "-c", "import time; print(1, flush=True); time.sleep(60)")
    until(lambda: running.stdout, "it runs")
    assert not lasting.processes("python.exe")
    (process,) = node.processes("python.exe")
    node.kill(process)
    running.wait()


@pytest.mark.parametrize("asked", [r"C:\windows\system32", r"c:\WINDOWS\System32", r"C:\Windows/SYSTEM32"])
def test_paths_are_found_in_any_letters(lasting: Node, asked: str) -> None:
    assert lasting.path(asked) == lasting.c / "windows" / "system32"


def test_a_path_that_is_not_there_is_as_given(lasting: Node) -> None:
    assert lasting.path(r"C:\WINDOWS\New\File") == lasting.c / "windows" / "New" / "File"


@pytest.mark.parametrize(
    ("kind", "python", "value"),
    [
        pytest.param("REG_SZ", r"'a \\ \"b\"'", 'a \\ "b"', id="text"),
        pytest.param("REG_EXPAND_SZ", "'%PATH%'", "%PATH%", id="text with variables"),
        pytest.param("REG_DWORD", "4294967295", 4294967295, id="number"),
        pytest.param("REG_QWORD", "2**63", 2**63, id="long number"),
        pytest.param("REG_MULTI_SZ", "['a=1', 'b c=\\u00fc']", ["a=1", "b c=ü"], id="texts"),
        pytest.param("REG_BINARY", "bytes(range(256))", bytes(range(256)), id="bytes over several lines"),
    ],
)
def test_registry_values_are_read(lasting: Node, kind: str, python: str, value: object) -> None:
    program = (
        "import winreg as r; k = r.CreateKey(r.HKEY_LOCAL_MACHINE, r'Software\\Lab\\Inner'); "
        f"r.SetValueEx(k, 'Name', 0, r.{kind}, {python})"
    )
    assert lasting.python("-c", program).code == 0
    key = lasting.registry(r"HKLM\Software\Lab\Inner")
    assert key is not None
    assert key["name"] == Value(kind, value)  # type: ignore[arg-type]


def test_the_registry_has_keys_below_keys_and_no_others(lasting: Node) -> None:
    version = lasting.registry(r"HKLM\Software\Microsoft\Windows NT")
    assert version is not None
    assert "CurrentVersion" in version.keys
    assert not version.values
    assert lasting.registry(r"HKLM\Software\Nobody's") is None


@pytest.mark.parametrize(
    ("sddl", "rights"),
    [
        # Owned by SYSTEM, since Wine gives an owner more than Windows does (all standard rights).
        ("O:SYG:SYD:P(A;;FA;;;SY)(A;;FA;;;BA)", (0x1F01FF, 0x1F01FF, 0)),
        ("O:SYG:SYD:P(A;;FA;;;SY)(A;;FR;;;BU)", (0x120089, 0x1F01FF, 0x120089)),
        ("O:SYG:SYD:P(D;;FW;;;BU)(A;;FA;;;WD)", (0xD00E9, 0x1F01FF, 0xD00E9)),
    ],
)
def test_access_is_judged_for_three_people(lasting: Node, sddl: str, rights: tuple[int, int, int]) -> None:
    assert tuple(lasting.access(sddl).values()) == rights


def test_mode_bits_tell_whom_a_descriptor_lets_in(lasting: Node) -> None:
    for name, descriptor in (("open", "D:P(A;;FA;;;WD)"), ("shut", "D:P(A;;FA;;;BA)")):
        program = (
            "import win32security as w, win32file as f, pywintypes as p; a = p.SECURITY_ATTRIBUTES(); "
            "a.SECURITY_DESCRIPTOR = w.ConvertStringSecurityDescriptorToSecurityDescriptor("
            f"'{descriptor}', 1); "
            rf"f.CreateFile('C:\\{name}', 0x40000000, 0, a, 1, 0, None)"
        )
        assert lasting.python("-c", program).code == 0
    assert lasting.mode(r"C:\open") & 0o005 == 0o005
    assert lasting.mode(r"C:\shut") & 0o007 == 0


def test_a_planted_library_tells_who_loaded_it(node: Node) -> None:
    (planted,) = node.plant(r"C:\somewhere\version.dll")
    assert planted.loaded_by == []
    node.python("-c", r"import ctypes; ctypes.WinDLL(r'C:\somewhere\version.dll')")
    (command,) = planted.loaded_by
    assert "python.exe" in command


@pytest.mark.parametrize(
    ("locale", "message"),
    [("de_DE", "Zugriff verweigert"), ("ja_JP", "アクセスが拒否されました"), ("tr_TR", "Erişim engellendi")],
)
def test_a_node_speaks_other_languages(node: Node, locale: str, message: str) -> None:
    node.reboot(locale=locale)
    program = "import ctypes, sys; sys.stdout.buffer.write(ctypes.FormatError(5).encode())"
    assert message in node.python("-c", program).out


def test_a_reboot_ends_programs_and_keeps_the_registry(node: Node) -> None:
    running = node.start(r"Z:\python\python.exe", "-c", "import time; print(1, flush=True); time.sleep(60)")
    until(lambda: running.stdout, "it runs")
    node.run("reg.exe", "add", r"HKLM\Software\Lab", "/v", "Kept", "/d", "yes")
    node.reboot()
    assert not node.processes("python.exe")
    key = node.registry(r"HKLM\Software\Lab")
    assert key is not None
    assert key["Kept"] == Value("REG_SZ", "yes")


def test_what_waits_for_a_reboot_is_moved_by_one(node: Node) -> None:
    (node.c / "old.txt").write_text("moved")
    delay_until_reboot = 4
    program = (
        "import ctypes; raise SystemExit(not ctypes.windll.kernel32.MoveFileExW("
        rf"'C:\\old.txt', 'C:\\new.txt', {delay_until_reboot}))"
    )
    assert node.python("-c", program).code == 0
    assert (node.c / "old.txt").exists()
    node.reboot()
    assert (node.c / "new.txt").read_text() == "moved"
    assert not (node.c / "old.txt").exists()


def test_nodes_share_nothing_but_their_beginning(node: Node, lasting: Node) -> None:
    (node.c / "mine").write_text("")
    node.run("reg.exe", "add", r"HKLM\Software\Mine")
    assert not (lasting.c / "mine").exists()
    assert lasting.registry(r"HKLM\Software\Mine") is None
