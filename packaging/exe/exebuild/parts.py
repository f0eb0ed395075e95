"""What the exe is made of: each part with its files, its licence and that one's text."""

from __future__ import annotations

import functools
import importlib
import json
import os
import platform
import re
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from exebuild import resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exebuild.findings import Findings

LICENSES = Path(__file__).parents[1] / "licenses"
"""The texts that neither CPython's own nor a distribution's has."""
LICENSES_FILE = "wmcb.licenses.txt"
"""What `wmcb version --licenses` prints, beside the exe."""
OWN, PYTHON = "wmcb", "CPython"
_LICENSE_FILE = re.compile(r"(licen[cs]e|copying|notice)", re.IGNORECASE)


class UnknownPart(Exception):
    """Something is carried that nobody can say the licence of: the build stops."""


class Part(NamedTuple):
    name: str
    version: str
    """Empty where nothing that is carried tells it."""
    license: str
    """As SPDX writes it, or in words."""
    files: tuple[str, ...]
    """What lies in the folder `runtime`; empty for what is nothing but Python's modules."""
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


class _Brought(NamedTuple):
    """What another part brings along, and does not name in its own metadata."""

    name: str
    license: str
    by: str
    files: str
    """A pattern of the carried files that it is in."""
    text: str
    """A file of LICENSES; or, with a colon, what of CPython's own licence is about it."""
    version: Callable[[str, Path], str]
    """Of the licence of the part that brings it, and its first file."""
    vendor: str = ""
    """With the product, as lists of vulnerabilities call it."""


def _untold(_: str, __: Path) -> str:
    return ""


def _of_module(module: str, name: str) -> Callable[[str, Path], str]:
    def told(_: str, __: Path) -> str:
        value = getattr(importlib.import_module(module), name)
        return str(value() if callable(value) else value)

    return told


def _openssl(_: str, __: Path) -> str:
    # OpenSSL 3.0.15 3 Sep 2024
    return str(importlib.import_module("ssl").OPENSSL_VERSION).split()[1]


def _bzip2(license_text: str, _: Path) -> str:
    found = re.search(r"libbzip2 version (\S+)", license_text)
    return found[1] if found else ""


def _of_resource(_: str, file: Path) -> str:
    return resources.file_version(file.read_bytes())


_BROUGHT = (
    _Brought(
        "OpenSSL",
        "Apache-2.0",
        PYTHON,
        r"lib(crypto|ssl)-3.*\.dll",
        ":Apache License",
        _openssl,
        vendor="openssl:openssl",
    ),
    _Brought("libffi", "MIT", PYTHON, r"libffi-8\.dll", ":libffi - Copyright", _untold),
    _Brought("libffi", "MIT", "cffi", r"_cffi_backend\.pyd", "libffi.txt", _untold),
    _Brought(
        "Microsoft Visual C++ runtime",
        "Microsoft Distributable Code",
        PYTHON,
        r"vcruntime140(_1)?\.dll",
        ":Microsoft Distributable Code",
        _of_resource,
    ),
    _Brought("bzip2", "bzip2-1.0.6", PYTHON, r"_bz2\.pyd", ':"libbzip2"', _bzip2, vendor="bzip:bzip2"),
    _Brought(
        "liblzma", "in the public domain, from 5.6 on 0BSD", PYTHON, r"_lzma\.pyd", "liblzma.txt", _untold
    ),
    _Brought(
        "libmpdec",
        "BSD-2-Clause",
        PYTHON,
        r"_decimal\.pyd",
        "libmpdec.txt",
        _of_module("_decimal", "__libmpdec_version__"),
    ),
    _Brought(
        "zlib",
        "Zlib",
        PYTHON,
        r"python3\d+\.dll",
        "zlib.txt",
        _of_module("zlib", "ZLIB_RUNTIME_VERSION"),
        vendor="zlib:zlib",
    ),
    _Brought("HACL*", "MIT", PYTHON, r"python3\d+\.dll", "hacl.txt", _untold),
    _Brought("mimalloc", "MIT", PYTHON, r"python3\d+\.dll", "mimalloc.txt", _untold),
    _Brought("SipHash", "MIT", PYTHON, r"python3\d+\.dll", "siphash.txt", _untold),
    _Brought("dtoa", "dtoa", PYTHON, r"python3\d+\.dll", "dtoa.txt", _untold),
    _Brought("Mersenne Twister", "BSD-3-Clause", PYTHON, r"python3\d+\.dll", "mersenne-twister.txt", _untold),
    _Brought(
        "Global Unbounded Sequences",
        "BSD-2-Clause",
        PYTHON,
        r"python3\d+\.dll",
        "global-unbounded-sequences.txt",
        _untold,
    ),
    _Brought("cfuhash", "BSD-3-Clause", PYTHON, r"python3\d+\.dll", "cfuhash.txt", _untold),
    _Brought(
        "libyaml",
        "MIT",
        "PyYAML",
        r"yaml\._yaml\.pyd",
        "libyaml.txt",
        _of_module("yaml._yaml", "get_version_string"),
        vendor="pyyaml:libyaml",
    ),
)
_PYTHONS_OWN = re.compile(r"(python3\d*\.dll|[A-Za-z0-9_]+\.pyd)")
_NOT_PYTHONS = ("OpenSSL", "libffi", "Microsoft Visual C++ runtime")
"""Those that have files of their own."""


def of(repository: Path, release: str, found: Findings) -> list[Part]:
    """Ours, CPython, the distributions, and what the last two bring along."""
    own = Part(OWN, release, "Apache-2.0", (), _read(repository / "LICENSE"))
    files = found.files()
    by_distribution = _by_distribution([source.path for source in found.modules], files)
    whole = [_python(by_distribution.pop("", [])), *_distributions(by_distribution)]
    texts = {part.name: part.text for part in whole}
    brought = [part for each in _BROUGHT for part in _brought(each, files, texts)]
    listed = [component for part in whole if part.name != PYTHON for component in _listed_in_sboms(part)]
    return [own, *whole, *brought, *listed]


def licenses(parts: Iterable[Part]) -> str:
    """One text: what there is, then each licence."""
    parts = list(parts)
    width = max(len(f"{part.name} {part.version}") for part in parts)
    table = "".join(f"  {f'{part.name} {part.version}':{width}}  {part.license}\n" for part in parts)
    sections = "".join(f"\n{_heading(part)}\n{part.text.strip()}\n" for part in parts)
    return f"What this wmcb.exe carries. The licence of each follows, in this order.\n\n{table}{sections}"


def _heading(part: Part) -> str:
    line = "=" * 78
    title = f"{part.name} {part.version}".rstrip() + (f", within {part.within}" if part.within else "")
    return f"{line}\n{title}: {part.license}\n" + "".join(f"  {file}\n" for file in part.files) + line + "\n"


def _by_distribution(modules: Iterable[Path], files: dict[str, Path]) -> dict[str, list[str]]:
    """The carried files of each, by its name in lower case; those of CPython under an empty one."""
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
    """The distribution of each installed file."""
    return {
        os.path.normcase(str(distribution.locate_file(file))): distribution.name
        for distribution in metadata.distributions()
        for file in distribution.files or ()
    }


def _python(files: list[str]) -> Part:
    text = _read(_python_license())
    own = [name for name in files if _PYTHONS_OWN.fullmatch(name)]
    others = [each.files for each in _BROUGHT if each.name in _NOT_PYTHONS]
    for name in files:
        if name not in own and not any(re.fullmatch(pattern, name) for pattern in others):
            raise UnknownPart(f"{name} is carried: say in {Path(__file__).name} what it is a part of")
    version = platform.python_version()
    package, cpe = f"pkg:generic/python@{version}", _cpe("python:python", version)
    return Part(PYTHON, version, "Python-2.0", tuple(own), text, package=package, cpe=cpe)


def _python_license() -> Path:
    return Path(sys.base_prefix, "LICENSE.txt")


def _distributions(by_name: dict[str, list[str]]) -> Iterator[Part]:
    for name in sorted(by_name, key=str.lower):
        distribution = metadata.distribution(name)
        texts = [
            _read(Path(str(file.locate())))
            for file in sorted(distribution.files or ())
            if ".dist-info" in file.parts[0] and _LICENSE_FILE.match(file.name)
        ]
        if not texts:
            raise UnknownPart(f"{name} has no licence file: put its text into {LICENSES.name}")
        about = distribution.metadata
        named = next((about[key] for key in ("License-Expression", "License") if key in about), "as it says")
        yield Part(
            distribution.name,
            distribution.version,
            named.splitlines()[0],
            tuple(by_name[name]),
            "\n".join(texts),
            package=f"pkg:pypi/{distribution.name.lower()}@{distribution.version}",
        )


def _listed_in_sboms(by: Part) -> Iterator[Part]:
    """What a distribution brings along by its own bills of materials: `sboms` of its metadata (PEP 770)."""
    for file in sorted(metadata.distribution(by.name).files or ()):
        if file.parts[1:2] != ("sboms",):
            continue
        for component in json.loads(_read(Path(str(file.locate()))))["components"]:
            name, version = component["name"], component["version"]
            package = component["purl"].partition("?")[0]
            is_openssl = package.startswith("pkg:generic/openssl@")
            license_name = "Apache-2.0" if is_openssl else component["licenses"][0]["expression"]
            text = f"{by.name} has it in itself, and names its licence in its bill of materials."
            cpe = _cpe("openssl:openssl", version) if is_openssl else ""
            yield Part(name, version, license_name, by.files, text, by.name, package, cpe)


def _brought(each: _Brought, files: dict[str, Path], texts: dict[str, str]) -> Iterator[Part]:
    carried = tuple(name for name in sorted(files) if re.fullmatch(each.files, name))
    if not carried:
        return
    by = texts[each.by]
    phrase = each.text.removeprefix(":")
    if phrase == each.text:
        text = _read(LICENSES / each.text)
    elif phrase in by:
        text = f"Its licence is in that of {each.by}, above."
    else:
        raise UnknownPart(f"the licence of {each.by} says nothing of {each.name}: add its own")
    version = each.version(by, files[carried[0]])
    cpe = _cpe(each.vendor, version) if each.vendor and version else ""
    package = f"pkg:generic/{each.vendor.partition(':')[2]}@{version}" if cpe else ""
    yield Part(each.name, version, each.license, carried, text, each.by, package, cpe)


def _cpe(vendor_and_product: str, version: str) -> str:
    return f"cpe:2.3:a:{vendor_and_product}:{version}:*:*:*:*:*:*:*"


def _read(path: Path) -> str:
    return path.read_text("utf-8")
