"""Errors are told apart by codes; what Windows says of them, in whatever language, decides nothing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import pytest

from agent.host.errors import AccessDenied, HostError, InUse, MarkedForDeletion, NotFound
from agent.host.windows.failure import failed, telling

KINDS = [
    (2, NotFound),
    (3, NotFound),
    (5, AccessDenied),
    (32, InUse),
    (1072, MarkedForDeletion),
    (31, HostError),
]
# Of another error each, so that whoever goes by a text goes astray.
TEXTS = {
    "empty": "",
    "not found": "File not found.",
    "not found as Windows says it": "The system cannot find the file specified",
    "denied": "Access denied.",
    "German": "Das System kann die angegebene Datei nicht finden.",
    "Japanese": "アクセスが拒否されました。",
}


def ours(code: int, text: str) -> Exception:
    return failed(code, text)


def of_the_standard_library(code: int, text: str) -> Exception:
    failure = OSError(0, text)
    # Elsewhere than on Windows there is no such thing, and the constructor ignores it.
    failure.winerror = code  # type: ignore[attr-defined,unused-ignore]
    return failure


@pytest.mark.parametrize("made", [ours, of_the_standard_library])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(("code", "kind"), KINDS)
def test_the_code_alone_decides(
    monkeypatch: pytest.MonkeyPatch,
    made: Callable[[int, str], Exception],
    code: int,
    kind: type[HostError],
    text: str,
) -> None:
    # Windows' own words for a code are in the machine's language: here in none that we know.
    monkeypatch.setattr(ctypes, "FormatError", lambda *_: text, raising=False)
    with pytest.raises(HostError) as told, telling("read", "C:\\x"):
        raise made(code, text)
    assert (type(told.value), told.value.code) == (kind, code)


@pytest.mark.parametrize("failure", [failed(0, "it"), OSError(2, "No such file or directory")], ids=repr)
def test_a_failure_without_a_code_is_a_failure_of_no_kind(failure: Exception) -> None:
    with pytest.raises(HostError) as told, telling("read", "C:\\x"):
        raise failure
    assert (type(told.value), told.value.code) == (HostError, 31)
