"""No regular expression of the product takes more time for each character the longer a text is."""

from __future__ import annotations

import ast
import gc
import importlib
import pathlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import NamedTuple

import pytest

import agent.sources
from agent import certificates
from agent.host import commandline
from agent.sources import ignition
from agent.sources.cloudconfig import cluster_api
from agent.sources.cloudconfig.model import Refused
from agent.sources.forms import Text
from agent.sources.node_configuration import reading as node_configuration
from agent.sources.report import Origin
from unit.ambiguity import ambiguity

ROOT = pathlib.Path(__file__).parents[2]
GOES_ON = "all"
HOW = {"match": "match", "fullmatch": "fullmatch", "search": "search"}

REVIEWED = {
    "agent/artifacts/receiving.py:_GNU": "a line has no line's end in it, so what follows is matched",
    "agent/audit/running.py:_FLAG": "a name is matched without a value, too; only the last quote is open",
    "agent/preflight/image.py:_INSIDE": "an element without an end goes on to the text's end",
    "agent/preflight/image.py:_PASSWORD": "an element without an end goes on to the text's end",
    "agent/preflight/image.py:_REMARK": "a remark without an end goes on to the text's end",
    "agent/sources/kubeadm/arguments_file.py:_WORD": "only the last quote of either kind is open",
    "agent/sources/services_configmap/json_path.py:_FIELD": "matched where a field begins",
    "agent/certificates.py:_BLOCK": "a certificate's content ends where the next one begins",
}
"""Why a pattern may stay that can read a text in two ways."""


class Used(NamedTuple):
    """One pattern, as it is used in one way."""

    name: str
    pattern: str | bytes
    flags: int
    how: str


def _sources() -> Iterator[tuple[str, ast.Module]]:
    """Yield the modules that use `re`."""
    for path in sorted([*ROOT.glob("agent/**/*.py"), *ROOT.glob("service/**/*.py")]):
        source = path.read_text(encoding="utf-8")
        if "\nimport re\n" in source:
            yield path.relative_to(ROOT).as_posix(), ast.parse(source)


def _patterns() -> Iterator[Used]:
    for path, tree in _sources():
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
        methods = [node.func for node in calls if isinstance(node.func, ast.Attribute)]
        module = importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        for name, found in _compiled(module):
            how = {
                HOW.get(each.attr, GOES_ON)
                for each in methods
                if isinstance(each.value, ast.Name) and each.value.id == name
            }
            for each in how or {GOES_ON}:
                yield Used(f"{path}:{name}", found.pattern, found.flags, each)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        for call in {call for each in functions for call in ast.walk(each) if isinstance(call, ast.Call)}:
            yield from _at_once(path, call)


def _compiled(module: ModuleType) -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    for name, value in vars(module).items():
        waiting = [value]
        while waiting:
            found = waiting.pop()
            if isinstance(found, re.Pattern):
                yield name, found
            elif isinstance(found, tuple | list | frozenset):
                waiting += found
            elif isinstance(found, dict):
                waiting += found.values()


def _at_once(path: str, call: ast.Call) -> Iterator[Used]:
    """Yield the pattern that is written where `re` is called; what is put into it counts as a letter."""
    to = call.func
    if not (isinstance(to, ast.Attribute) and isinstance(to.value, ast.Name) and to.value.id == "re"):
        return
    pattern = call.args[0]
    if isinstance(pattern, ast.Constant) and isinstance(pattern.value, str):
        text = pattern.value
    elif isinstance(pattern, ast.JoinedStr):
        text = "".join(str(each.value) if isinstance(each, ast.Constant) else "x" for each in pattern.values)
    else:
        return
    yield Used(f"{path}:{ast.unparse(call)[:60]}", text, 0, HOW.get(to.attr, GOES_ON))


def _forms() -> Iterator[Used]:
    """Yield the patterns of documents' fields."""
    for _, name, _ in pkgutil.walk_packages(agent.sources.__path__, "agent.sources."):
        importlib.import_module(name)
    for each in gc.get_objects():
        if isinstance(each, Text) and each.pattern:
            yield Used(f"a field: {each.expected}", each.pattern, 0, "fullmatch")


def test_each_pattern_reads_a_text_in_one_way() -> None:
    used = {*_patterns(), *_forms()}
    assert len(used) > 200
    slow = {each.name: why for each in used if (why := ambiguity(each.pattern, each.flags, each.how))}
    assert {name: why for name, why in slow.items() if name not in REVIEWED} == {}
    assert slow.keys() >= REVIEWED.keys()


SLOW = {
    "repeated within a repetition": (r"(a*)*b", "fullmatch"),
    "a comment's end within a line": (r"([ \t]*(#.*)?\r?(\n|\Z))*", "fullmatch"),
    "one repetition beside another": (r"https?://[^\s/?#]+[^\s]*", "fullmatch"),
    "a search from each place": (r"[ \t]*x", "search"),
    "a search that goes on": (r"(\\*)(\"|\Z)", "sub"),
    "a look ahead from each place": (r"a(?![\w-]*file)[\w-]*=", "search"),
}
QUICK = {
    "one repetition": (r"https?://[^\s/?#][^\s]*", "fullmatch"),
    "repetitions that begin with what none repeats": (r"(\.[a-z]([-a-z]*[a-z])?)*", "fullmatch"),
    "a search that begins where none goes on": (r"://[^/\s]+@", "search"),
    "a search from the beginning of a word": (r"(?<![\w-])([\w-]++)=", "search"),
    "a search that never fails": (r"[^/]+", "search"),
}


@pytest.mark.parametrize(("pattern", "how"), SLOW.values(), ids=SLOW)
def test_what_is_found(pattern: str, how: str) -> None:
    assert ambiguity(pattern, 0, HOW.get(how, GOES_ON))


@pytest.mark.parametrize(("pattern", "how"), QUICK.values(), ids=QUICK)
def test_what_is_not(pattern: str, how: str) -> None:
    assert ambiguity(pattern, 0, HOW.get(how, GOES_ON)) is None


LONG = 1 << 18
NODE = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"


def _node(text: str) -> str:
    return repr(node_configuration.read("node.yaml", text.encode()))


def _unit(name: str) -> str:
    unit = f'{{"ignition": {{"version": "3.4.0"}}, "systemd": {{"units": [{{"name": "{name}"}}]}}}}'
    return repr(ignition.load("worker.ign", unit.encode()).report)


def _certificates(text: str) -> str:
    with pytest.raises(ValueError, match=r"^what begins there does not end") as caught:
        certificates.load_pem_strictly(text)
    return str(caught.value)


def _control_plane(text: str) -> str:
    with pytest.raises(Refused) as caught:
        cluster_api.refuse_control_plane(text.encode(), Origin("user data"))
    return str(caught.value)


READ: dict[str, tuple[Callable[[str], str], str, str]] = {
    "comments with Windows' line ends": (_node, "# a comment\r\n" * 10_000 + NODE, "documents=(Node"),
    "URLs with a blank at their end": (
        _node,
        f"{NODE}files:\n" + f"- {{path: 'C:\\a', source: {{url: 'https://{'a' * 7_900} '}}}}\n" * 130,
        "an http or https URL is expected",
    ),
    "a unit of many instances": (_unit, "a@" * LONG, "Report"),
    "backslashes": (commandline.quote, '"' + "\\" * LONG + "a", "a"),
    "certificates that only begin": (_certificates, "-----BEGIN CERTIFICATE-----" * (LONG // 8), "cut off"),
    "a control plane behind blanks": (_control_plane, f"controlPlane:{' ' * LONG}x", "worker"),
}


@pytest.mark.parametrize(("read", "text", "said"), READ.values(), ids=READ)
def test_a_long_text_is_read(read: Callable[[str], str], text: str, said: str) -> None:
    assert said in read(text)
