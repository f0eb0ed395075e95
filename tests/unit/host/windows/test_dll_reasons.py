"""Each Win32 function that is bound by ctypes has a reason, one that holds against what pywin32 exports."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ast
import ctypes
import importlib
from pathlib import Path

import pytest
import win32api
import win32crypt

from agent.host import windows
from agent.host.windows.api.reasons import KEPT, MISSING_IN_PYWIN32, REASONS
from contract.test_roots import ROOT

BINDINGS = [
    path
    for path in Path(windows.__file__).parent.rglob("*.py")
    if "from agent.host.windows.api.binding import" in path.read_text("utf-8")
]
TREES = [ast.parse(path.read_text("utf-8")) for path in BINDINGS]
TEXTS = {
    node.value
    for tree in TREES
    for node in ast.walk(tree)
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}
_IN_MEMORY, _X509, _ALWAYS = 2, 1, 4
COMPOSED = ("Hcn",)
"""What names of functions begin with that are put together of parts."""


def libraries() -> list[ctypes.WinDLL]:
    """Those that are bound, as far as this Windows has them."""
    found = []
    for name in sorted(text for text in TEXTS if text.isidentifier() and text.islower()):
        try:
            found.append(ctypes.WinDLL(name, winmode=0x0800))
        except OSError:
            continue
    return found


def exported_by_pywin32() -> set[str]:
    modules = [path.stem for path in Path(win32api.__file__).parent.glob("*.pyd")]
    names = {name for each in [*modules, "pywintypes"] for name in dir(importlib.import_module(each))}
    # Some functions are methods of objects.
    store = win32crypt.CertOpenStore(_IN_MEMORY, 0, None, 0, None)
    assert store is not None
    certificate = store.CertAddEncodedCertificateToStore(_X509, ROOT, _ALWAYS)
    return {*names, *dir(store), *dir(certificate)}


def test_each_function_that_is_bound_has_a_reason() -> None:
    bound = libraries()
    assert len(bound) > 5
    functions = {
        text for text in TEXTS if text.isidentifier() and any(hasattr(library, text) for library in bound)
    }
    assert functions - set(REASONS) == set()


def test_each_function_with_a_reason_is_bound() -> None:
    assert {name for name in REASONS if name not in TEXTS and not name.startswith(COMPOSED)} == set()


@pytest.mark.parametrize("name", MISSING_IN_PYWIN32)
def test_pywin32_does_not_have_what_is_bound_for_lack_of_it(name: str) -> None:
    assert {name, name.removesuffix("W")} & exported_by_pywin32() == set()


@pytest.mark.parametrize("name", KEPT)
def test_pywin32_has_what_is_bound_for_another_reason(name: str) -> None:
    assert {name, name.removesuffix("W")} & exported_by_pywin32()
