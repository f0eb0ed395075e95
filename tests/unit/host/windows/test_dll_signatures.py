"""What WinVerifyTrust is asked, which no outcome shows where it opens a file by itself as well."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from pathlib import PureWindowsPath

from agent.host.windows.api import files
from agent.host.windows.signatures import signing
from agent.host.windows.walking import opened


def test_what_is_open_is_judged_and_not_what_lies_by_now_where_it_lay() -> None:
    interpreter = PureWindowsPath(getattr(sys, "_base_executable", sys.executable))
    with opened(interpreter, files.READ_DATA) as handle:
        found = signing("C:\\not there.exe", handle)
    assert found.common_name == "Python Software Foundation"
