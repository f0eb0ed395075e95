"""Known vulnerabilities of everything that is locked, as pip-audit finds them.

pip-audit says "no known vulnerabilities" also where it could ask nobody: a package that its index does not
know is skipped, and that is no error to it. Here each locked package has to have been answered for.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from releasing import ReleaseError

Told = Mapping["Package", tuple["Advisory", ...]]

_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==(\S+)", re.MULTILINE)
_NONE, _SOME = 0, 1
"""What pip-audit ends with when it has answers."""


class Package(NamedTuple):
    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


class Advisory(NamedTuple):
    id: str
    aliases: tuple[str, ...]
    fixed: tuple[str, ...]

    def __str__(self) -> str:
        names = f"{self.id} ({', '.join(self.aliases)})" if self.aliases else self.id
        return f"{names}, fixed in {', '.join(self.fixed)}" if self.fixed else f"{names}, not fixed yet"


class Verdict(NamedTuple):
    known: tuple[tuple[Package, Advisory], ...]
    clean: tuple[Package, ...]
    unanswered: tuple[Package, ...]
    """Those of which nothing could be learned."""


def lock_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.txt"))


def locked(files: Iterable[Path]) -> set[Package]:
    """Every package at each version that some file pins."""
    return {
        Package(normalized(name), version)
        for file in files
        for name, version in _PINNED.findall(file.read_text("utf-8"))
    }


def normalized(name: str) -> str:
    """A package's name as all of its writings have it in common."""
    return re.sub(r"[-_.]+", "-", name).lower()


def ask(files: Iterable[Path]) -> Told:
    """What pip-audit says of these lock files; of a package that is not in it nothing could be learned."""
    return {package: found for file in files for package, found in _asked(file).items()}


def _asked(file: Path) -> Told:
    """Nothing where nobody could be asked."""
    # The packages themselves are not looked at: hashes say which they are, and others are for another system.
    options = ["--disable-pip", "--require-hashes", "--format", "json", "--progress-spinner", "off"]
    command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(file)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if "No module named pip_audit" in done.stderr:
        raise ReleaseError("pip-audit is not installed: pip install -r packaging/locks/audit.txt")
    return answers(done.stdout) if done.returncode in (_NONE, _SOME) and done.stdout else {}


def answers(text: str) -> Told:
    """Out of pip-audit's own document."""
    try:
        return {
            Package(normalized(answer["name"]), answer["version"]): tuple(map(_answer, answer["vulns"]))
            for answer in json.loads(text)["dependencies"]
            if "vulns" in answer
        }
    except (ValueError, KeyError, TypeError) as error:
        raise ReleaseError("these are no answers of pip-audit's") from error


def _answer(entry: dict[str, Any]) -> Advisory:
    return Advisory(entry["id"], tuple(entry.get("aliases", ())), tuple(entry.get("fix_versions", ())))


def judged(packages: Iterable[Package], told: Told) -> Verdict:
    """What this says of these packages."""
    wanted = sorted(packages)
    known = [(package, advisory) for package in wanted for advisory in told.get(package, ())]
    return Verdict(
        tuple(known),
        tuple(package for package in wanted if told.get(package) == ()),
        tuple(package for package in wanted if package not in told),
    )


def report(verdict: Verdict) -> str:
    """In lines, for a person."""
    count = len({package for package, _ in verdict.known}) + len(verdict.clean)
    lines = [f"{package}: {advisory}" for package, advisory in verdict.known]
    if verdict.unanswered and not count:
        lines.append(f"not reachable: nobody told of any of {len(verdict.unanswered)} packages")
    else:
        lines += [f"{package}: nobody told of it" for package in verdict.unanswered]
        lines.append(f"{len(verdict.known)} known vulnerabilities in {count} packages")
    return "\n".join(lines)
