"""runcmd, bootcmd, scripts and boot hooks as what cmd.exe and PowerShell are given."""

from __future__ import annotations

import pytest

from agent import spec
from agent.sources import cloudconfig
from agent.sources.cloudconfig import Command, UserData
from agent.spec import Inline, Shell
from unit.sources.cloudconfig.loaded import config, error, files, made, multipart, notes, scripts

RUNCMD = {
    "text": ("- echo a b", b"echo a b\r\n"),
    "words": (r"- [dir, 'C:\']", b"dir C:\\\r\n"),
    "words are not quoted": (r"- [type, 'C:\a b']", b"type C:\\a b\r\n"),
    "words of other types": ("- [echo, 1, yes, null, 0x10]", b"echo 1 True None 16\r\n"),
    "a date": ("- [echo, 2026-01-01]", b"echo 2026-01-01\r\n"),
    "several lines": ("- |\n  if exist a (\n    b\n  )", b"if exist a (\r\n  b\r\n)\r\n\r\n"),
    "several entries": ("- a\n- [b, c]\n- d", b"a\r\nb c\r\nd\r\n"),
    "an empty one": ("- a\n-\n- d", b"a\r\nd\r\n"),
    "percent signs stay": ("- echo %PATH% 100%%", b"echo %PATH% 100%%\r\n"),
    "other letters": ("- echo \N{SNOWMAN}", b"@chcp 65001 > nul\r\necho \xe2\x98\x83\r\n"),
}


@pytest.mark.parametrize("name", RUNCMD)
def test_runcmd_becomes_one_batch_file(name: str) -> None:
    said, expected = RUNCMD[name]
    user_data = made(b"#cloud-config\nruncmd:\n" + said.encode() + b"\n")
    assert user_data.before == (Command("runcmd", Shell.CMD, expected),)


BAD_RUNCMD = {
    "a text": ("runcmd: echo", "$.runcmd: a list of command lines is expected; this is text"),
    "a mapping": ("runcmd: {a: b}", "$.runcmd: a list of command lines is expected; this is a mapping"),
    "a number": ("runcmd: [5]", "$.runcmd.0: a command is a text or a list of words; this is a number"),
    "a colon": ("runcmd:\n- echo a: b", "$.runcmd.0: a command is a text or a list of words; this is a map"),
    "a list in a list": (
        "runcmd: [[a, [b]]]",
        "$.runcmd.0: a command is a text or a list of words; this is a",
    ),
    "bootcmd": ("bootcmd: [5]", "$.bootcmd.0: a command is a text"),
}


@pytest.mark.parametrize("name", BAD_RUNCMD)
def test_bad_runcmd(name: str) -> None:
    said, expected = BAD_RUNCMD[name]
    assert expected in error(config(said))


def test_a_word_with_blanks_is_told_of() -> None:
    [note] = notes(made(config("runcmd: [[type, 'a b'], [type, '\"a b\"'], [type, ab]]")))
    assert note.startswith("warning runcmd, user data line 2: a word of this list has blanks")


def test_nothing_to_run() -> None:
    assert not made(config("runcmd: []\nbootcmd:\n")).before


JOINS: dict[str, tuple[str, tuple[str, ...], str | None, str | None]] = {
    # The line; kubeadm's arguments; what Cluster API waits for; what is run after it.
    "as 1.0 to 1.14 have it": (
        "kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > "
        "/run/cluster-api/bootstrap-success.complete",
        ("--config", "/run/kubeadm/kubeadm-join-config.yaml"),
        r"C:\run\cluster-api\bootstrap-success.complete",
        None,
    ),
    "alone": ("kubeadm join --config=/x/c.yaml", ("--config=/x/c.yaml",), None, None),
    "with its extension": ("kubeadm.exe join --config /x/c.yaml", ("--config", "/x/c.yaml"), None, None),
    "by its path": (
        r"C:\k\kubeadm.exe join --config C:\c.yaml",
        ("--config", r"C:\c.yaml"),
        None,
        None,
    ),
    "by a quoted path": (
        r'"C:\Program Files\k\kubeadm" join --config "C:\a b.yaml"',
        ("--config", r"C:\a b.yaml"),
        None,
        None,
    ),
    "by a Linux path": ("/usr/bin/kubeadm join --config /c", ("--config", "/c"), None, None),
    "by address and token": (
        "kubeadm join 10.0.0.1:6443 --token a.b --discovery-token-ca-cert-hash sha256:c",
        ("10.0.0.1:6443", "--token", "a.b", "--discovery-token-ca-cert-hash", "sha256:c"),
        None,
        None,
    ),
    "with its output elsewhere": (
        r"kubeadm join --config /c --v 5 > C:\join.log 2>&1 && echo on",
        ("--config", "/c", "--v", "5"),
        None,
        " echo on",
    ),
    "with more behind": (
        "kubeadm join --config /c && echo success > /run/x/bootstrap-success.complete && echo a && echo b",
        ("--config", "/c"),
        r"C:\run\x\bootstrap-success.complete",
        " echo a && echo b",
    ),
    "with quotes": (
        r'kubeadm join --config /c && echo success > "C:\run\cluster-api\bootstrap-success.complete"',
        ("--config", "/c"),
        r"C:\run\cluster-api\bootstrap-success.complete",
        None,
    ),
    "with another command behind": ("kubeadm join --config /c & b", ("--config", "/c"), None, " b"),
    "with what to do when it fails": ("kubeadm join --config /c || exit 1", ("--config", "/c"), None, None),
    "with a pipe": ("kubeadm join --config /c | tee log", ("--config", "/c"), None, None),
    "in capitals": ("KUBEADM.EXE join --config /c", ("--config", "/c"), None, None),
}


@pytest.mark.parametrize("name", JOINS)
@pytest.mark.parametrize("within", ["its own entry", "an entry of several lines", "words"])
def test_the_join_among_commands(name: str, within: str) -> None:
    line, arguments, sentinel, more = JOINS[name]
    quoted = "'" + line.replace("'", "''") + "'"
    said = f"runcmd:\n- pre\n- {quoted}\n- post\n"
    if within == "an entry of several lines":
        said = f"runcmd:\n- |\n  pre\n  {line}\n  post\n"
    elif within == "words":
        words = ", ".join("'" + word.replace("'", "''") + "'" for word in line.split(" "))
        said = f"runcmd:\n- pre\n- [{words}]\n- post\n"
    user_data = made(b"#cloud-config\n" + said.encode())
    assert user_data.join
    assert user_data.join.arguments == arguments
    assert scripts(user_data.before) == {"runcmd, before the join": b"pre\r\n"}
    after = f"{more}\r\n" if more else ""
    assert scripts(user_data.after) == {"runcmd, after the join": f"{after}post\r\n".encode()}
    assert list(files(user_data.after)) == ([sentinel] if sentinel else [])


NO_JOINS = {
    "a phase": "kubeadm join phase preflight --config /c",
    "reset": "kubeadm reset -f",
    "version": "kubeadm version",
    "hidden in PowerShell": 'powershell -Command "kubeadm join --config /c"',
    "hidden in a condition": "if not exist C:\\joined kubeadm join --config /c",
    "only named": "echo kubeadm join",
}


@pytest.mark.parametrize("name", NO_JOINS)
def test_what_is_no_join(name: str) -> None:
    line = NO_JOINS[name]
    user_data = made(b"#cloud-config\nruncmd:\n- |-\n  " + line.encode())
    assert user_data.join is None
    assert scripts(user_data.before) == {"runcmd": f"{line}\r\n".encode()}
    warned = [note for note in notes(user_data) if "kubeadm join is called within it" in note]
    assert len(warned) == line.count("kubeadm join")


BAD_JOINS = {
    "twice": (
        "- kubeadm join --config /c\n- kubeadm join --config /c",
        "kubeadm join is called a second time",
    ),
    "within a block": ("- |\n  if exist a (\n  kubeadm join --config /c\n  )", "within another command"),
    "a quote that never ends": ('- kubeadm join --config "/c', "a quote in it never ends"),
    "init": ("- kubeadm init --config /c", "a Windows machine can only be a worker"),
    "a path that is none": ("- kubeadm join --config c.yaml", "a path in this call of kubeadm join is none"),
}


@pytest.mark.parametrize("name", BAD_JOINS)
def test_bad_joins(name: str) -> None:
    said, expected = BAD_JOINS[name]
    assert expected in error(b"#cloud-config\nruncmd:\n" + said.encode() + b"\n")


CONTROL_PLANES = {
    "a mapping": ("controlPlane:\n  localAPIEndpoint: {}\n", True),
    "an empty mapping": ("controlPlane: {}\n", True),
    "null": ("controlPlane: null\nnext: 1\n", False),
    "nothing": ("controlPlane:\nnext: 1\n", False),
    "nothing, at the end": ("controlPlane:", False),
    "within another": ("discovery:\n  controlPlane: x\n", False),
    "a remark": ("# controlPlane: x\n", False),
}


@pytest.mark.parametrize("name", CONTROL_PLANES)
def test_a_join_to_the_control_plane(name: str) -> None:
    text, refused = CONTROL_PLANES[name]
    indented = text.replace("\n", "\n      ")
    raw = (
        f"#cloud-config\nwrite_files:\n- path: /c\n  content: |\n      {indented}\n"
        "runcmd: [kubeadm join --config /c]\n"
    ).encode()
    if refused:
        assert "a Windows machine can only be a worker" in error(raw)
    else:
        assert made(raw).join


def test_a_configured_join_that_nobody_calls_is_told_of() -> None:
    path = "/run/kubeadm/kubeadm-join-config.yaml"
    [note] = notes(made(config(f"write_files: [{{path: {path}}}]\nruncmd: [echo]")))
    assert note.startswith(f"warning file {path}: it configures a join, and no entry")


RETRY = """
    write_files:
    - path: /run/kubeadm/kubeadm-join-config.yaml
      content: "---"
    - path: /usr/local/bin/kubeadm-bootstrap-script
      permissions: '0755'
      content: |
        #!/bin/bash
        "$@" --config=/run/kubeadm/kubeadm-join-config.yaml --v 4
        retry-command kubeadm join phase preflight
    runcmd:
    - /usr/local/bin/kubeadm-bootstrap-script && echo success > /run/cluster-api/bootstrap-success.complete
"""


def test_the_script_that_tried_again_until_1_10() -> None:
    user_data = made(config(RETRY))
    assert user_data.join
    assert user_data.join.arguments == ("--config", "/run/kubeadm/kubeadm-join-config.yaml", "--v", "4")
    assert list(files(user_data.before)) == [r"C:\run\kubeadm\kubeadm-join-config.yaml"]
    assert notes(user_data)[0].startswith("ignored file /usr/local/bin/kubeadm-bootstrap-script: ")


SCRIPTS: dict[str, tuple[bytes, Shell, bytes]] = {
    "ps1": (b"#ps1\nexit 3\n", Shell.POWERSHELL, b"#ps1\r\nexit 3\r\n"),
    "ps1_sysnative": (b"#ps1_sysnative\r\na\r\n", Shell.POWERSHELL, b"#ps1_sysnative\r\na\r\n"),
    "ps1_x86": (b"#ps1_x86\na", Shell.POWERSHELL, b"#ps1_x86\r\na"),
    "cmd": (b"rem cmd\necho a\n", Shell.CMD, b"rem cmd\r\necho a\r\n"),
    "REM CMD": (b"REM CMD\necho a\n", Shell.CMD, b"REM CMD\r\necho a\r\n"),
    "tags of EC2": (b"<powershell>\nWrite-Host\n</powershell>", Shell.POWERSHELL, b"Write-Host"),
    "UTF-8 for PowerShell": (
        b"#ps1\n'\xc3\xbc'",
        Shell.POWERSHELL,
        b"\xef\xbb\xbf#ps1\r\n'\xc3\xbc'",
    ),
    "a byte order mark": (b"\xef\xbb\xbf#ps1\na", Shell.POWERSHELL, b"#ps1\r\na"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts(name: str) -> None:
    raw, shell, expected = SCRIPTS[name]
    assert made(raw).before == (Command("script", shell, expected),)


def test_tags_of_ec2_run_batch_files_first() -> None:
    raw = b"<powershell>p1</powershell><script>c1</script><powershell>p2</powershell>"
    assert [step.script for step in made(raw).before if isinstance(step, Command)] == [b"c1", b"p1", b"p2"]
    assert list(scripts(made(raw).before)) == [
        "script",
        "script (2)",
        "script (3)",
    ]


NAMED: dict[str, tuple[str, str, Shell | str]] = {
    "ps1 by its name": ("setup.ps1", "Write-Host", Shell.POWERSHELL),
    "cmd by its name": ("setup.CMD", "echo", Shell.CMD),
    "bat by its name": ("setup.bat", "echo", Shell.CMD),
    "by its first line": ("part-001", "#ps1_sysnative\n", Shell.POWERSHELL),
    "bash": ("part-001", "#!/bin/bash\n", "it is a script for a Linux shell"),
    "sh by its name": ("setup.sh", "echo", "it is a script for a Linux shell"),
    "python": ("x", "#!/usr/bin/env python\n", "it is a Python script"),
    "a program": ("setup.exe", "MZ", "it is a program"),
    "nobody knows": ("x", "echo", "it does not say what it is written for"),
}


@pytest.mark.parametrize("name", NAMED)
def test_scripts_of_multipart_data(name: str) -> None:
    file_name, text, expected = NAMED[name]
    raw = multipart(("text/x-shellscript", text, file_name))
    if isinstance(expected, str):
        assert f"user data part 1 ({file_name})" in error(raw)
        assert expected in error(raw)
    else:
        [step] = made(raw).before
        assert isinstance(step, Command)
        assert (step.name, step.shell) == (f"script {file_name}", expected)


JOIN = "#cloud-config\nruncmd: [pre, kubeadm join --config /c, post]"


def test_scripts_keep_their_place_beside_the_join() -> None:
    user_data = made(
        multipart(
            ("text/x-shellscript", "rem cmd\n1", "one"),
            ("text/cloud-config", JOIN),
            ("text/x-shellscript", "rem cmd\n2", "two"),
            ("text/x-shellscript-per-boot", "rem cmd\n3", "three"),
        )
    )
    assert list(scripts(user_data.before)) == ["script one", "runcmd, before the join"]
    assert list(scripts(user_data.after)) == ["runcmd, after the join", "script two", "script three"]
    assert [step.each_boot for step in user_data.after if isinstance(step, Command)] == [False, False, True]


BOOT_HOOKS: dict[str, tuple[str, Shell | str]] = {
    "PowerShell": ("#cloud-boothook\n#ps1_sysnative\na", Shell.POWERSHELL),
    "PowerShell without its own header": ("#ps1\na", Shell.POWERSHELL),
    "cmd": ("#cloud-boothook\nrem cmd\na", Shell.CMD),
    "bash": (
        "#cloud-boothook\n#!/bin/bash\n",
        "spec.template.spec.cloudInit.insecureSkipSecretsManager: true",
    ),
    "unknown": ("#cloud-boothook\necho", "write it for PowerShell"),
}


@pytest.mark.parametrize("name", BOOT_HOOKS)
@pytest.mark.parametrize("alone", [False, True])
def test_boot_hooks(name: str, alone: bool) -> None:
    text, expected = BOOT_HOOKS[name]
    raw = text.encode() if alone else multipart(("text/cloud-boothook", text))
    if alone and not text.startswith("#cloud-boothook"):
        return
    if isinstance(expected, str):
        assert expected in error(raw)
        return
    [step] = made(raw).before
    assert isinstance(step, Command)
    assert (step.shell, step.each_boot) == (expected, True)
    assert b"boothook" not in step.script


def test_boot_hooks_come_first_wherever_they_stand() -> None:
    user_data = made(
        multipart(
            ("text/cloud-config", "bootcmd: [b]\nruncmd: [c]\nwrite_files: [{path: /a}]"),
            ("text/cloud-boothook", "rem cmd\na", "hook"),
        )
    )
    names = [getattr(step, "name", None) for step in user_data.before]
    assert names == ["boot hook hook", "bootcmd", None, "runcmd"]


def _wants(user_data: UserData, boot: str) -> list[spec.Want]:
    return cloudconfig.wants(user_data.before, boot=boot)


def test_commands_of_each_boot_are_other_commands_at_each() -> None:
    user_data = made(config("bootcmd: [a]\nruncmd: [b]"))
    first, second = _wants(user_data, "boot-1"), _wants(user_data, "boot-2")
    assert first[0] == spec.Command("bootcmd", Inline(b"@rem boot boot-1\r\na\r\n"), may_fail=True)
    assert first[0] != second[0]
    assert first[1] == second[1] == spec.Command("runcmd", Inline(b"b\r\n"), may_fail=True)


def test_a_marked_script_stays_marked() -> None:
    user_data = made("#cloud-boothook\n#ps1\n'\N{SNOWMAN}'".encode())
    [want] = _wants(user_data, "1")
    expected = b"\xef\xbb\xbf# boot 1\r\n#ps1\r\n'\xe2\x98\x83'"
    assert want == spec.Command("boot hook", Inline(expected), Shell.POWERSHELL, may_fail=True)


def test_a_join_within_a_script_is_told_of() -> None:
    [note] = notes(made(b"#ps1\nkubeadm.exe join --config C:\\c.yaml\n"))
    assert note.startswith("warning user data: kubeadm join is called within it")


def test_a_command_does_not_show_what_it_runs() -> None:
    user_data = made(config("runcmd: [net use secret, kubeadm join h:1 --token secret.x, echo secret]"))
    assert "secret" not in repr(user_data)
