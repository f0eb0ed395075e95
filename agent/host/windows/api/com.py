"""COM by pywin32: one thread makes all calls, in the multithreaded apartment.

Objects never leave that thread, and none outlives the question that asked for it. A question that takes too
long is given up together with its thread; the next one gets a thread of its own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import queue
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, TypeVar

import pywintypes

from agent.host import winerror
from agent.host.windows.failure import Win32Error, code_of, failed

Answer = TypeVar("Answer")

_LOCATOR = "{76A64158-CB41-11D1-8B02-00600806D9B6}"  # WbemScripting.SWbemLocator
_LIMIT_SECONDS = 60.0
_LAST_SECONDS = 2.0
"""For the thread to end when the process does."""
_MULTITHREADED = 0
"""COINIT_MULTITHREADED"""
_NO_SUCH_FOLDER = f"{sys.prefix}\\gen_py"
"""In the program's own folder, where only its owner could make it."""

_threads: list[_Thread] = []
_one_at_a_time = threading.Lock()


def ask(question: Callable[[], Answer], seconds: float = _LIMIT_SECONDS) -> Answer:
    """Return what `question` returns in the thread for COM; it may use `create`.

    Raises Win32Error: with the code of what COM raised there, or ERROR_TIMEOUT. A question that was given up
    ends with the call that it is at: what comes after changes nothing, by `check_awaited`.
    """
    task = _Task(question)
    with _one_at_a_time:
        if not _threads:
            _threads.append(_Thread())
        _threads[0].tasks.put(task)
        if not task.done.wait(seconds):
            _threads.clear()
            raise failed(winerror.ERROR_TIMEOUT, "COM")
    if task.failure is not None:
        raise task.failure
    answer: Answer = task.answer
    return answer


def check_awaited() -> None:
    """Raise ERROR_TIMEOUT where `ask` has given the question up: called before each change of the machine."""
    if threading.current_thread() not in _threads:
        raise failed(winerror.ERROR_TIMEOUT, "COM")


def create(class_id: str) -> Any:
    """Return a new object of a class, bound late. Only within a question."""
    import pythoncom  # noqa: PLC0415 - after sys.coinit_flags is set
    from win32com.client import dynamic  # noqa: PLC0415 - win32com, 11 MB

    return dynamic.Dispatch(class_id, clsctx=pythoncom.CLSCTX_INPROC_SERVER)


def put(thing: Any, name: str, value: object) -> None:
    """Set a property. An assignment does the same, and says nothing of why it failed."""
    import pythoncom  # noqa: PLC0415 - after sys.coinit_flags is set

    check_awaited()
    number = thing._oleobj_.GetIDsOfNames(0, name)
    thing._oleobj_.Invoke(number, 0, pythoncom.DISPATCH_PROPERTYPUT, False, value)


def management(namespace: str) -> Any:
    """Return wmi's object for a namespace of WMI. Only within a question."""
    import wmi  # noqa: PLC0415 - wmi, 11 MB, and it asks WMI as it is imported

    wmi.obj = None  # what it asked, which would be released after the end of COM
    return wmi.WMI(wmi=create(_LOCATOR).ConnectServer(".", namespace))


class _Task:
    def __init__(self, question: Callable[[], Any]) -> None:
        self._question = question
        self.done = threading.Event()
        self.answer: Any = None
        self.failure: BaseException | None = None

    def run(self, prepare: Callable[[], None]) -> None:
        try:
            prepare()
            self.answer = self._question()
        except BaseException as failure:  # noqa: BLE001 - raised again by `ask`
            # Its frames hold objects of COM.
            traceback.clear_frames(failure.__traceback__)
            self.failure = _told(failure)


class _Thread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(name="COM", daemon=True)
        self.tasks = queue.SimpleQueue[_Task | None]()
        self._end_of_com: Callable[[], None] | None = None
        self.start()
        atexit.register(self._end)

    def run(self) -> None:
        while (task := self.tasks.get()) is not None:
            task.run(self._prepare)
            gc.collect()  # objects that know one another: released after the end of COM they crash
            task.done.set()
            del task
        if self._end_of_com is not None:
            self._end_of_com()

    def _prepare(self) -> None:
        if self._end_of_com is None:
            pythoncom = _loaded()
            pythoncom.CoInitializeEx(_MULTITHREADED)
            self._end_of_com = pythoncom.CoUninitialize

    def _end(self) -> None:
        self.tasks.put(None)
        self.join(_LAST_SECONDS)


def _loaded() -> types.ModuleType:
    """Import pywin32's parts so that none of them reads or writes the folder for temporary files.

    win32com keeps code that it generates in gen_py below TEMP, and unpickles an index of it from there: what
    another account put there would run as this one.
    """
    sys.coinit_flags = _MULTITHREADED  # type: ignore[attr-defined]  # for pythoncom's import, in this thread
    import pythoncom  # noqa: PLC0415 - after sys.coinit_flags is set
    import win32com  # noqa: PLC0415 - win32com, 11 MB

    win32com.__gen_path__ = _NO_SUCH_FOLDER
    win32com.gen_py.__path__ = [_NO_SUCH_FOLDER]
    # So gencache knows that it is in an archive and is_readonly: then it reads nothing, and writes nothing.
    win32com.__loader__ = types.SimpleNamespace(archive=sys.executable)
    importlib.import_module("win32com.client")
    return pythoncom


def error_code(failure: pywintypes.com_error) -> int:
    """Return the code of what a call of COM raised: its own, or that of the object that was called."""
    result, _, raised, _ = failure.args
    if code_of(result) == winerror.DISP_E_EXCEPTION and raised and raised[-1]:
        result = raised[-1]
    return code_of(result)


def _told(failure: BaseException) -> BaseException:
    # wmi's own exceptions have what COM raised with them.
    failure = getattr(failure, "com_error", None) or failure
    if isinstance(failure, pywintypes.com_error):
        return failed(error_code(failure), "COM")
    if isinstance(failure, AttributeError):
        return failed(winerror.DISP_E_UNKNOWNNAME, str(failure))
    if isinstance(failure, Win32Error):
        return failed(failure.winerror, failure.funcname)
    return failure
