"""What the exe is said to be made of, and the licences that it prints."""

from __future__ import annotations

import importlib.util
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.backends.openssl import backend

from exebuild import parts
from exebuild.parts import Part

REPOSITORY = Path(__file__).resolve().parents[3]
PYTHONS_LICENSE = """PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2
linked with and uses Microsoft Distributable Code
This program, "bzip2", the associated library "libbzip2", and all
bzip2/libbzip2 version 1.0.8 of 13 July 2019
libffi - Copyright (c) 1996-2022  Anthony Green, Red Hat, Inc and others.
Apache License
"""
OF_PYTHON = (
    "i/_bz2.pyd", "i/_decimal.pyd", "i/_lzma.pyd", "i/_ssl.pyd", "i/base_library.zip", "i/python3.dll",
    "i/python313.dll",
)  # fmt: skip


def _of_distribution(name: str) -> Path:
    found = importlib.util.find_spec(name)
    assert found is not None and found.origin is not None
    return Path(found.origin)


MODULES = [_of_distribution(name) for name in ("psutil", "tomlkit", "yaml")]


def _with_version_resource(folder: Path) -> Path:
    library = folder / "vcruntime140.dll"
    library.write_bytes(b"MZ..." + struct.pack("<I4x4H", 0xFEEF04BD, 42, 14, 3, 34226) + b"...")
    return library


def _files(runtime: Path, *more: str) -> dict[str, Path]:
    """As build.spec finds them: where each file of the program's folder came from."""
    libraries = ("i/libcrypto-3.dll", "i/libffi-8.dll", *more)
    return {
        **{name: Path("/python", name) for name in (*OF_PYTHON, *libraries)},
        "i/yaml/_yaml.cp313-win_amd64.pyd": _of_distribution("yaml._yaml"),
        "i/VCRUNTIME140.dll": runtime,
    }


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """CPython's licence as its Windows builds have it, in short."""
    place = tmp_path_factory.mktemp("python") / "LICENSE.txt"
    place.write_text(PYTHONS_LICENSE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "base_prefix", str(place.parent))
        yield place


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return _files(_with_version_resource(tmp_path_factory.mktemp("runtime")))


@pytest.fixture(scope="module")
def made_of(python: Path, files: dict[str, Path]) -> dict[str, Part]:  # noqa: ARG001 - read by the build
    return {part.name: part for part in parts.of(REPOSITORY, "1.2.3", MODULES, files)}


def test_every_part_is_named_with_its_files(made_of: dict[str, Part]) -> None:
    assert {name: part.files for name, part in made_of.items()} == {
        "wmcb": (),
        "CPython": OF_PYTHON,
        "psutil": (),
        "PyYAML": ("i/yaml/_yaml.cp313-win_amd64.pyd",),
        "tomlkit": (),
        "OpenSSL": ("i/libcrypto-3.dll",),
        "libffi": ("i/libffi-8.dll",),
        "Microsoft Visual C++ runtime": ("i/VCRUNTIME140.dll",),
        "bzip2": ("i/_bz2.pyd",),
        "liblzma": ("i/_lzma.pyd",),
        "libmpdec": ("i/_decimal.pyd",),
        **dict.fromkeys(("zlib", "HACL*", "mimalloc", "SipHash", "dtoa"), ("i/python313.dll",)),
        **dict.fromkeys(("Mersenne Twister", "Global Unbounded Sequences", "cfuhash"), ("i/python313.dll",)),
        "libyaml": ("i/yaml/_yaml.cp313-win_amd64.pyd",),
    }


def test_every_carried_file_belongs_to_a_part(made_of: dict[str, Part], files: dict[str, Path]) -> None:
    assert {file for part in made_of.values() for file in part.files} == set(files)


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
def test_what_a_distribution_lists_in_its_own_bill_of_materials(files: dict[str, Path]) -> None:
    made_of = parts.of(REPOSITORY, "1.2.3", [*MODULES, _of_distribution("cryptography")], files)
    within = {part.package: part for part in made_of if part.within == "cryptography"}
    version = backend.openssl_version_text().split()[1]
    openssl = within[f"pkg:generic/openssl@{version}"]
    assert openssl.cpe == f"cpe:2.3:a:openssl:openssl:{version}:*:*:*:*:*:*:*"
    (pem,) = (part for package, part in within.items() if package.startswith("pkg:cargo/pem@"))
    assert (pem.license, pem.reference) == ("MIT", f"cryptography/pem@{pem.version}")
    assert len({part.reference for part in within.values()}) == len(within)


@pytest.mark.usefixtures("python")
def test_a_library_of_nobody_stops_the_build(tmp_path: Path) -> None:
    with pytest.raises(parts.UnknownPart, match=r"^i/tcl86t\.dll is carried: say in parts\.toml"):
        parts.of(REPOSITORY, "1.2.3", MODULES, _files(_with_version_resource(tmp_path), "i/tcl86t.dll"))


def test_a_licence_that_says_nothing_of_a_library_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "base_prefix", str(tmp_path))
    (tmp_path / "LICENSE.txt").write_text(PYTHONS_LICENSE.replace("libffi - Copyright", "of libffi nothing"))
    with pytest.raises(parts.UnknownPart, match=r"^the licence of CPython says nothing of libffi"):
        parts.of(REPOSITORY, "1.2.3", MODULES, _files(_with_version_resource(tmp_path)))
