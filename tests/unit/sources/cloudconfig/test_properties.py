"""Whatever comes as user data: an answer, soon, and never a secret in what is said of it."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from agent.sources import cloudconfig, ignition
from agent.sources.cloudconfig.template import TemplateFault, instance_data, rendered
from unit.sources.cloudconfig.loaded import multipart, scripts

DATA = Path(__file__).resolve().parents[3] / "data" / "cloudconfig"
RENDERED = [path.read_bytes() for path in sorted(DATA.glob("*.yaml"))]
IGNITION = [path.read_bytes() for path in sorted(DATA.glob("*.ign"))]
METADATA = instance_data({"local-hostname": "win-1", "availability-zone": "a"})
SECRET = "s3cr3tt0k3n"  # noqa: S105 - looked for in what is said

_WORDS = st.sampled_from(
    [
        "#cloud-config\n", "## template: jinja\n", "#include ", "#cloud-boothook\n", "#ps1\n", "#!",
        "rem cmd\n", "<powershell>", "</powershell>", "write_files:\n", "- path: /a\n", "  content: ",
        "  encoding: b64\n", "runcmd:\n", "- kubeadm join --config /c", " && ", " > ", '"', "'", "\\",
        "{{", "}}", "{%", "%}", "{#", "MIME-Version: 1.0\n", "\n--b\n", "--b--\n",
        "Content-Type: multipart/mixed; boundary=b\n",
        "Content-Type: text/cloud-config\n", "merge_how: ", "<<: ", "&a ", "*a", "!!binary ", "!!float ",
        "\n", "  ", "- ", ": ", "[", "]", "{", "}", "ntp:\n", "hostname: ", SECRET, "\t", "\x00", "é", "😀",
    ]
)  # fmt: skip


def _load(raw: bytes) -> cloudconfig.Outcome:
    outcome = cloudconfig.load("user data", raw, METADATA)
    assert (outcome.user_data is None) == outcome.report.fatal
    return outcome


def _mutated(data: st.DataObject, originals: list[bytes]) -> bytes:
    raw = bytearray(data.draw(st.sampled_from(originals)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(raw)))
        removed = data.draw(st.integers(0, 12))
        raw[at : at + removed] = data.draw(st.binary(max_size=6) | _WORDS.map(_encoded))
    return bytes(raw)


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


@given(st.binary(max_size=400))
def test_any_bytes_have_an_answer(raw: bytes) -> None:
    _load(raw)


@given(st.lists(_WORDS, max_size=30).map("".join))
@example("#cloud-config\nruncmd:\n- kubeadm join --config /c > ")
@example("MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n")
def test_any_words_have_an_answer(text: str) -> None:
    _load(_encoded(text))


@given(st.data())
def test_what_is_rendered_and_damaged_has_an_answer(data: st.DataObject) -> None:
    _load(_mutated(data, RENDERED))


@given(st.data())
def test_what_is_rendered_for_ignition_and_damaged_has_an_answer(data: st.DataObject) -> None:
    document = ignition.load("user data", _mutated(data, IGNITION))
    outcome = cloudconfig.from_ignition(document) if _is_ours(document) else None
    assert outcome is None or (outcome.user_data is None) == outcome.report.fatal


def _is_ours(document: ignition.Outcome) -> bool:
    return document.configuration is not None and cloudconfig.recognised(document.configuration)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.just(SECRET) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("path") | st.text(max_size=4), inner),
    max_leaves=6,
)
_KEYS = st.sampled_from(
    ["write_files", "runcmd", "bootcmd", "ntp", "users", "groups", "hostname", "mounts", "merge_how", "other"]
)
_FILES = st.lists(
    st.fixed_dictionaries(
        {"path": st.just("/a") | _VALUES},
        optional=dict.fromkeys(("content", "encoding", "permissions", "owner", "append"), _VALUES),
    )
)


@given(st.dictionaries(_KEYS, _VALUES | _FILES))
def test_any_values_have_an_answer_that_tells_no_secret(config: dict[str, object]) -> None:
    outcome = _load(b"#cloud-config\n" + yaml.safe_dump(config).encode())
    assert SECRET not in str(outcome.report.entries)
    assert SECRET not in repr(outcome.user_data.before if outcome.user_data else "")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1), max_size=5))
def test_a_command_comes_through_as_it_is(commands: list[str]) -> None:
    raw = b"#cloud-config\n" + json.dumps({"runcmd": commands}).encode()
    outcome = _load(raw)
    expected = "".join(f"{command}\n" for command in commands)
    if outcome.user_data and not outcome.user_data.join and expected.strip():
        made = scripts(outcome.user_data.before)["runcmd"].removeprefix(b"@chcp 65001 > nul\r\n")
        assert made == expected.replace("\n", "\r\n").encode()


@given(st.text(st.characters(codec="utf-8", exclude_characters="{\r")), st.booleans())
def test_a_template_without_braces_is_its_own_result(text: str, raw: bool) -> None:
    given_text = f"{{% raw %}}{text}{{% endraw %}}" if raw else text
    assert rendered(f"## template: jinja\n{given_text}", {}) == text


@given(st.lists(_WORDS | st.sampled_from(["v1", ".", "['x']", "|", "default", "('')", "local_hostname"])))
def test_a_template_is_rendered_or_refused(words: list[str]) -> None:
    text = "## template: jinja\n" + "".join(words)
    try:
        rendered(text, METADATA)
    except TemplateFault as fault:
        lines = text.split("\n")
        assert 1 < fault.line <= len(lines)
        assert 1 <= fault.column <= len(lines[fault.line - 1]) + 1
        assert "\n" not in str(fault)


@given(
    st.lists(st.tuples(st.sampled_from(["text/cloud-config", "text/x-shellscript", "text/plain"]), _WORDS))
)
def test_any_parts_have_an_answer(parts: list[tuple[str, str]]) -> None:
    raw = multipart(*((kind, textwrap.dedent(text)) for kind, text in parts if text.isascii()))
    _load(raw)


_PLAIN_COMMANDS = st.lists(
    st.lists(st.from_regex(r"[A-Za-z0-9+/]{1,12}", fullmatch=True), min_size=1, max_size=5).map(" ".join),
    min_size=1,
    max_size=8,
).map("\n".join)


@given(_PLAIN_COMMANDS)
@example("net stop spooler")
def test_no_script_is_read_as_base64(commands: str) -> None:
    """Every letter of such a script is one of base64's alphabet."""
    script = f"rem cmd\n{commands}\n"
    alone = _load(script.encode())
    assert alone.user_data, alone.report
    assert scripts(alone.user_data.before) == {"script": script.replace("\n", "\r\n").encode()}
    named = _load(multipart(("text/x-shellscript", commands, "setup.cmd")))
    assert named.user_data, named.report
    assert scripts(named.user_data.before) == {"script setup.cmd": commands.replace("\n", "\r\n").encode()}


LARGE = {
    "tags that never end": b"#x\n" + b"<script>" * 2_000_000,
    "almost base64": b" " * (16 << 20) + b"*",
    "expressions": b"## template: jinja\n#cloud-config\n" + b"{{- 1 -}} " * 300_000,
    "braces": b"## template: jinja\n#cloud-config\n" + b"{" * 1_000_000,
    "redirections": b"#cloud-config\nruncmd:\n- kubeadm join " + b"> x " * 500_000,
    "quotes": b"#cloud-config\nruncmd:\n- kubeadm join " + b"'" * 500_001,
    "appended": b"#cloud-config\nwrite_files:\n- &a {path: /a, append: true, content: %s}\n" % (b"x" * 2000)
    + b"- *a\n" * 8000,
    "keys": b"#cloud-config\n" + b"".join(b"key%d: 1\n" % number for number in range(40_000)),
    "boundaries": b"MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    + b"--b\nContent-Type: multipart/mixed; boundary=b\n\n" * 100_000,
    "headers": b"MIME-Version: 1.0\n" * 500_000,
    "a retry script": b"#cloud-config\nwrite_files:\n- path: /usr/local/bin/kubeadm-bootstrap-script\n"
    + b"  content: "
    + b"--config=" * 500_000
    + b" kubeadm join\nruncmd: [/usr/local/bin/kubeadm-bootstrap-script]\n",
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_one_takes_no_time_to_speak_of(name: str) -> None:
    """Were one of these quadratic, it would take hours, and the run be ended."""
    _load(LARGE[name])
