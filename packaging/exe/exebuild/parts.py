"""What the exe is made of: each part with its files, its licence and that one's text."""

from __future__ import annotations

import functools
import importlib
import json
import operator
import os
import platform
import re
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from exebuild import resources

FOLDER = Path(__file__).parents[1]
LICENSES = FOLDER / "licenses"
"""The texts that neither CPython's own nor a distribution's has."""
BROUGHT = tomllib.loads((FOLDER / "parts.toml").read_text("utf-8"))["part"]
"""What another part brings along, and does not name in its own metadata."""
LICENSES_FILE = "wmcb.licenses.txt"
"""What `wmcb version --licenses` prints, in the program's folder and beside the exe."""
BILL_FILE = "wmcb.cdx.json"
"""The bill of materials, beside the exe."""
OWN, PYTHON = "wmcb", "CPython"
_LICENSE_FILE = re.compile(r"(licen[cs]e|copying|notice)", re.IGNORECASE)
_PYTHONS_OWN = r"(python3\d*\.dll|[A-Za-z0-9_]+\.pyd|base_library\.zip)"
_NOT_PYTHONS = ("OpenSSL", "libffi", "Microsoft Visual C++ runtime")
"""Those that have files of their own."""


class UnknownPart(Exception):
    """Something is carried whose licence is not known: the build stops."""


class Part(NamedTuple):
    name: str
    version: str
    """Empty where nothing that is carried tells it."""
    license: str
    """As SPDX writes it, or in words."""
    files: tuple[str, ...]
    """Paths in the program's folder, with slashes; empty for what is nothing but Python's modules."""
    text: str
    within: str = ""
    """The part that it is compiled into, or that brings its files along."""
    package: str = ""
    """As package URLs call it (pkg:...), where there is such a name."""
    cpe: str = ""
    """As lists of vulnerabilities call it, where they do and its version is known."""

    @property
    def reference(self) -> str:
        """What the bill of materials calls it: two parts may bring along one of the same name."""
        return f"{self.within}/{self.name}@{self.version}" if self.within else self.name


def of(repository: Path, release: str, modules: Iterable[Path], files: Mapping[str, Path]) -> list[Part]:
    """Return ours, CPython, the distributions, and what these bring along.

    `modules` are the sources of frozen modules, `files` where each file of the program's folder came from.
    """
    own = Part(OWN, release, "Apache-2.0", (), (repository / "LICENSE").read_text("utf-8"))
    by_distribution = _by_distribution(modules, files)
    whole = [_python(by_distribution.pop("", [])), *_distributions(by_distribution)]
    texts = {part.name: part.text for part in whole}
    brought = [part for each in BROUGHT for part in _brought(each, files, texts)]
    listed = [component for part in whole if part.name != PYTHON for component in _listed_in_sboms(part)]
    return [own, *whole, *brought, *listed]


def licenses(parts: Iterable[Part]) -> str:
    """Return one text: a table of the parts, then each licence."""
    parts = list(parts)
    width = max(len(f"{part.name} {part.version}") for part in parts)
    table = "".join(f"  {f'{part.name} {part.version}':{width}}  {part.license}\n" for part in parts)
    sections = "".join(f"\n{_heading(part)}\n{part.text.strip()}\n" for part in parts)
    return f"What this wmcb.exe carries. The licence of each follows, in this order.\n\n{table}{sections}"


def _heading(part: Part) -> str:
    line = "=" * 78
    title = f"{part.name} {part.version}".rstrip() + (f", within {part.within}" if part.within else "")
    return f"{line}\n{title}: {part.license}\n" + "".join(f"  {file}\n" for file in part.files) + line + "\n"


def _by_distribution(modules: Iterable[Path], files: Mapping[str, Path]) -> dict[str, list[str]]:
    """Return the carried files of each, by its name; those of CPython under an empty one."""
    places = {os.path.normcase(sysconfig.get_path(kind)) for kind in ("purelib", "platlib")}

    def owner(path: Path) -> str:
        place = os.path.normcase(path)
        if not any(place.startswith(folder + os.sep) for folder in places):
            return ""
        if place not in _owners():
            raise UnknownPart(f"no installed distribution says that it owns {path}")
        return _owners()[place]

    found: dict[str, list[str]] = {}
    for path in modules:
        found.setdefault(owner(path), [])
    for name, path in sorted(files.items()):
        found.setdefault(owner(path), []).append(name)
    return found


@functools.cache
def _owners() -> dict[str, str]:
    """Return the distribution of each installed file."""
    return {
        os.path.normcase(str(distribution.locate_file(file))): distribution.name
        for distribution in metadata.distributions()
        for file in distribution.files or ()
    }


def _python(files: list[str]) -> Part:
    text = Path(sys.base_prefix, "LICENSE.txt").read_text("utf-8")
    own = [name for name in files if _is_named(_PYTHONS_OWN, name)]
    others = [each["files"] for each in BROUGHT if each["name"] in _NOT_PYTHONS]
    for name in files:
        if name not in own and not any(_is_named(pattern, name) for pattern in others):
            raise UnknownPart(f"{name} is carried: say in parts.toml what it is a part of")
    version = platform.python_version()
    package, cpe = f"pkg:generic/python@{version}", _cpe("python:python", version)
    return Part(PYTHON, version, "Python-2.0", tuple(own), text, package=package, cpe=cpe)


def _distributions(by_name: dict[str, list[str]]) -> Iterator[Part]:
    for name in sorted(by_name, key=str.lower):
        distribution = metadata.distribution(name)
        texts = [
            Path(str(file.locate())).read_text("utf-8")
            for file in sorted(distribution.files or ())
            if ".dist-info" in file.parts[0] and _LICENSE_FILE.match(file.name)
        ]
        ours = LICENSES / f"{name.lower()}.txt"
        if not texts and not ours.exists():
            raise UnknownPart(f"{name} has no licence file: put its text into {LICENSES.name}/{ours.name}")
        text = "\n".join(texts) or ours.read_text("utf-8")
        about, version = distribution.metadata, distribution.version
        named = next((about[key] for key in ("License-Expression", "License") if key in about), "as it says")
        package = f"pkg:pypi/{name.lower()}@{version}"
        yield Part(name, version, named.splitlines()[0], tuple(by_name[name]), text, package=package)


def _listed_in_sboms(by: Part) -> Iterator[Part]:
    """Yield what a distribution brings along by the bills of materials in its metadata (PEP 770)."""
    for file in sorted(metadata.distribution(by.name).files or ()):
        if file.parts[1:2] != ("sboms",):
            continue
        for component in json.loads(Path(str(file.locate())).read_text("utf-8"))["components"]:
            name, version = component["name"], component["version"]
            package = component["purl"].partition("?")[0]
            is_openssl = package.startswith("pkg:generic/openssl@")
            license_name = "Apache-2.0" if is_openssl else component["licenses"][0]["expression"]
            text = f"{by.name} has it in itself, and names its licence in its bill of materials."
            cpe = _cpe("openssl:openssl", version) if is_openssl else ""
            yield Part(name, version, license_name, by.files, text, by.name, package, cpe)


def _brought(each: dict[str, Any], files: Mapping[str, Path], texts: Mapping[str, str]) -> Iterator[Part]:
    carried = tuple(name for name in sorted(files) if _is_named(each["files"], name))
    if not carried:
        return
    by = texts[each["by"]]
    if "text" in each:
        text = (LICENSES / each["text"]).read_text("utf-8")
    elif each["phrase"] in by:
        text = f"Its licence is in that of {each['by']}, above."
    else:
        raise UnknownPart(f"the licence of {each['by']} says nothing of {each['name']}: add its own")
    version = _version(each.get("version", {}), by, files[carried[0]])
    cpe = _cpe(each["cpe"], version) if "cpe" in each and version else ""
    package = f"pkg:generic/{each['cpe'].partition(':')[2]}@{version}" if cpe else ""
    yield Part(each["name"], version, each["license"], carried, text, each["by"], package, cpe)


def _version(place: Mapping[str, Any], license_text: str, file: Path) -> str:
    if "module" in place:
        value = operator.attrgetter(place["name"])(importlib.import_module(place["module"]))
        text = str(value() if callable(value) else value)
        return re.sub(r"OpenSSL (\S+) .*", r"\1", text)
    if "license" in place:
        found = re.search(place["license"], license_text)
        return found[1] if found else ""
    return resources.file_version(file.read_bytes()) if place else ""


def _is_named(pattern: str, name: str) -> bool:
    return re.fullmatch(f"[^/]*/{pattern}", name, re.IGNORECASE) is not None


def _cpe(vendor_and_product: str, version: str) -> str:
    return f"cpe:2.3:a:{vendor_and_product}:{version}:*:*:*:*:*:*:*"
