"""Files that a command was given, and what is known of each."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from agent.cli import options
from agent.cli.arguments import Request
from agent.cli.failure import BadInput
from agent.cli.given import given_file
from agent.host.sandbox import open_sandbox


def test_a_file_is_read_and_hashed_once(tmp_path: Path) -> None:
    program = tmp_path / "kubelet.exe"
    program.write_bytes(b"MZ 1")
    request = Request((), None, {options.KUBELET.name: str(program)})
    host = open_sandbox(tmp_path / "c")
    first = given_file(request, options.KUBELET, host).sha256
    program.write_bytes(b"MZ 2")
    assert first == sha256(b"MZ 1").hexdigest()
    assert given_file(request, options.KUBELET, host).sha256 == first


def test_one_that_is_missing_is_told_each_time(tmp_path: Path) -> None:
    request = Request((), None, {options.KUBELET.name: str(tmp_path / "kubelet.exe")})
    for _ in range(2):
        with pytest.raises(BadInput):
            given_file(request, options.KUBELET, open_sandbox(tmp_path / "c"))
