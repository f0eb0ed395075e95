"""Known vulnerabilities of what is locked, by answers of pip-audit's."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from releasing import ReleaseError, __main__, vulnerabilities
from releasing.vulnerabilities import Package

DATA = Path(__file__).parents[2] / "data"
TOLD, NOT_TOLD = (DATA / "vulnerabilities" / name for name in ("told.json", "not-told.json"))
LOCK = """psutil==7.2.2 \\
    --hash=sha256:0746f5f8
PyYAML==5.3 \\
    --hash=sha256:076a2d2f
# tomlkit==0.1
tomlkit==0.15.2
"""
PSUTIL, PYYAML, TOMLKIT = Package("psutil", "7.2.2"), Package("pyyaml", "5.3"), Package("tomlkit", "0.15.2")


def judged(packages: set[Package], file: Path) -> str:
    told = vulnerabilities.answers(file.read_text())
    return vulnerabilities.report(vulnerabilities.judged(packages, told))


def test_all_that_the_files_pin_is_looked_up(tmp_path: Path) -> None:
    (tmp_path / "windows.txt").write_text(LOCK)
    (tmp_path / "linux.txt").write_text("pyyaml==6.0.3\npsutil==7.2.2\n")
    (tmp_path / "lab.in").write_text("other==1\n")
    found = vulnerabilities.locked(vulnerabilities.lock_files(tmp_path))
    assert found == {PSUTIL, PYYAML, Package("pyyaml", "6.0.3"), TOMLKIT}


def test_the_repositorys_own_lock_files_are_read() -> None:
    names = {package.name for package in vulnerabilities.locked(vulnerabilities.lock_files(__main__.LOCKS))}
    assert {"psutil", "pyyaml", "pyinstaller", "pytest", "ziglang", "pip-audit"} <= names


@pytest.mark.parametrize(
    ("packages", "file", "lines"),
    [
        (
            {PSUTIL, PYYAML, TOMLKIT},
            TOLD,
            [
                "pyyaml 5.3: PYSEC-2020-96 (CVE-2020-1747), fixed in 5.3.1",
                "tomlkit 0.15.2: GHSA-of-nobody, not fixed yet",
                "2 known vulnerabilities in 3 packages",
            ],
        ),
        ({PSUTIL}, TOLD, ["0 known vulnerabilities in 1 packages"]),
        (
            {PSUTIL, Package("psutil", "8.0")},
            TOLD,
            ["psutil 8.0: nobody told of it", "0 known vulnerabilities in 1 packages"],
        ),
        ({PSUTIL}, NOT_TOLD, ["not reachable: nobody told of any of 1 packages"]),
    ],
    ids=["two known", "none known", "answers of another version", "an index that tells nothing"],
)
def test_what_answers_say_of_packages(packages: set[Package], file: Path, lines: list[str]) -> None:
    assert judged(packages, file).splitlines() == lines


def run(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str, lock: str = LOCK) -> int:
    (folder / "lock.txt").write_text(lock)
    monkeypatch.setattr(__main__, "LOCKS", folder)
    monkeypatch.setattr(sys, "argv", ["releasing", "vulnerabilities", *options])
    return __main__.main()


NOT_REACHABLE = "not reachable: nobody told of any of 3 packages"
AUDITS = """
import pathlib, sys
print(pathlib.Path({answers!r}).read_text())
sys.exit({code})
"""


@pytest.mark.parametrize(
    ("program", "options", "code", "said"),
    [
        (AUDITS.format(answers=str(TOLD), code=1), [], 1, "2 known vulnerabilities in 3 packages"),
        (AUDITS.format(answers=str(NOT_TOLD), code=0), [], 0, NOT_REACHABLE),
        (AUDITS.format(answers=str(NOT_TOLD), code=0), ["--must-answer"], 1, NOT_REACHABLE),
        ("raise ConnectionError('nobody there')", [], 0, NOT_REACHABLE),
        ("raise ConnectionError('nobody there')", ["--must-answer"], 1, NOT_REACHABLE),
    ],
    ids=[
        "known ones",
        "an index that tells nothing",
        "an index that tells nothing where it has to",
        "no network",
        "no network where there has to be one",
    ],
)
def test_pip_audit_is_asked(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    program: str,
    options: list[str],
    code: int,
    said: str,
) -> None:
    (tmp_path / "pip_audit.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert run(monkeypatch, tmp_path, *options) == code
    captured = capsys.readouterr()
    assert (captured.err if code else captured.out).endswith(f"{said}\n")


def test_what_is_no_answer_is_told() -> None:
    with pytest.raises(ReleaseError, match="no answers of pip-audit's"):
        vulnerabilities.answers("[]")
