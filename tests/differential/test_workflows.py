"""The workflows of public CI, as actionlint reads them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from lab import actionlint, repository

WORKFLOWS = sorted((repository.ROOT / ".github" / "workflows").glob("*.yml"))


def complaints(workflow: Path) -> list[str]:
    # Programs of this machine's own, if there are any, have no say.
    command = [str(actionlint.program()), "-oneline", "-shellcheck=", "-pyflakes=", str(workflow)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.name)
def test_it_is_one(workflow: Path) -> None:
    assert complaints(workflow) == []


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ("needs: build", "needs: nothing"),
        ("runs-on: ubuntu-24.04", "runs-on: windows-95"),
        ("github.ref_name", "github.ref_nam"),
        ("permissions:", "permission:"),
    ],
)
def test_a_mistake_is_noticed(tmp_path: Path, was: str, becomes: str) -> None:
    """The control for the test before."""
    text = (repository.ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert was in text
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(text.replace(was, becomes), "utf-8")
    assert complaints(wrong) != []
