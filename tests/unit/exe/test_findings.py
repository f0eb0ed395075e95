"""What is taken from PyInstaller's analysis, and when it is asked again."""

from __future__ import annotations

from pathlib import Path, PurePath
from typing import NamedTuple

import pytest

from exebuild import findings
from exebuild.sources import Source


class Analysis(NamedTuple):
    pure: list[tuple[str, str, str]]
    binaries: list[tuple[str, str, str]]
    datas: list[tuple[str, str, str]]


FOUND = Analysis(
    pure=[
        ("json", "/lib/json/__init__.py", "PYMODULE"),
        ("json.decoder", "/lib/json/decoder.py", "PYMODULE"),
        ("psutil", "/site/psutil/__init__.py", "PYMODULE"),
        ("a_namespace", "-", "PYMODULE"),
        ("os", "/lib/os.py", "PYMODULE"),
        ("encodings.utf_8", "/lib/encodings/utf_8.py", "PYMODULE"),
        ("encodings.cp1252", "/lib/encodings/cp1252.py", "PYMODULE"),
        ("pyimod02_importers", "/pyi/pyimod02_importers.py", "PYMODULE"),
    ],
    binaries=[
        ("python313.dll", "/python/python313.dll", "BINARY"),
        ("VCRUNTIME140.dll", "/python/vcruntime140.dll", "BINARY"),
        ("api-ms-win-crt-runtime-l1-1-0.dll", "/windows/api-ms-win-crt-runtime-l1-1-0.dll", "BINARY"),
        ("_ssl.pyd", "/python/DLLs/_ssl.pyd", "EXTENSION"),
        (r"psutil\_psutil_windows.cp313-win_amd64.pyd", "/site/psutil/_psutil_windows.pyd", "EXTENSION"),
    ],
    datas=[],
)


def test_modules_are_taken_but_for_what_python_and_pyinstaller_bring() -> None:
    names = [source.name for source in findings.of_analysis(FOUND).modules]
    assert names == ["encodings.utf_8", "json", "json.decoder", "psutil"]


def test_a_package_is_known_for_one() -> None:
    found = {source.name: source.is_package for source in findings.of_analysis(FOUND).modules}
    assert (found["json"], found["json.decoder"]) == (True, False)


def test_extensions_lie_in_one_folder_under_the_name_they_are_imported_by() -> None:
    assert findings.of_analysis(FOUND).files_of_extensions() == {
        "_ssl": "_ssl.pyd",
        "psutil._psutil_windows": "psutil._psutil_windows.pyd",
    }


def test_libraries_are_taken_but_for_those_of_windows() -> None:
    files = findings.of_analysis(FOUND).files()
    libraries = {name for name in files if name.endswith(".dll")}
    assert libraries == {"python313.dll", "vcruntime140.dll"}


def test_pyinstaller_is_asked_again_only_when_the_imports_change(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    work = tmp_path_factory.mktemp("work")
    asked: list[str] = []

    def analyse(program: Path) -> Analysis:
        asked.append(program.read_text())
        return FOUND

    first = findings.collect("import json\n", work, analyse)
    again = findings.collect("import json\n", work, analyse)
    assert again == first
    assert findings.collect("import json\nimport ssl\n", work, analyse) == first
    assert asked == ["import json\n", "import json\nimport ssl\n"]


def test_what_is_kept_is_what_was_found(tmp_path_factory: pytest.TempPathFactory) -> None:
    work = tmp_path_factory.mktemp("work")
    findings.collect("import json\n", work, lambda _: FOUND)
    kept = findings.collect("import json\n", work, lambda _: pytest.fail("asked again"))
    assert Source("json", Path("/lib/json/__init__.py"), True) in kept.modules
    assert PurePath("/python/DLLs/_ssl.pyd") == kept.extensions["_ssl"]
