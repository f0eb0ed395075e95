"""What the workflows of public CI may do and the steps that they call; tests/differential lints them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from releasing import __main__

WORKFLOWS = sorted((__main__.REPOSITORY / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")


def named(workflow: Path) -> str:
    return workflow.name


def jobs(workflow: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(workflow.read_text("utf-8"))["jobs"]
    return found


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(workflow).values() for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=named)
def test_actions_are_known_by_their_commit(workflow: Path) -> None:
    used = [step["uses"] for step in steps(workflow) if "uses" in step]
    assert [action for action in used if not PINNED.fullmatch(action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=named)
def test_nobody_may_write_but_who_publishes(workflow: Path) -> None:
    assert yaml.safe_load(workflow.read_text("utf-8"))["permissions"] == {"contents": "read"}
    more = {name for name, job in jobs(workflow).items() if "permissions" in job}
    assert more == ({"publish"} if workflow.name == "release.yml" else set())


def test_each_step_of_a_release_is_called_and_there() -> None:
    texts = [step.get("run", "") for workflow in WORKFLOWS for step in steps(workflow)]
    lines = re.findall(r"^python -m releasing (.*)$", "\n".join(texts), re.MULTILINE)
    assert {line.split()[0] for line in lines} == {"check", "collect", "installer", "sign", "vulnerabilities"}
    for line in lines:
        __main__.arguments().parse_args(line.split())


def test_the_exe_is_built_as_the_page_says_also_over_one_that_is_there() -> None:
    """PyInstaller asks before it replaces a folder, and fails where it cannot ask."""
    page = (__main__.REPOSITORY / "docs" / "building.md").read_text("utf-8")
    lines = [step["run"] for workflow in WORKFLOWS for step in steps(workflow) if "run" in step]
    for where in (lines, page.splitlines()):
        builds = {line for line in where if line.startswith("pyinstaller ")}
        assert builds == {"pyinstaller --noconfirm build.spec"}


@pytest.mark.parametrize(
    ("job", "lock", "module"),
    [
        ("installer", None, "releasing.__main__"),
        ("sign", None, "releasing.__main__"),
        ("publish", "linux-runtime", "releasing.collecting"),
    ],
    ids=["installer", "sign", "publish"],
)
def test_a_job_that_takes_its_files_from_another_runs_on_what_it_installs(
    job: str, lock: str | None, module: str
) -> None:
    release = jobs(__main__.REPOSITORY / ".github" / "workflows" / "release.yml")
    run = "\n".join(step.get("run", "") for step in release[job]["steps"])
    assert re.findall(r"^python -m pip .*/([\w-]+)\.txt$", run, re.MULTILINE) == ([lock] if lock else [])
    assert module != "releasing.collecting" or "python -m releasing collect" in run
    # Which a job does not install; one without a lock has Python alone.
    missing = {"cyclonedx", "packageurl"} | (set() if lock else {"yaml"})
    code = f"import sys; sys.modules.update(dict.fromkeys({missing})); import {module}"
    paths = ("", "packaging/exe", "packaging/release")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str(__main__.REPOSITORY / path) for path in paths),
    }
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert done.stderr.decode() == ""


def test_a_release_is_looked_at_signed_and_tried_before_it_is_published() -> None:
    release = jobs(__main__.REPOSITORY / ".github" / "workflows" / "release.yml")
    assert {name: job.get("needs") for name, job in release.items()} == {
        "check": None,
        "build": "check",
        "installer": "build",
        "sign": "installer",
        "try": "sign",
        "publish": "try",
    }
