"""How COM is asked: in one thread, within a limit, and without code that lies in the temporary folder."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
import os
import pickle
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
import pywintypes

from agent.host import winerror
from agent.host.windows.api import com
from agent.host.windows.failure import Win32Error

RULE = "{2C5BC43E-3369-4C33-AB0C-BE9469677AF4}"  # HNetCfg.FWRule, which every Windows has
MULTITHREADED = 1  # APTTYPE_MTA
OURS = """
import sys; sys.path.insert(0, ".")
from agent.host.windows.api import com
def name():
    rule = com.create("%s")
    rule.Name = "a rule"
    return rule.Name
assert com.ask(name) == "a rule"
"""


def com_failure(result: int, of_object: int | None = None) -> pywintypes.com_error:
    raised = None if of_object is None else (0, "source", "text", "", 0, of_object)
    return pywintypes.com_error(result, "text", raised, None)


class Executed:
    """What runs a command wherever it is unpickled."""

    def __init__(self, sign: Path) -> None:
        self._sign = sign

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self._sign),)


def run_beside_planted_code(folder: Path, program: str) -> list[str]:
    """Run a program whose TEMP has what win32com would load; return what that did and what was written."""
    version = folder / "gen_py" / f"{sys.version_info.major}.{sys.version_info.minor}"
    version.mkdir(parents=True)
    signs = folder.with_name("signs")
    signs.mkdir()
    (version / "dicts.dat").write_bytes(pickle.dumps(Executed(signs / "pickle")))
    module = "import os; os.mkdir({!r})\n"
    (version / "__init__.py").write_text(module.format(str(signs / "package")))
    # As makepy calls what it makes for a library of types: here OLE Automation's own.
    generated = version / "00020430-0000-0000-C000-000000000046x0x2x0.py"
    generated.write_text(module.format(str(signs / "module")))
    before = sorted(folder.rglob("*"))
    environment = {**os.environ, "TEMP": str(folder), "TMP": str(folder)}
    subprocess.run([sys.executable, "-B", "-c", program], env=environment, check=False, timeout=120)
    written = [str(path) for path in sorted(folder.rglob("*")) if path not in before]
    return [*sorted(path.name for path in signs.iterdir()), *written]


def test_code_planted_below_temp_is_not_loaded_and_none_is_written_there(tmp_path: Path) -> None:
    assert run_beside_planted_code(tmp_path / "temp", OURS % RULE) == []


def test_the_cache_of_generated_code_is_read_only() -> None:
    def look() -> tuple[bool, bool]:
        from win32com.client import gencache  # noqa: PLC0415 - in the thread for COM, which readies it

        return gencache.is_readonly, gencache.clsidToTypelib == {}

    assert com.ask(look) == (True, True)


def test_win32com_by_itself_would_load_it(tmp_path: Path) -> None:
    done = run_beside_planted_code(tmp_path / "temp", "import win32com.client")
    assert "pickle" in done


def test_all_is_asked_in_one_thread_in_the_multithreaded_apartment() -> None:
    def where() -> tuple[int, int]:
        kind, qualifier = ctypes.c_int(), ctypes.c_int()
        ctypes.WinDLL("ole32").CoGetApartmentType(ctypes.byref(kind), ctypes.byref(qualifier))
        return threading.get_ident(), kind.value

    first, second = com.ask(where), com.ask(where)
    assert first == second
    assert first[0] != threading.get_ident()
    assert first[1] == MULTITHREADED


def test_a_question_without_an_answer_is_given_up_and_the_next_one_is_answered() -> None:
    never = threading.Event()
    with pytest.raises(Win32Error) as failure:
        com.ask(never.wait, seconds=0.05)
    assert failure.value.winerror == winerror.ERROR_TIMEOUT
    assert com.ask(lambda: com.create(RULE).Enabled) in (True, False)
    never.set()


def test_a_question_that_was_given_up_changes_nothing_any_more() -> None:
    slow, over, changes = threading.Event(), threading.Event(), []

    def question() -> None:
        try:
            slow.wait()
            com.check_awaited()
            changes.append("made")
        finally:
            over.set()

    with pytest.raises(Win32Error):
        com.ask(question, seconds=0.05)
    slow.set()
    assert over.wait(20)
    assert changes == []
    com.ask(com.check_awaited)


CLASS_NOT_REGISTERED, ACCESS_DENIED, EXCEPTION, WBEM_NOT_FOUND = (
    code - (1 << 32) for code in (0x8004_0154, 0x8007_0005, 0x8002_0009, 0x8004_1002)
)


def test_what_cannot_be_loaded_is_raised_and_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise ImportError("pythoncom")

    monkeypatch.setattr(com, "_threads", [])
    monkeypatch.setattr(com, "_loaded", missing)
    with pytest.raises(ImportError, match="pythoncom"):
        com.ask(lambda: None)


FAILURES = {
    "of COM": (com_failure(CLASS_NOT_REGISTERED), 0x8004_0154),
    "of Win32": (com_failure(ACCESS_DENIED), 5),
    "of the object": (com_failure(EXCEPTION, WBEM_NOT_FOUND), 0x8004_1002),
    "of the object, which does not say": (com_failure(EXCEPTION, 0), 0x8002_0009),
    "of a name": (AttributeError("x"), 0x8002_0006),
}


@pytest.mark.parametrize(("failure", "code"), FAILURES.values(), ids=FAILURES)
def test_a_failure_is_told_by_its_code(failure: Exception, code: int) -> None:
    def fail() -> None:
        raise failure

    with pytest.raises(Win32Error) as told:
        com.ask(fail)
    assert told.value.winerror == code
