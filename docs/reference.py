"""Writes docs/reference out of the code: `.venv/bin/python docs/reference.py`. A test compares the two.

What a name means is read where the code says it: in help texts, tables, and the texts below a name.
"""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType

from agent.audit.controls import BENCHMARK, CONTROLS
from agent.cli import explain, kubeadm_commands, run_log
from agent.cli import help as help_texts
from agent.cli.arguments import COMMON, Command, Option
from agent.cli.commands import COMMANDS
from agent.host import protection
from agent.preflight import checks, image
from agent.sources.forms import Fields, Form
from agent.sources.node_configuration.schema import API, KIND, SCHEMA
from service import metrics, telling

PROTECTIONS = {
    "private": (("PRIVATE_DIRECTORY", "PRIVATE_FILE"), "SYSTEM and administrators: everything"),
    "program": (
        ("PROGRAM_DIRECTORY", "PROGRAM_FILE"),
        "SYSTEM and administrators: everything; users: read and run",
    ),
    "pods": (
        ("PODS_DIRECTORY",),
        "SYSTEM and administrators: everything; users: read, run, and make files and folders in folders",
    ),
}
"""By the word for it: what they are called in `agent/host/protection`, and what they mean."""

PATHS = (
    (r"C:\etc", "program", "whoever can rename a folder above can exchange all that is below it"),
    (
        r"C:\etc\kubernetes",
        "private",
        "kubeconfigs, authorities, configuration: to read them is to be the node",
    ),
    (r"C:\k", "program", "programs that run as SYSTEM"),
    (r"C:\run", "program", "on the way to what user data writes"),
    (r"C:\run\cluster-api", "program", "Cluster API's sentinel file, which its own tools look for"),
    (
        r"C:\run\cluster-api\placeholder",
        "private",
        "a file of user data's that says nothing of its permissions",
    ),
    (r"C:\run\kubeadm", "program", "on the way; the join's configuration in it is private, and goes"),
    (r"C:\run\kubeadm\kubeadm-join-config.yaml", "private", "the bootstrap token, until the join has ended"),
    (r"C:\usr", "program", "on the way to plug-ins for volumes"),
    (r"C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec", "program", "plug-ins, which run as SYSTEM"),
    (r"C:\var", "program", "on the way, as `C:\\etc`"),
    (r"C:\var\lib\kubelet", "private", "the kubelet's key and certificates, pods' secrets"),
    (r"C:\var\lib\kubelet\pods", "pods", "a container's own account has to read its token and volumes"),
    (r"C:\var\log", "program", "on the way to logs"),
    (r"C:\var\log\containers", "program", "until the kubelet starts, which then closes it to users itself"),
    (r"C:\var\log\kubelet", "private", "what a kubelet logs names all that the node knows"),
    (r"C:\var\log\pods", "program", "pods that collect logs are users"),
    (r"C:\Program Files\wmcb", "program", "the resident service's program, in a folder of its version"),
    (r"C:\Program Files\wmcb\mirrors", "private", "mirrors with a password, or a query that may be one"),
    (r"C:\Program Files\wmcb-hand-over", "program", "the one before it and the one to come, run as SYSTEM"),
    (
        r"C:\Program Files\wmcb-hand-over\succession.json",
        "private",
        "which of them is to run; to write it is to be obeyed",
    ),
    (
        r"C:\ProgramData\wmcb",
        "private",
        "what was there before, which may be secret; to write it is to be obeyed",
    ),
)
"""With all that is below, as far as no longer path is named. A test compares it with what is on a machine."""

FOLDER = Path(__file__).parent / "reference"
_HEAD = "<!-- Written by docs/reference.py out of the code. -->\n\n"


def pages() -> Mapping[str, str]:
    """By the file's name."""
    made = {
        "commands.md": _commands(),
        "checks.md": _checks(),
        "events-and-metrics.md": _events_and_metrics(),
        "node-configuration.md": _node_configuration(),
        "paths.md": _paths(),
    }
    return {name: _HEAD + "\n".join(lines) + "\n" for name, lines in made.items()}


def _commands() -> Iterator[str]:
    yield "# Commands"
    yield from _of_program("wmcb.exe", COMMANDS, COMMON)
    yield ""
    yield "# Under kubeadm's name"
    yield ""
    yield "The same exe, called kubeadm.exe (`wmcb daemon install --kubeadm`), takes kubeadm's command lines."
    yield from _of_program("kubeadm.exe", kubeadm_commands.COMMANDS, kubeadm_commands.COMMON)
    yield ""
    yield "# Exit codes"
    yield ""
    yield from _table(("code", "what it means"), help_texts.EXIT_CODES)


def _of_program(program: str, commands: Sequence[Command], common: Sequence[Option]) -> Iterator[str]:
    for command in commands:
        yield ""
        yield f"## {program} {command.name or '(no command)'}".rstrip()
        yield ""
        yield f"{command.summary[:1].upper()}{command.summary[1:]}."
        if command.operand:
            yield ""
            yield f"It takes `{command.operand}` behind its name."
        if command.options:
            yield ""
            yield from _table(("option", "what it does"), map(_option, command.options))
        if command.examples:
            yield ""
            yield from ("```", *command.examples, "```")
    yield ""
    yield f"## {program}: options of every command"
    yield ""
    yield from _table(("option", "what it does"), map(_option, common))


def _option(option: Option) -> tuple[str, str]:
    names = ", ".join(name for name in (option.short, option.name) if name)
    choices = f" ({', '.join(option.choices)})" if option.choices else ""
    return f"`{names} {option.placeholder}".rstrip() + "`", f"{option.summary}{choices}"


def _checks() -> Iterator[str]:
    yield "# Checks of `wmcb preflight`"
    yield ""
    yield "Their ids are what `--ignore-preflight-errors` takes."
    yield ""
    rows = [(f"`{name}`", inspect.getdoc(check) or "") for name, check in checks.CHECKS.items()]
    yield from _table(("id", "what is looked at"), rows)
    yield ""
    yield "With `--image`, of a machine that is to be copied:"
    yield ""
    rows = [(f"`{name}`", inspect.getdoc(check) or "") for name, check in image.CHECKS.items()]
    is_node = (f"`{image.NODE}`", "Whether wmcb made this machine a node.")
    yield from _table(("id", "what is looked at"), [is_node, *rows])
    yield ""
    yield "# Controls of `wmcb audit`"
    yield ""
    yield f"{BENCHMARK}."
    yield ""
    yield from _table(("id", "what is to be"), [(name, title) for name, title, _ in CONTROLS])


def _events_and_metrics() -> Iterator[str]:
    yield "# Windows' event log"
    yield ""
    yield f"Source `{telling.SOURCE}` in the Application log. A number never gets another meaning."
    yield ""
    events = [*_members(run_log, run_log.EventId), *_members(telling, telling.Event)]
    yield from _table(("id", "what it tells"), events)
    yield ""
    yield "# Metrics"
    yield ""
    yield from _table(("metric", "what it says"), sorted(_metrics()))


def _members(module: ModuleType, kind: type[enum.IntEnum]) -> Iterator[tuple[str, str]]:
    """The text that stands below each of them."""
    (made,) = [
        each
        for each in ast.walk(_parsed(module))
        if isinstance(each, ast.ClassDef) and each.name == kind.__name__
    ]
    for member, text in zip(made.body, made.body[1:], strict=False):
        if isinstance(member, ast.Assign) and isinstance(member.targets[0], ast.Name):
            assert isinstance(text, ast.Expr), f"{member.targets[0].id} is not explained"
            yield str(int(kind[member.targets[0].id])), " ".join(str(ast.literal_eval(text.value)).split())


def _metrics() -> Iterator[tuple[str, str]]:
    for call in ast.walk(_parsed(metrics)):
        if not isinstance(call, ast.Call):
            continue
        words = [each.value for each in call.args if isinstance(each, ast.Constant)]
        texts = [each for each in words if isinstance(each, str) and each not in ("gauge", "counter")]
        if texts and texts[0].startswith("wmcb_"):
            yield f"`{texts[0]}`", texts[1] if len(texts) > 1 else ""


def _parsed(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _node_configuration() -> Iterator[str]:
    yield f"# {KIND} ({API})"
    yield ""
    yield "`wmcb explain FIELD` shows the same with what a value may be."
    yield ""
    yield from _table(("field", "type", "what it is for"), _fields(SCHEMA, ""))


def _fields(form: Fields, above: str) -> Iterator[tuple[str, str, str]]:
    for name, inner in form.forms.items():
        needed = ", needed" if name in form.needed else ""
        below = explain.innermost(inner)
        yield f"`{above}{name}`", f"{explain.type_of(inner)}{needed}", _about(inner, below)
        if isinstance(below, Fields):
            yield from _fields(below, f"{above}{name}.")


def _about(form: Form, below: Form) -> str:
    return form.about if form is below else " ".join(filter(None, (form.about, below.about)))


def _paths() -> Iterator[str]:
    yield "# Paths, and who may do what"
    yield ""
    yield "What wmcb makes, or finds there and closes. Each has it from its first byte, owned by"
    yield "administrators, and nothing is handed down to it from above. What is below a path is as it is,"
    yield "where no longer one is named. Files that your documents write are as these say, else private."
    yield ""
    rows = [(f"`{path}`", kind, why) for path, kind, why in PATHS]
    yield from _table(("path", "is", "because"), rows)
    yield ""
    yield "# What the words mean"
    yield ""
    rows = [(kind, meaning, _descriptors(names)) for kind, (names, meaning) in PROTECTIONS.items()]
    yield from _table(("is", "who may do what", "as Windows writes it"), rows)
    yield ""
    yield "A service's key in the registry, once it holds environment variables, is for SYSTEM and"
    yield f"administrators alone: `{protection.SERVICE_KEY}`."


def _descriptors(names: Sequence[str]) -> str:
    return ", ".join(f"`{getattr(protection, name)}`" for name in names)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from map(_row, rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(' '.join(cell.replace('|', '&#124;').split()) for cell in cells)} |"


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, "utf-8")
