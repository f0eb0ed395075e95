"""Known vulnerabilities of what is locked, by answers of pip-audit's and by a copy of advisories."""

from __future__ import annotations

import json
import sys
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from releasing import ReleaseError, __main__, advisories, vulnerabilities
from releasing.vulnerabilities import Package, Told

DATA = Path(__file__).parents[2] / "data"
TOLD, NOT_TOLD = (DATA / "vulnerabilities" / name for name in ("told.json", "not-told.json"))
ADVISORIES = DATA / "advisories"
LOCK = """psutil==7.2.2 \\
    --hash=sha256:0746f5f8
PyYAML==5.3 \\
    --hash=sha256:076a2d2f
# tomlkit==0.1
tomlkit==0.15.2
"""
PSUTIL, PYYAML, TOMLKIT = Package("psutil", "7.2.2"), Package("pyyaml", "5.3"), Package("tomlkit", "0.15.2")


def judged(packages: set[Package], file: Path) -> str:
    told = Told(vulnerabilities.answers(file.read_text()))
    return vulnerabilities.report(vulnerabilities.judged(packages, told, date.max))


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


def known(package: Package, folder: Path = ADVISORIES) -> list[str]:
    return [str(advisory) for advisory in advisories.told_of({package}, folder).advisories[package]]


@pytest.mark.parametrize(
    ("name", "affected", "others"),
    [
        ("pyyaml", ["0.dev1", "5.1b7", "5.3", "5.3.1rc1"], ["5.3.1", "6.0.3"]),
        ("two-lines", ["1.0", "1.4.9", "2.0", "2.8.1"], ["1.0rc1", "1.4.10", "2.0a1", "2.9", "2.10"]),
        ("one-version", ["1.5", "1.5.0"], ["1.4", "1.5.post1", "1.5.1"]),
        ("until", ["0", "1.9", "2.0rc1"], ["2.0", "3"]),
        ("listed", ["1.10", "2.0", "2004d"], ["1.1", "1.9", "2.0.1"]),
        ("taken-back", [], ["1.0"]),
        ("psutil", [], ["7.2.2"]),
    ],
    ids=[
        "all before it was fixed",
        "two lines, each with its fix",
        "one version, the last one affected",
        "up to a limit",
        "versions one by one",
        "withdrawn",
        "another ecosystem's package of this name",
    ],
)
def test_advisories_are_about_versions(name: str, affected: list[str], others: list[str]) -> None:
    told = {version: bool(known(Package(name, version))) for version in (*affected, *others)}
    assert told == {**dict.fromkeys(affected, True), **dict.fromkeys(others, False)}


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (PYYAML, ["GHSA-6757-jp84-gxfx (CVE-2020-1747, PYSEC-2020-96), fixed in 5.3.1"]),
        (Package("two-lines", "1.4.2"), ["PYSEC-2019-1, fixed in 1.4.10, 2.9"]),
        (Package("two-lines", "2.1"), ["PYSEC-2019-1, fixed in 2.9"]),
        (Package("listed", "1.10"), ["PYSEC-2019-4, not fixed yet"]),
    ],
    ids=["told by two", "what fixes the older line", "what fixes the newer line", "no fix"],
)
def test_a_vulnerability_is_told_once_with_its_names_and_what_fixes_it(
    package: Package, said: list[str]
) -> None:
    assert known(package) == said


def copied(folder: Path, modified: str, **changed: object) -> Path:
    """A copy with one advisory about PyYAML."""
    document = json.loads((ADVISORIES / "osv" / "GHSA-6757-jp84-gxfx.json").read_text())
    document["affected"][0].update(changed)
    file = folder / "copy" / "PyPI" / "GHSA-6757-jp84-gxfx.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({**document, "modified": modified}))
    return folder / "copy"


@pytest.mark.parametrize(
    ("days", "version", "options", "code"),
    [
        (30, "6.0.3", ["--must-answer"], 0),
        (31, "6.0.3", [], 0),
        (31, "6.0.3", ["--must-answer"], 1),
        (30, "5.3", [], 1),
    ],
    ids=["nothing known", "an old copy", "an old copy where it has to know", "known ones"],
)
def test_a_copy_of_advisories_is_asked(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    days: int,
    version: str,
    options: list[str],
    code: int,
) -> None:
    newest = (datetime.now(UTC) - timedelta(days)).isoformat()
    lock = f"PyYAML=={version}\npsutil==7.2.2\n"
    given = ["--advisories", str(copied(tmp_path, newest)), *options]
    assert run(monkeypatch, tmp_path, *given, lock=lock) == code
    captured = capsys.readouterr()
    lines = (captured.err if code else captured.out).splitlines()
    assert f"the copy's newest advisory is of {newest[:10]}, {days} days ago" in lines
    assert any(line.startswith("a copy older than 30 days is no answer") for line in lines) == (days > 30)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("cut-off.json", '{"id": "GHSA', r"cut-off\.json: this advisory cannot be read"),
        ("cut-off.yaml", "affected: [", r"cut-off\.yaml: this advisory cannot be read"),
        ("form.json", '{"affected": [{"package": 1}]}', r"form\.json: this advisory cannot be read"),
        ("README.md", "no advisory", r"copy: no advisory in it is about a package of PyPI"),
    ],
    ids=["JSON that ends early", "YAML that ends early", "another form", "no advisories"],
)
def test_a_copy_that_cannot_be_read_is_told(tmp_path: Path, name: str, content: str, said: str) -> None:
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / name).write_text(content)
    with pytest.raises(ReleaseError, match=said):
        advisories.told_of({PSUTIL}, folder)


def test_versions_that_cannot_be_compared_are_left_to_a_person(tmp_path: Path) -> None:
    ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "2019-09-12.x"}]}]
    folder = copied(tmp_path, "2030-01-02T00:00:00Z", ranges=ranges)
    assert known(PSUTIL, folder) == []
    with pytest.raises(ReleaseError, match=r"pyyaml 5\.3: GHSA-6757-jp84-gxfx has to be read by a person"):
        known(PYYAML, folder)
