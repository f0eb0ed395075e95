"""The codes that this program decides by are those that pywin32 has under the same names."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from pathlib import Path

import pytest
import winerror as of_pywin32

from agent.host import winerror

NOT_IN_PYWIN32 = {
    "CBS_E_SOURCE_MISSING",  # CbsMsg.h
    "DISMAPI_E_UNKNOWN_FEATURE",  # dismapi.h
    # wbemcli.h
    "WBEM_E_ACCESS_DENIED",
    "WBEM_E_INVALID_CLASS",
    "WBEM_E_INVALID_NAMESPACE",
    "WBEM_E_NOT_FOUND",
    "WBEM_E_PROVIDER_LOAD_FAILURE",
}
NAMES = sorted(name for name in vars(winerror) if name.isupper() and not name.startswith("__"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in NOT_IN_PYWIN32])
def test_a_code_is_the_one_of_pywin32(name: str) -> None:
    assert getattr(winerror, name) == getattr(of_pywin32, name) & 0xFFFF_FFFF


def test_what_pywin32_has_no_name_for_is_known() -> None:
    assert {name for name in NAMES if not hasattr(of_pywin32, name)} == NOT_IN_PYWIN32


def test_no_code_stands_there_that_nothing_uses() -> None:
    agent = Path(winerror.__file__).parents[1]
    sources = "".join(path.read_text("utf-8") for path in agent.rglob("*.py"))
    assert [name for name in NAMES if f"winerror.{name}" not in sources] == []
