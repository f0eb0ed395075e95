"""What the exe is said to be made of, and the licences that it prints."""

from __future__ import annotations

import importlib.util
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.backends.openssl import backend

from exebuild import parts
from exebuild.findings import Findings
from exebuild.sources import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exebuild.parts import Part

REPOSITORY = Path(__file__).resolve().parents[3]
PYTHONS_LICENSE = """PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2
linked with and uses Microsoft Distributable Code
This program, "bzip2", the associated library "libbzip2", and all
bzip2/libbzip2 version 1.0.8 of 13 July 2019
libffi - Copyright (c) 1996-2022  Anthony Green, Red Hat, Inc and others.
Apache License
"""
OF_PYTHON = ("_bz2.pyd", "_decimal.pyd", "_lzma.pyd", "_ssl.pyd", "python3.dll", "python313.dll")


def _of_distribution(name: str) -> Source:
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    return Source(name, Path(found.origin), True)


MODULES = [_of_distribution(name) for name in ("psutil", "tomlkit", "yaml")]


def _with_version_resource(folder: Path) -> Path:
    library = folder / "vcruntime140.dll"
    library.write_bytes(b"MZ..." + struct.pack("<I4x4H", 0xFEEF04BD, 42, 14, 3, 34226) + b"...")
    return library


def _found(runtime: Path, *more: str) -> Findings:
    extensions = {
        name.removesuffix(".pyd"): Path("/python/DLLs", name) for name in OF_PYTHON if name.endswith(".pyd")
    }
    yaml = importlib.util.find_spec("yaml._yaml")
    assert yaml is not None and yaml.origin is not None
    libraries = ("python3.dll", "python313.dll", "libcrypto-3.dll", "libffi-8.dll", *more)
    return Findings(
        [*MODULES, Source("json", Path("/python/Lib/json/__init__.py"), True)],
        {**extensions, "yaml._yaml": Path(yaml.origin)},
        {"vcruntime140.dll": runtime, **{name: Path("/python", name) for name in libraries}},
    )


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """CPython's licence as its Windows builds have it, in short."""
    place = tmp_path_factory.mktemp("python") / "LICENSE.txt"
    place.write_text(PYTHONS_LICENSE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "base_prefix", str(place.parent))
        yield place


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    return _found(_with_version_resource(tmp_path_factory.mktemp("runtime")))


@pytest.fixture(scope="module")
def made_of(python: Path, found: Findings) -> dict[str, Part]:  # noqa: ARG001 - read by the build
    return {part.name: part for part in parts.of(REPOSITORY, "1.2.3", found)}


def test_every_part_is_named_with_its_files(made_of: dict[str, Part]) -> None:
    assert {name: part.files for name, part in made_of.items()} == {
        "wmcb": (),
        "CPython": OF_PYTHON,
        "psutil": (),
        "PyYAML": ("yaml._yaml.pyd",),
        "tomlkit": (),
        "OpenSSL": ("libcrypto-3.dll",),
        "libffi": ("libffi-8.dll",),
        "Microsoft Visual C++ runtime": ("vcruntime140.dll",),
        "bzip2": ("_bz2.pyd",),
        "liblzma": ("_lzma.pyd",),
        "libmpdec": ("_decimal.pyd",),
        **dict.fromkeys(("zlib", "HACL*", "mimalloc", "SipHash", "dtoa"), ("python313.dll",)),
        **dict.fromkeys(("Mersenne Twister", "Global Unbounded Sequences", "cfuhash"), ("python313.dll",)),
        "libyaml": ("yaml._yaml.pyd",),
    }


def test_every_carried_file_belongs_to_a_part(made_of: dict[str, Part], found: Findings) -> None:
    assert {file for part in made_of.values() for file in part.files} == set(found.files())


@pytest.mark.parametrize(
    ("name", "license_of_it", "words"),
    [
        ("wmcb", "Apache-2.0", "Apache License"),
        ("CPython", "Python-2.0", "PYTHON SOFTWARE FOUNDATION LICENSE"),
        ("psutil", "BSD-3-Clause", "Giampaolo Rodola"),
        ("PyYAML", "MIT", "Kirill Simonov"),
        ("tomlkit", "MIT", "Eustace"),
        ("OpenSSL", "Apache-2.0", "that of CPython, above"),
        ("libmpdec", "BSD-2-Clause", "Stefan Krah"),
    ],
)
def test_each_has_its_licence(made_of: dict[str, Part], name: str, license_of_it: str, words: str) -> None:
    assert made_of[name].license == license_of_it
    assert words in made_of[name].text


def test_none_is_without_a_text(made_of: dict[str, Part]) -> None:
    assert all(len(part.text) > 30 for part in made_of.values())


def test_versions_are_told_by_what_is_carried(made_of: dict[str, Part]) -> None:
    assert (made_of["wmcb"].version, made_of["bzip2"].version) == ("1.2.3", "1.0.8")
    assert made_of["PyYAML"].version.startswith("6.")
    assert made_of["Microsoft Visual C++ runtime"].version == "14.42.34226.3"


def test_lists_of_vulnerabilities_know_them_by_these_names(made_of: dict[str, Part]) -> None:
    version = made_of["OpenSSL"].version
    assert made_of["OpenSSL"].cpe == f"cpe:2.3:a:openssl:openssl:{version}:*:*:*:*:*:*:*"
    assert made_of["OpenSSL"].package == f"pkg:generic/openssl@{version}"
    assert made_of["PyYAML"].package == f"pkg:pypi/pyyaml@{made_of['PyYAML'].version}"
    assert (made_of["libffi"].cpe, made_of["libffi"].package) == ("", "")


def test_the_text_lists_all_and_then_has_each(made_of: dict[str, Part]) -> None:
    text = parts.licenses(made_of.values())
    table, *sections = text.split("\n" + "=" * 78 + "\n")
    headings, texts = sections[::2], sections[1::2]
    assert len(headings) == len(texts) == len(made_of)
    for part, heading, section in zip(made_of.values(), headings, texts, strict=True):
        assert f"  {part.name} {part.version}" in table
        assert heading.startswith(f"{part.name} {part.version}".rstrip())
        assert all(f"  {file}" in heading for file in part.files)
        assert section.strip() == part.text.strip()


@pytest.mark.usefixtures("python")
def test_what_a_distribution_lists_in_its_own_bill_of_materials(found: Findings) -> None:
    with_cryptography = found._replace(modules=[*found.modules, _of_distribution("cryptography")])
    within = {
        part.package: part
        for part in parts.of(REPOSITORY, "1.2.3", with_cryptography)
        if part.within == "cryptography"
    }
    version = backend.openssl_version_text().split()[1]
    openssl = within[f"pkg:generic/openssl@{version}"]
    assert openssl.cpe == f"cpe:2.3:a:openssl:openssl:{version}:*:*:*:*:*:*:*"
    (pem,) = (part for package, part in within.items() if package.startswith("pkg:cargo/pem@"))
    assert (pem.license, pem.reference) == ("MIT", f"cryptography/pem@{pem.version}")
    assert len({part.reference for part in within.values()}) == len(within)


@pytest.mark.usefixtures("python")
def test_a_library_of_nobody_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(parts.UnknownPart, match=r"^tcl86t\.dll is carried: say in parts\.py"):
        parts.of(REPOSITORY, "1.2.3", _found(_with_version_resource(tmp_path), "tcl86t.dll"))


def test_a_licence_that_says_nothing_of_a_library_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    (tmp_path / "LICENSE.txt").write_text(PYTHONS_LICENSE.replace("libffi - Copyright", "of libffi nothing"))
    with pytest.raises(parts.UnknownPart, match=r"^the licence of CPython says nothing of libffi"):
        parts.of(REPOSITORY, "1.2.3", _found(_with_version_resource(tmp_path)))
