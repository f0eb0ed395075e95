"""Which modules are found, and what they are said to import."""

from __future__ import annotations

import marshal
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exebuild import freezing, sources
from exebuild.sources import Source

if TYPE_CHECKING:
    from types import CodeType

REPOSITORY = Path(__file__).resolve().parents[3]


def test_all_of_the_product_is_found() -> None:
    found = {source.name: source.is_package for source in sources.own(REPOSITORY)}
    assert found["agent"] is True
    assert found["agent.cli.main"] is False
    assert found["service.program"] is False
    assert found["wmcb_start"] is False
    assert not any(name.startswith(("tests", "lab")) for name in found)


@pytest.mark.parametrize(
    ("text", "imports"),
    [
        ("import ssl", ["import ssl"]),
        ("import os.path as p", ["import os.path"]),
        ("from json import decoder, loads", ["from json import decoder", "from json import loads"]),
        ("def f():\n    import zlib", ["import zlib"]),
        ("import agent.cli\nfrom agent.cli import main\nfrom . import x\nimport wmcb_built", []),
        ("if TYPE_CHECKING:\n    import email\nelse:\n    import bz2", ["import bz2"]),
    ],
    ids=["a module", "renamed", "from a package", "in a function", "our own", "for the type checker alone"],
)
def test_what_a_module_imports(
    text: str, imports: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("agent") / "x.py"
    file.write_text(text)
    assert sources.imported([Source("agent.x", file, False)]).split() == " ".join(imports).split()


FREEZE_BY_ITSELF = """
import sys, hashlib
sys.path.insert(0, sys.argv[1])
{before}
from exebuild import freezing, sources
from pathlib import Path
names = ["argparse", "ast", "difflib", "enum", "inspect"]
wanted = [sources.Source(name, Path(sys.argv[2], name + ".py"), False) for name in names]
table = freezing.freeze(wanted, optimize=0)
print(hashlib.sha256(repr(sorted(table.items())).encode()).hexdigest())
"""


def test_the_same_sources_give_the_same_code_whoever_asks() -> None:
    sums = set()
    for before, seed in (("", "1"), ("import asyncio, ssl, unittest, http.client", "2")):
        done = subprocess.run(
            [
                *(sys.executable, "-c", FREEZE_BY_ITSELF.format(before=before)),
                *(str(REPOSITORY / "packaging" / "exe"), sysconfig.get_path("stdlib")),
            ],
            env={"PYTHONHASHSEED": seed, "SYSTEMROOT": r"C:\windows"},
            capture_output=True,
            text=True,
            check=True,
        )
        sums.add(done.stdout)
    assert len(sums) == 1


def test_code_names_no_file_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("secret") / "__init__.py"
    file.write_text(textwrap.dedent('def f() -> str:\n    "Says."\n    return __file__\n'))
    code = freezing.freeze([Source("agent.x", file, True)], optimize=0)["agent.x"]
    assert b"secret" not in code
    loaded: CodeType = marshal.loads(code)  # noqa: S302 - our own
    assert loaded.co_filename == "agent/x/__init__.py"


@pytest.mark.parametrize(("optimize", "kept"), [(0, True), (2, False)])
def test_docstrings_are_left_out_of_what_is_not_ours(
    optimize: int, kept: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("code") / "x.py"
    file.write_text('"""A text that is only for readers."""\n')
    code = freezing.freeze([Source("x", file, False)], optimize=optimize)["x"]
    assert (b"only for readers" in code) is kept
