"""What `make run` shows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agent.host.sandbox import open_sandbox
from sandbox import demo


@pytest.mark.skipif(sys.platform == "win32", reason="the sandbox is for the other systems")
def test_it_ends_with_a_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(demo.REPOSITORY)
    assert demo.demonstrate(tmp_path / "machine") == 0
    assert open_sandbox(tmp_path / "machine").files.observe(demo.KUBELET) is not None
    assert "25 of 25 as wanted" in capsys.readouterr().out
