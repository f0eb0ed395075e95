"""The part of Jinja that is understood, and how the rest is refused."""

from __future__ import annotations

import pytest

from agent.sources.cloudconfig.template import TemplateFault, instance_data, rendered
from unit.sources.cloudconfig.loaded import error, files, made, multipart, scripts

METADATA = instance_data(
    {
        "local-hostname": "win-1",
        "instance-id": "i-1",
        "ipv4": ["10.0.0.1", "10.0.0.2"],
        "placement": {"availability-zone": "a", "group": ""},
        "number": 5,
        "flag": True,
        "nothing": None,
    }
)

UNDERSTOOD = {
    "no expression": ("a { b } $x", "a { b } $x"),
    "dots": ("{{ ds.meta_data.placement.group }}|", "|"),
    "brackets": ('{{ ds["meta_data"]["local-hostname"] }}', "win-1"),
    "single quotes": ("{{ ds['meta_data'].number }}", "5"),
    "the name without operators": ("{{ ds.meta_data.local_hostname }}", "win-1"),
    "deeper": ("{{ds.meta_data.placement.availability_zone}}", "a"),
    "v1": ("{{ v1.local_hostname }} {{ v1.instance_id }}", "win-1 i-1"),
    "without v1": ("{{ local_hostname }}", "win-1"),
    "an index": ("{{ ds.meta_data.ipv4[1] }}", "10.0.0.2"),
    "true": ("{{ ds.meta_data.flag }}", "True"),
    "a text": ("{{ \"{{\" }} {{ '%}' }}", "{{ %}"),
    "a default": ('{{ ds.meta_data.x.y | default("z") }}', "z"),
    "a default that is not needed": ("{{ v1.instance_id|d('z') }}", "i-1"),
    "a default for what is empty": ("{{ ds.meta_data.placement.group | default('z', true) }}", "z"),
    "a number for a default": ("{{ nobody | default(5) }}", "5"),
    "a remark": ("a{# {{ x #}\nb", "ab"),
    "raw": ("{% raw %}{{ x }} {% if %}{% endraw %}\na", "{{ x }} {% if %}a"),
    "less white space": ("a \n{{- v1.instance_id -}} \n b", "ai-1b"),
    "less white space around raw": ("a {%- raw -%} b {%- endraw -%} c", "abc"),
    "a line end stays behind an expression": ("{{ v1.instance_id }}\n", "i-1\n"),
}


@pytest.mark.parametrize("name", UNDERSTOOD)
def test_understood(name: str) -> None:
    text, expected = UNDERSTOOD[name]
    assert rendered(f"## template: jinja\n{text}", METADATA) == expected


ONLY = "only names, dots, brackets and the filter default are understood here"
REFUSED: dict[str, tuple[str, int, int, str]] = {
    "if": ("a\n {% if x %}", 3, 2, "statements such as if and for are not understood here"),
    "set": ("{% set x = 1 %}", 2, 1, "statements such as"),
    "another filter": ("{{ v1.instance_id | upper }}", 2, 21, ONLY),
    "a call": ("{{ v1.instance_id.split() }}", 2, 24, ONLY),
    "a subtraction": ("{{ ds.meta_data.local-hostname }}", 2, 22, ONLY),
    "a sum": ("{{ 1 + 1 }}", 2, 6, ONLY),
    "never ends": ("x {{ v1.instance_id", 2, 20, ONLY),
    "nothing": ("{{ }}", 2, 4, ONLY),
    "a text that never ends": ('{{ "x }}', 2, 4, ONLY),
    "not there": ("a\n\nb {{ ds.meta_data.nobody }}", 4, 3, "ds.meta_data.nobody is not in the metadata"),
    "not there, below": ("{{ a.b[0].c }}", 2, 1, "a.b.0.c is not in the metadata that was given"),
    "an index too high": ("{{ ds.meta_data.ipv4[2] }}", 2, 1, "ds.meta_data.ipv4.2 is not in the metadata"),
    "a mapping": ("{{ ds.meta_data.placement }}", 2, 1, "this is a list or a mapping, not a text"),
    "a list": ("{{ ds.meta_data.ipv4 }}", 2, 1, "this is a list or a mapping, not a text"),
    "a remark that never ends": ("{# x", 2, 1, "this comment never ends"),
    "raw that never ends": ("{% raw %} x", 2, 1, "there is no endraw for this raw"),
    "braces": ("{{{ x }}}", 2, 3, ONLY),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    text, line, column, expected = REFUSED[name]
    with pytest.raises(TemplateFault) as fault:
        rendered(f"## template: jinja\n{text}", METADATA)
    assert str(fault.value).startswith(expected)
    assert (fault.value.line, fault.value.column) == (line, column)


@pytest.mark.parametrize("header", ["## template: jinja", "##template:Jinja", "## Template: jinja "])
def test_headers(header: str) -> None:
    raw = f"{header}\n#cloud-config\nwrite_files: [{{path: /a, content: '{{{{ v1.instance_id }}}}'}}]\n"
    assert files(made(raw.encode(), METADATA).before) == {r"C:\a": b"i-1"}


def test_without_a_header_braces_are_braces() -> None:
    raw = b"#cloud-config\nwrite_files: [{path: /a, content: '{{ v1.instance_id }}'}]\n"
    assert files(made(raw, METADATA).before) == {r"C:\a": b"{{ v1.instance_id }}"}


def test_a_script_can_be_a_template() -> None:
    raw = b"## template: jinja\n#ps1_sysnative\nWrite-Host {{ v1.instance_id }}\n"
    [step] = made(raw, METADATA).before
    assert b"Write-Host i-1" in getattr(step, "script", b"")


NAMED = {
    "a script by its name": ("text/x-shellscript", "Write-Host {{ v1.instance_id }}", "setup.ps1"),
    "a script by its first line": ("text/jinja2", "#ps1\nWrite-Host {{ v1.instance_id }}", "x"),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_part_can_be_a_template(name: str) -> None:
    kind, text, file_name = NAMED[name]
    raw = multipart((kind, f"## template: jinja\n{text}", file_name))
    [script] = scripts(made(raw, METADATA).before).values()
    assert b"Write-Host i-1" in script


def test_what_a_template_becomes_has_to_be_known() -> None:
    assert "it begins like no user data" in error(multipart(("text/jinja2", "## template: jinja\nx")))


LINES = {
    "of an expression": ("#cloud-config\n\nhostname: {{ x }}\n", "line 4, column 11"),
    "of what was rendered": (
        "#cloud-config\nhostname: '{{ v1.instance_id }}'\nruncmd: 5\n",
        "line 4, column 9",
    ),
    "of another kind of template": (None, "line 1, column 1"),
    "of a template of a template": ("## template: jinja\n#cloud-config\n", "line 2"),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_are_those_of_the_whole_document(name: str) -> None:
    text, expected = LINES[name]
    raw = "## template: mako\n#cloud-config\n" if text is None else f"## template: jinja\n{text}"
    assert error(raw.encode(), METADATA).startswith(f"error: user data {expected}")


def test_what_clouds_say_of_a_machine() -> None:
    assert instance_data({"uuid": "u", "hostname": "h"})["v1"] == {"instance_id": "u", "local_hostname": "h"}
    assert instance_data({}) == {"v1": {}, "ds": {"meta_data": {}}}
