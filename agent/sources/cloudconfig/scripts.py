"""Scripts and lists of command lines, and the command that runs each.

What a script is its file name and first line say, as cloudbase-init decides.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.sources.cloudconfig.document import Node, kind_of
from agent.sources.cloudconfig.model import Command, Findings, Refused
from agent.sources.cloudconfig.parts import Part
from agent.sources.report import Origin
from agent.spec import Shell

_POWERSHELL = re.compile(r"#(ps1|ps1_sysnative|ps1_x86)\s")
_CMD = re.compile(r"rem\s+cmd\s", re.IGNORECASE)
_PYTHON = re.compile(r"#!\s*/usr/bin/env\s+python\s")
_INTERPRETER = re.compile(r"#!")
_TAGGED = (("script", Shell.CMD), ("powershell", Shell.POWERSHELL))
_BY_NAME = {"cmd": Shell.CMD, "bat": Shell.CMD, "ps1": Shell.POWERSHELL}
_NOT_HERE = {
    "sh": "it is a script for a Linux shell, which a Windows node has not",
    "py": "it is a Python script, for which a Windows node has no interpreter",
    "exe": "it is a program; a script that fetches and runs it is expected",
}
_WRITE = "write it for PowerShell (first line #ps1_sysnative) or cmd.exe (first line rem cmd)"
_IN_UTF_8 = {Shell.CMD: b"@chcp 65001 > nul\r\n", Shell.POWERSHELL: b"\xef\xbb\xbf"}
_BOOT_HOOK = re.compile(r"\s*#cloud-boothook[^\n]*\n?", re.IGNORECASE)
_AWS_SECRETS = (
    "this boot hook is a script for a Linux shell. If it is Cluster API's for AWS, which fetches the user "
    "data from a secret, set spec.template.spec.cloudInit.insecureSkipSecretsManager: true in the "
    f"AWSMachineTemplate; else {_WRITE}"
)


def commands(part: Part, *, each_boot: bool = False) -> Iterator[Command]:
    """Raises Refused."""
    name = f"script {part.file_name}".rstrip()
    extension = part.file_name.rpartition(".")[2].lower() if "." in part.file_name else ""
    for shell, text in _scripts(part.text, extension, Origin(part.name, line=1)):
        yield command(name, shell, text, each_boot=each_boot)


def boot_hook(part: Part) -> Iterator[Command]:
    """Raises Refused."""
    found = _BOOT_HOOK.match(part.text)
    text = part.text[found.end() :] if found else part.text
    origin = Origin(part.name, line=1)
    if _INTERPRETER.match(text.lstrip()):
        raise Refused(origin, _AWS_SECRETS)
    name = f"boot hook {part.file_name}".rstrip()
    for shell, script in _scripts(text.lstrip(), "", origin):
        yield command(name, shell, script, each_boot=True)


def command(name: str, shell: Shell, text: str, *, each_boot: bool = False) -> Command:
    """With the line ends of Windows: cmd.exe misses labels behind others.

    Both shells take a script for one in the machine's own code page, unless they are told.
    """
    script = text.replace("\r\n", "\n").replace("\n", "\r\n").encode(errors="surrogatepass")
    return Command(name, shell, script if script.isascii() else _IN_UTF_8[shell] + script, each_boot)


def _scripts(text: str, extension: str, origin: Origin) -> Iterator[tuple[Shell, str]]:
    if extension in _NOT_HERE:
        raise Refused(origin, f"{_NOT_HERE[extension]}; {_WRITE}")
    if extension in _BY_NAME:
        yield _BY_NAME[extension], text
    elif _CMD.match(text):
        yield Shell.CMD, text
    elif _PYTHON.match(text):
        raise Refused(origin, f"{_NOT_HERE['py']}; {_WRITE}")
    elif _INTERPRETER.match(text):
        raise Refused(origin, f"{_NOT_HERE['sh']}; {_WRITE}")
    elif _POWERSHELL.match(text):
        yield Shell.POWERSHELL, text
    else:
        yield from _tagged(text, origin)


def _tagged(text: str, origin: Origin) -> Iterator[tuple[Shell, str]]:
    """As EC2 has it: first all batch files, then all of PowerShell."""
    found = [(shell, code) for tag, shell in _TAGGED for code in _between(text, tag)]
    if not found:
        raise Refused(origin, f"it does not say what it is written for; {_WRITE}")
    yield from found


def _between(text: str, tag: str) -> Iterator[str]:
    at = 0
    while (start := text.find(f"<{tag}>", at)) >= 0 and (end := text.find(f"</{tag}>", start)) >= 0:
        if code := text[start + len(tag) + 2 : end].strip():
            yield code
        at = end


@registers_secrets
@dataclass(frozen=True, slots=True)
class Line:
    """One entry, or a part of one."""

    text: str = field(repr=False)
    origin: Origin


def lines(node: Node, findings: Findings) -> list[Line]:
    """Of runcmd or bootcmd, which cloudbase-init makes one batch file of.

    A list's words are joined by blanks and nothing is quoted, as cloudbase-init does it.
    """
    if node.value is None:
        return []
    if not isinstance(node.value, list):
        findings.error(node.origin, f"a list of command lines is expected; this is {kind_of(node)}")
        return []
    made = []
    for item in node.value:
        if isinstance(item.value, str):
            made.append(Line(item.value, item.origin))
        elif isinstance(item.value, list) and not any(
            isinstance(word.value, list | dict) for word in item.value
        ):
            _warn_of_blanks(item.value, findings)
            made.append(Line(" ".join(str(word.value) for word in item.value), item.origin))
        elif item.value is not None:
            why = f"a command is a text or a list of words; this is {kind_of(item)}"
            findings.error(item.origin, f"{why}; is a colon in it, so that it needs quotes?")
    return made


def batch(name: str, listed: Sequence[Line], *, each_boot: bool = False) -> list[Command]:
    """One batch file for all of them, so that what one sets or where it goes holds for the next."""
    if not any(line.text.strip() for line in listed):
        return []
    text = "".join(f"{line.text}\n" for line in listed)
    return [command(name, Shell.CMD, text, each_boot=each_boot)]


def _warn_of_blanks(words: list[Node], findings: Findings) -> None:
    for word in words[1:]:
        text = word.text
        if " " in text and not text.startswith('"'):
            where = f"{word.origin.place[0] if word.origin.place else 'command'}, {word.origin}"
            why = "a word of this list has blanks; cmd.exe takes it for several, as with cloudbase-init"
            findings.warn(where, f"{why}. Put it into double quotes if it is one")
            return
