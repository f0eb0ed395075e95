"""The commands of docs/building.md that no test runs, since they are what runs the tests: CI does."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest
import yaml

from documentation import blocks
from documentation.blocks import ROOT, Command, Place
from documentation.shell import readers_environment
from lab.__main__ import COMMANDS

WHOLE, MEASURING, ON_WINDOWS = (
    tuple(line.partition("#")[0].strip() for line in block.lines)
    for block in blocks.of_page("docs/building.md")
    if block.place is Place.NOWHERE
)
MAKE = shutil.which("make") or "make"
needs_make = pytest.mark.skipif(sys.platform == "win32", reason="make is for the systems that have the lab")


def told(*command: str, path: str = os.environ["PATH"]) -> set[str]:
    """The lines that it prints, as a reader calls it: the make of these tests has no part in it."""
    environment = {**readers_environment(), "PATH": path}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return set(done.stdout.splitlines())


def would_run(target: str) -> set[str]:
    return told(MAKE, "--dry-run", target)


@pytest.fixture(scope="module")
def by_ci(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """All that `.ci/run` would run: it is run, with a make that only tells."""
    folder = tmp_path_factory.mktemp("programs")
    make = folder / "make"
    make.write_text(f'#!/bin/sh\nexec "{MAKE}" --dry-run "$@"\n')
    make.chmod(0o755)
    return told(".ci/run", path=f"{folder}{os.pathsep}{os.environ['PATH']}")


@needs_make
@pytest.mark.parametrize("command", WHOLE)
def test_ci_runs_all_that_it_runs(command: str, by_ci: set[str]) -> None:
    make, target = command.split()
    assert make == "make"
    lines = would_run(target)
    assert lines
    assert lines - by_ci == set()


def test_the_readmes_first_two_commands_are_run() -> None:
    """`make run` further down in the README, `make test` by CI."""
    page = blocks.of_page("README.md")
    first = tuple(line.partition("#")[0].strip() for line in page[0].lines)
    run = {each.text for each in blocks.steps(page, Place.HERE) if isinstance(each, Command)}
    assert first == ("make run", "make test")
    assert set(first) <= run | set(WHOLE)


@needs_make
def test_what_ci_does_not_run_would_be_noticed(by_ci: set[str]) -> None:
    """The control for the test before."""
    assert would_run("lock") - by_ci == {"packaging/locks/lock.sh"}


@needs_make
def test_what_measures_is_there() -> None:
    assert MEASURING == ("make bench",)
    lines = "\n".join(would_run("bench"))
    programs, commands = re.findall(r"\S+\.py", lines), re.findall(r"-m lab (\S+)", lines)
    assert [each for each in programs if not (ROOT / each).exists()] == []
    assert {"bench"} <= set(commands) <= set(COMMANDS)


def test_public_ci_runs_these_lines_on_windows() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    job = workflow["jobs"]["windows"]
    assert tuple(step["run"] for step in job["steps"] if "run" in step) == ON_WINDOWS
    assert job["strategy"]["matrix"] == {
        "os": ["windows-2022", "windows-2025"],
        "python": ["3.13", "3.14"],
    }
