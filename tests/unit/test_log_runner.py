"""A service's command line when its log is to be written; what the runner then does is in tests/windows."""

from __future__ import annotations

import sys
from pathlib import Path, PureWindowsPath

import pytest

from agent import log_runner


def test_python_from_source_carries_none() -> None:
    assert log_runner.program() is None


def test_the_exe_carries_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wmcb-log.exe").write_bytes(b"MZ")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert log_runner.program() == b"MZ"


def test_its_arguments_stand_before_the_program() -> None:
    assert log_runner.arguments(PureWindowsPath(r"C:\var\log\k.log")) == (
        r"--log-file=C:\var\log\k.log",
        "--log-file-size=100000000",
        "--log-file-age=168h",
        "--log-file-count=5",
        "--",
    )


def test_a_file_of_further_arguments_is_named() -> None:
    *_, named, end = log_runner.arguments(PureWindowsPath(r"C:\k.log"), PureWindowsPath(r"C:\my env\k.env"))
    assert (named, end) == (r"--arguments-from=C:\my env\k.env", "--")
