"""Our reading of user data against that of the real cloudbase-init, and where they differ on purpose."""

from __future__ import annotations

import base64
import gzip
import json
import random
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from typing import Any

import pytest

from agent.sources import cloudconfig
from agent.sources.cloudconfig import UserData
from agent.sources.cloudconfig.model import Findings
from agent.sources.cloudconfig.parts import parts
from agent.sources.cloudconfig.template import TemplateFault, instance_data, rendered
from agent.spec import Protection, Shell
from differential.cloudbase_init import Failed, ask, encoded
from lab.repository import ROOT

_LETTERS = "aZ09 \"'`\\/%&|<>^()!@#$:;,.{}[]~*?=+-_\té☃"


def _made(raw: bytes) -> UserData | None:
    return cloudconfig.load("user data", raw).user_data


def _config(**keys: object) -> bytes:
    return b"#cloud-config\n" + json.dumps(keys).encode()


# write_files

_ENCODINGS = (
    "",
    "gz",
    "gzip",
    "b64",
    "base64",
    "gz+b64",
    "gz+base64",
    "gzip+b64",
    " GZip+Base64 ",
    "text/plain",
    "x",
)


def _packed(chance: random.Random, encoding: str) -> bytes:
    data = chance.randbytes(chance.randint(0, 60))
    steps = encoding.lower().strip().split("+")
    if any(step in ("gz", "gzip") for step in steps):
        data = gzip.compress(data)
    if any(step in ("b64", "base64") for step in steps):
        data = chance.choice((base64.b64encode, base64.encodebytes))(data)
    return data


def _content(data: bytes, encoding: str) -> bytes | None:
    said = f"- path: /a\n  encoding: '{encoding}'\n  content: !!binary '{encoded(data)}'\n"
    made = _made(f"#cloud-config\nwrite_files:\n{said}".encode())
    [step] = made.before if made else [None]
    return b"".join(step.content.blocks()) if isinstance(step, cloudconfig.WrittenFile) else None


def test_contents() -> None:
    chance = random.Random(1)  # noqa: S311 - not for secrets
    cases = [(_packed(chance, name), name) for name in _ENCODINGS for _ in range(20)]
    questions = [{"content": encoded(data), "encoding": name} for data, name in cases]
    for (data, name), answer in zip(cases, ask("content", questions), strict=True):
        assert _content(data, name) == base64.b64decode(answer), (name, data)


DAMAGED: dict[str, tuple[bytes, str]] = {
    "base64 with a letter too few": (b"YWJjZ", "b64"),
    "base64 with what is none": (b"YW*Jj", "b64"),
    "gzip that is none": (b"hello", "gz"),
    "gzip cut short": (gzip.compress(b"hello")[:-4], "gz"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_we_refuse_what_it_would_write_damaged(name: str) -> None:
    data, encoding = DAMAGED[name]
    [answer] = ask("content", [{"content": encoded(data), "encoding": encoding}])
    # As it came, or without what is no base64.
    assert isinstance(answer, Failed) or base64.b64decode(answer) in (data, b"abc")
    assert _content(data, encoding) is None


MISTYPED = ("rw", "9")
"""Permissions that cloudbase-init takes for 0644: a slip should open nothing."""


def test_permissions() -> None:
    cases: list[Any] = [None, "", "0644", "644", "0600", "0o755", "0711", 420, 384, 0, 6.0, "rw", "9", "0604"]
    for case, answer in zip(cases, ask("permissions", cases), strict=True):
        made = _made(_config(write_files=[{"path": "/a", "permissions": case}]))
        assert made
        [step] = made.before
        assert isinstance(step, cloudconfig.WrittenFile)
        if str(case) in MISTYPED:
            assert step.protection is Protection.PRIVATE
        else:
            assert (step.protection is Protection.PROGRAM) == bool(answer & 0o004), case


# runcmd


def _word(chance: random.Random) -> object:
    text = "".join(chance.choices(_LETTERS, k=chance.randint(1, 20)))
    return chance.choice((text, text, text, chance.randint(-5, 999), chance.random(), True, None))


def _batch(made: UserData | None) -> bytes | None:
    if made is None:
        return None
    scripts = [step.script for step in made.before if isinstance(step, cloudconfig.Command)]
    # It writes UTF-8 too, and leaves it to the machine's code page what is read.
    return scripts[0].removeprefix(b"@chcp 65001 > nul\r\n") if scripts else b""


def test_runcmd() -> None:
    chance = random.Random(1)  # noqa: S311 - not for secrets
    commands: list[Any] = [
        [
            chance.choice((str(_word(chance)), [_word(chance) for _ in range(chance.randint(1, 4))]))
            for _ in range(chance.randint(1, 5))
        ]
        for _ in range(200)
    ]
    _compare_batches([_config(runcmd=listed) for listed in commands])


PLAIN = (
    "- echo yes\n", "- [echo, yes, no, on, off, y, n, ~, null]\n",
    "- [echo, 0x10, 010, 0o10, 1_000, 1:30]\n",
    "- [1.10, 1e3, .5, .inf, -.inf, .nan, +5]\n", "- [2026-01-01]\n", "- |\n  a\n  b\n- >\n  c\n  d\n",
    "- 'it''s'\n- \"a\\tb\\u2603\"\n", "- &a echo\n- *a\n",
    "- [!!str 5, !!int '5', !!float 5]\n", "- \"\"\n- x\n",
)  # fmt: skip


def test_runcmd_in_plain_yaml() -> None:
    _compare_batches([f"#cloud-config\nruncmd:\n{said}".encode() for said in PLAIN])


def _damaged(chance: random.Random, text: str) -> str:
    for _ in range(chance.randint(1, 3)):
        at = chance.randint(0, len(text))
        text = (
            text[:at] + chance.choice(" \n\t:-#'\"[]{},&*!|>%@`?\\0y~.é") + text[at + chance.randint(0, 2) :]
        )
    return text


def test_runcmd_in_damaged_yaml() -> None:
    """Where both have an answer it is the same, and what it refuses we refuse."""
    chance = random.Random(1)  # noqa: S311 - not for secrets
    said = [_damaged(chance, chance.choice(PLAIN)) for _ in range(2000)]
    documents = [f"#cloud-config\nruncmd:\n{text}".encode() for text in said]
    alike = refused = 0
    for raw, answer in zip(documents, ask("batch", list(map(encoded, documents))), strict=True):
        ours = _batch(_made(raw))
        if isinstance(answer, Failed):
            # It stumbles over a null among its commands, too.
            assert ours is None or "NoneType" in str(answer), (raw, answer)
            refused += 1
        elif ours is not None:
            expected = answer.removeprefix("rem cmd\n").replace("\n", "\r\n").encode()
            # Where there is nothing to run, nothing is run.
            assert ours == (expected if expected.strip() else b""), raw
            alike += 1
    assert alike > 500
    assert refused > 100


def _compare_batches(documents: list[bytes]) -> None:
    for raw, answer in zip(documents, ask("batch", list(map(encoded, documents))), strict=True):
        expected = answer.removeprefix("rem cmd\n").replace("\n", "\r\n").encode()
        assert _batch(_made(raw)) == expected, raw


DIFFERENT: dict[str, tuple[str, str | None, bytes | None]] = {
    # What is said, what it makes of it (None for a failure, at which it runs none of them), what we do.
    "a number as a command is an error here": ("- a\n- 5\n", None, None),
    "a mapping as a command is an error here": ("- a: b\n", None, None),
    "an empty entry is skipped here": ("- a\n-\n", None, b"a\r\n"),
    "a time stays as it was written": (
        "- [2026-01-01T10:00:00Z]\n", "2026-01-01 10:00:00+00:00\n", b"2026-01-01T10:00:00Z\r\n"
    ),
    "a list in a list is an error here": ("- [a, [b]]\n", "a ['b']\n", None),
}  # fmt: skip


@pytest.mark.parametrize("name", DIFFERENT)
def test_runcmd_where_we_differ(name: str) -> None:
    said, theirs, ours = DIFFERENT[name]
    raw = f"#cloud-config\nruncmd:\n{said}".encode()
    [answer] = ask("batch", [encoded(raw)])
    assert isinstance(answer, Failed) if theirs is None else answer == f"rem cmd\n{theirs}"
    assert _batch(_made(raw)) == ours


# Parts


def _message(chance: random.Random, depth: int = 0) -> MIMEMultipart:
    made = MIMEMultipart()
    for number in range(chance.randint(1, 3)):
        if depth < 2 and chance.random() < 0.3:
            made.attach(_message(chance, depth + 1))
            continue
        text = "x" + "".join(chance.choices(_LETTERS + "\n", k=chance.randint(0, 60)))
        part = MIMEText(text, chance.choice(("cloud-config", "cloud-boothook", "x-other")), "utf-8")
        if chance.random() < 0.5:
            part.add_header("Content-Disposition", "attachment", filename=f"part {number}.ps1")
        made.attach(part)
    return made


def test_parts() -> None:
    chance = random.Random(1)  # noqa: S311 - not for secrets
    messages = [_message(chance).as_bytes() for _ in range(100)]
    for raw, answer in zip(messages, ask("parts", list(map(encoded, messages))), strict=True):
        theirs = [
            (kind, name or "", "" if kind == "text/x-other" else base64.b64decode(data).decode())
            for kind, name, data in answer
        ]
        assert [
            (part.content_type, part.file_name, part.text) for part in parts("user data", raw, Findings())
        ] == theirs


# Scripts

_CLASSES = {"Shell": Shell.CMD, "PowershellSysnative": Shell.POWERSHELL, "Powershell": Shell.POWERSHELL}
STARTS = (
    "rem cmd\necho", "rem  cmd\techo", "rem command\n", "#ps1\na", "#ps1_sysnative\r\na", "#ps1_x86\na",
    "#ps1_x\n",
    "#!/bin/bash\n", "#! /usr/bin/env python \n", "#!/usr/bin/env python\nprint()", "echo",
)  # fmt: skip
NAMES = (None, "a.ps1", "a.PS1", "a.cmd", "a.sh", "a.py", "a.exe", "a", "a.txt", "a.b.ps1")


def _shell(text: str, name: str | None) -> Shell | None:
    made = _made(text.encode()) if name is None else _made(_as_part(text, name))
    [step] = made.before if made and made.before else [None]
    return step.shell if isinstance(step, cloudconfig.Command) else None


def _as_part(text: str, name: str) -> bytes:
    message = MIMEMultipart()
    part = MIMEText(text, "x-shellscript", "utf-8")
    part.add_header("Content-Disposition", "attachment", filename=name)
    message.attach(part)
    return message.as_bytes()


def test_scripts() -> None:
    cases = [(text, name) for text in STARTS for name in NAMES]
    questions = [{"data": encoded(text.encode()), "name": name} for text, name in cases]
    answers = ask("script", questions)
    for (text, name), answer in zip(cases, answers, strict=True):
        # What is for bash, Python, or a program of its own cannot be on a Windows node.
        theirs = None if (name or "").endswith("exe") else _CLASSES.get(answer)
        assert _shell(text, name) is theirs, (text, name, answer)
    assert {"Shell", "PowershellSysnative", "Powershell", "Bash", "Python", None} == set(answers)


# Templates

METADATA: dict[str, object] = {
    "local-hostname": "win-1",
    "instance_id": "i-1",
    "list": ["a", {"b": 5}],
    "on": True,
}
TEMPLATES = (
    "no expression", "{{ v1.local_hostname }}", "{{v1.instance_id}}-x",
    "{{ ds.meta_data['local-hostname'] }}",
    '{{ ds["meta_data"]["list"][1]["b"] }}', "{{ ds.meta_data.list[0] }}", "{{ ds.meta_data.on }}",
    "{{ v1.nobody | default('x') }}", '{{ nobody|d("x") }}', "{{ 'a' }}",
    "{{ v1.instance_id | default('x') }}",
    "{# a remark #}\nx", "a {#- remark -#} b", "{% raw %}{{ x }}{% endraw %}\ny",
    "a {{- v1.instance_id -}} b",
    "a {%- raw -%} b {%- endraw -%} c", "{{ 5 }}", "{ {", "{{ '}}' }}", "a\n\n{{ v1.instance_id }}\n\nb",
)  # fmt: skip
FAULTS = ("{{ v1.instance_id", "{{ }}", "{# x", "{% raw %} x", "{{ v1.x( }}")


def _questions(texts: tuple[str, ...]) -> list[dict[str, object]]:
    data = instance_data(METADATA)
    return [{"metadata": data, "text": f"## template: jinja\n{text}"} for text in texts]


def test_templates() -> None:
    for question, answer in zip(_questions(TEMPLATES), ask("template", _questions(TEMPLATES)), strict=True):
        assert rendered(str(question["text"]), instance_data(METADATA)) == answer, question["text"]


FRAGMENTS = (
    "x", " ", "\n", "{{ v1.instance_id }}", "{{- v1.instance_id -}}", "{{ '}' }}", "{% raw %}",
    "{% endraw %}", "{%- raw -%}", "{%- endraw -%}", "{#", "#}", "-#}", "{#-", "{", "}", "'",
    "{{ nobody | d('') }}",
)  # fmt: skip


def test_templates_of_any_fragments() -> None:
    chance = random.Random(1)  # noqa: S311 - not for secrets
    texts = tuple("".join(chance.choices(FRAGMENTS, k=chance.randint(1, 12))) + "." for _ in range(2000))
    alike = 0
    for text, answer in zip(texts, ask("template", _questions(texts)), strict=True):
        try:
            ours = rendered(f"## template: jinja\n{text}", instance_data(METADATA))
        except TemplateFault:
            continue
        assert ours == answer, repr(text)
        alike += 1
    assert alike > 500


def test_what_is_no_template() -> None:
    for question, answer in zip(_questions(FAULTS), ask("template", _questions(FAULTS)), strict=True):
        assert isinstance(answer, Failed), question["text"]
        with pytest.raises(TemplateFault):
            rendered(str(question["text"]), instance_data(METADATA))


def test_a_variable_that_nobody_gave_is_refused_here() -> None:
    [question] = _questions(("{{ v1.nobody }}",))
    assert ask("template", [question]) == ["CI_MISSING_JINJA_VAR/nobody"]
    with pytest.raises(TemplateFault, match=r"v1\.nobody is not in the metadata"):
        rendered(str(question["text"]), instance_data(METADATA))


# Exit codes, as packaging/cloudbase-init tells them


def test_exit_codes() -> None:
    done, again = 1, 2
    expected = {
        0: (done, False),
        1: (done, False),
        1001: (done, True),
        1002: (again, False),
        1003: (again, True),
        1004: (done, False),
    }
    assert [tuple(answer) for answer in ask("exit_code", list(expected))] == list(expected.values())


# packaging/cloudbase-init

CONFIGURATIONS: dict[str, dict[str, object]] = {
    "local-scripts": {
        "missing": [],
        "plugins": 6,
        "process_userdata": False,
        "userdata_save_path": r"C:\ProgramData\cloudbase-init\user-data",
        "local_scripts_path": r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\LocalScripts",
        "netbios_host_name_compatibility": False,
    },
    "user-data": {
        "missing": [],
        "plugins": 5,
        "process_userdata": True,
        "userdata_save_path": None,
        "local_scripts_path": None,
        "netbios_host_name_compatibility": False,
    },
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_configurations_to_copy(name: str) -> None:
    path = ROOT / "packaging" / "cloudbase-init" / name / "cloudbase-init.conf"
    assert ask("configuration", [str(path)]) == [CONFIGURATIONS[name]]
    saved = CONFIGURATIONS[name]["userdata_save_path"]
    script = path.with_name("join.cmd")
    assert saved is None or f'set "USER_DATA={saved}"' in script.read_text()
