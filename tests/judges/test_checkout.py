"""The repository as git hands it out, also to Windows: hashes are taken of some of its files."""

from __future__ import annotations

import filecmp
from pathlib import Path

from lab import repository, steps


def checked_out(folder: Path, ends_of_lines: str) -> tuple[str, ...]:
    """The files, with git told as on the machine of whoever checks them out."""
    told = ("-c", f"core.autocrlf={ends_of_lines}")
    steps.run(["git", *told, "checkout-index", "--all", f"--prefix={folder}/"], folder=repository.ROOT)
    return tuple(sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()))


def test_windows_gets_each_file_as_it_was_committed(tmp_path: Path) -> None:
    files = checked_out(tmp_path / "here", "false")
    assert checked_out(tmp_path / "windows", "true") == files
    assert "packaging/exe/log-runner/log.c" in files
    same, _, _ = filecmp.cmpfiles(tmp_path / "here", tmp_path / "windows", files, shallow=False)
    assert sorted({*files} - {*same}) == []
