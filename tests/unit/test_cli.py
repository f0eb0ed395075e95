"""The command line: what it answers, where it writes, how it ends."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from agent.cli import dispatch, main, streams
from agent.cli.arguments import Request
from agent.cli.commands import COMMANDS
from agent.cli.failure import Failure, Refused
from agent.cli.version import FROM_SOURCE
from agent.host.errors import AccessDenied
from agent.release import RELEASE

ROOT = Path(__file__).resolve().parents[2]


class Wrong(NamedTuple):
    name: str
    arguments: tuple[str, ...]
    says: str


WRONG = [
    Wrong("nothing", (), "no command given; wmcb --help lists them"),
    Wrong("a command misspelt", ("versoin",), "unknown command versoin; did you mean version?"),
    Wrong("a command unheard of", ("xyzzy",), "unknown command xyzzy; see wmcb --help"),
    Wrong("half a path", ("--ignition", "C:\\a", "b\\w.ign"), "unknown command b\\w.ign; a path with a b"),
    Wrong("a word too many", ("version", "now"), "version takes options only: now is too much"),
    Wrong("half a command", ("daemon",), "daemon: say which of daemon"),
    Wrong("a misspelt option", ("version", "--ouput=json"), "unknown option --ouput; did you mean --output?"),
    Wrong("another's option", ("daemon", "run", "--output=text"), "daemon run has no option --output"),
    Wrong("an option like none", ("reset", "--purge"), "unknown option --purge; see wmcb reset --help"),
    Wrong("a command like none", ("drift",), "unknown command drift; see wmcb --help"),
    Wrong("an abbreviation", ("version", "--out", "json"), "unknown option --out; did you mean --output?"),
    Wrong("a value left out", ("version", "--output"), "--output needs a value: --output text|json"),
    Wrong("what PowerShell leaves of an empty value", ("--mirror", "-v"), "--mirror needs a value: --mirror "
          "FROM=TO, or --mirror= for none"),
    Wrong("a value that cannot be", ("version", "--output", "yaml"), "--output yaml: it can be text or json"),
    Wrong("a value for a switch", ("version", "--verbose=yes"), "--verbose yes: it is a switch, "
          "which can be --verbose alone, true, false or a number"),
    Wrong("a switch neither on nor off", ("reset", "--dry-run=maybe"), "--dry-run maybe: it is a "
          "switch, which can be --dry-run alone, true or false"),
    Wrong("kubeadm's phases", ("join", "phase"), "there is no command join phase: a join is done as a whole"),
    Wrong("a phase of kubeadm's", ("join", "phase", "preflight"), "there is no command join phase: a"),
    Wrong("an option twice", ("version", "--output=text", "--output=text"), "--output is given twice"),
    Wrong("a command's version", ("plan", "--version"), "unknown option --version; "),
    Wrong("an option in a value's place", ("--ignition", "--kubelet", "K"), "--ignition needs a value: --ig"),
    Wrong("another's option, misspelt", ("status", "--drian"), "unknown option --drian; see wmcb status --"),
    Wrong("an option before its command", ("--kubecnfig", "reset"), "unknown option --kubecnfig; did you "),
    Wrong("another command's", ("status", "--ignition=x"), "status has no option --ignition, but wmcb"),
    Wrong("another's option without its command", ("--token", "x"), "--token goes with wmcb join"),
    Wrong("a part of a command unheard of", ("daemon", "foo"), "unknown command daemon foo; there is d"),
    Wrong("a part of a command misspelt", ("daemon", "isntall"), "unknown command daemon isntall; did "),
    Wrong("an output unheard of", ("status", "-o", "yaml"), "-o yaml: it can be text or json"),
    Wrong("a token alone", ("abcdef.0123456789abcdef",), "unknown command abcdef.***; see wmcb --help"),
    Wrong("most of a token", ("abcdef.0123456789abcde",), "unknown command abcdef.***; see wmcb --help"),
    Wrong("a token and a comma", ("abcdef.0123456789abcdef,",), "unknown command abcdef.***; see wmcb"),
    Wrong("a name like a token", ("worker.europe-west1",), "unknown command worker.europe-west1; see wmcb"),
    Wrong("one of a zone", ("node01.cluster0examplecom",), "unknown command node01.cluster0examplecom; see"),
    Wrong("more than a token", ("abcdef.0123456789abcdefg",), "unknown command abcdef.***; see wmcb"),
    Wrong("a token without its first", ("bcdef.0123456789abcdef",), "unknown command bcdef.***; see wmcb"),
    Wrong("a file's name", ("kubele.conf",), "unknown command kubele.conf; see wmcb --help"),
    Wrong("a machine's name", ("worker.internalexample",), "unknown command worker.internalexample; see"),
    Wrong("an address", ("master.example.com:6443",), "unknown command master.example.com:6443; see"),
    Wrong("a token too many", ("status", "abcdef.0123456789abcdef"), "status takes options only: abcdef.***"),
    Wrong("a token for a value", ("status", "--output=abcdef.0123456789abcdef"), "--output abcdef.***: it"),
    Wrong("no name's option", ("--fore",), "unknown option --fore; see wmcb --help"),
    Wrong("a force that is not needed", ("reset", "--force"), "reset asks nobody, so there is no --force"),
    Wrong("the same in short", ("reset", "-f"), "reset asks nobody, so there is no --force: leave it out"),
    Wrong("one of prepare's", ("plan", "--kubernetes-version=v1"), "plan has no option --kubernetes-v"),
    Wrong("an upgrade that fetches", ("upgrade", "--kubernetes-version=v1"), "upgrade has no option --kube"),
    Wrong("a force of another", ("status", "-f"), "status has no option --force"),
    Wrong("the service's state", ("daemon", "status"), "there is no command daemon status: wmcb status says"),
    Wrong("the service's start", ("daemon", "start"), "there is no command daemon start: sc.exe start wmcb"),
    Wrong("kubeadm's line after it", ("kubeadm", "join", "a:1"), "there is no command kubeadm: leave it out"),
    Wrong("a repair", ("repair",), "there is no command repair: wmcb status says which command makes the"),
    Wrong("a restart, no reset", ("restart",), "there is no command restart: sc.exe stop wmcb, then"),
    Wrong("all taken away", ("uninstall",), "there is no command uninstall: wmcb reset takes back all that"),
    Wrong("help on another unheard of", ("help", "xyzzy"), "unknown command xyzzy; see wmcb --help"),
    Wrong("help on a command unheard of", ("xyzzy", "--help"), "unknown command xyzzy; see wmcb --help"),
]  # fmt: skip


@pytest.mark.parametrize("case", WRONG, ids=lambda case: case.name)
def test_bad_usage_is_one_line_on_stderr_and_exit_code_2(
    case: Wrong, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(case.arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"wmcb: {case.says}")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [("version", "--output", "json"), ("version", "--output=json"), ("--output", "json", "version")],
    ids=" ".join,
)
def test_version_for_programs(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(arguments) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["format"] == 1
    assert set(facts) == {"format", "release", "commit", "python", "openssl", "platform"}
    assert facts["release"] == RELEASE
    assert facts["python"] == ".".join(map(str, sys.version_info[:3]))
    assert facts["openssl"].startswith("OpenSSL ")


def test_licenses_from_source_are_where_the_packages_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["version", "--licenses"]) == 0
    assert capsys.readouterr().out == f"{FROM_SOURCE}\n"
    assert main.run(["version", "--licenses", "--output", "json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["release"], facts["licenses"]) == (RELEASE, None)


def test_licenses_of_the_exe_are_what_it_carries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wmcb.licenses.txt").write_text("Kirill Simonov, MIT")
    monkeypatch.setattr(sys, "_MEIPASS", str(tmp_path), raising=False)
    assert main.run(["version", "--licenses"]) == 0
    assert capsys.readouterr().out == "Kirill Simonov, MIT\n"
    assert main.run(["version", "--licenses", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["licenses"] == "Kirill Simonov, MIT"


def test_version_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["version"]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == f"wmcb {RELEASE} (from source)"
    assert second.startswith("Python 3.")
    assert "OpenSSL" in second
    assert third


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("-h",),
        ("help",),
        ("/?",),
        ("help", "daemon", "run"),
        ("daemon", "--help"),
        *((*command.name.split(), "--help") for command in COMMANDS),
    ],
    ids=" ".join,
)
def test_help_reads_well_on_a_plain_console(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 0
    text = capsys.readouterr().out
    assert text.isascii()
    assert max(len(line) for line in text.splitlines()) < 80
    assert "Usage:" in text
    assert "Examples:" in text


SAYS_THE_SAME = [
    (("--version",), ("version",)),
    (("--version", "--output=json"), ("version", "--output=json")),
    (("help",), ("--help",)),
    (("help", "plan"), ("plan", "--help")),
    (("help", "daemon"), ("daemon", "--help")),
    (("help", "version", "--help"), ("version", "--help")),
]


@pytest.mark.parametrize(("one", "other"), SAYS_THE_SAME, ids=[" ".join(one) for one, _ in SAYS_THE_SAME])
def test_what_people_try_first_is_understood(
    one: tuple[str, ...], other: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(other) == 0
    says = capsys.readouterr()
    assert main.run(one) == 0
    assert capsys.readouterr() == says


@pytest.mark.parametrize("command", ["plan", "preflight"])
def test_help_lists_nothing_that_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main.run([command, "--help"])
    assert not {"--user-data", "--metadata"} & set(capsys.readouterr().out.split())
    assert main.run([command, "--user-data", "x"]) == 2
    assert capsys.readouterr().err.startswith(f"wmcb: {command} does not go with --user-data: what comes")
    if command == "plan":
        main.run([command])
        wanted = "--ignition FILE or --kubeadm-config FILE or --node-config FILE"
        assert f"wmcb: {wanted} is needed" in capsys.readouterr().err


def test_help_on_a_group_lists_that_group_alone(capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["daemon", "--help"])
    text = capsys.readouterr().out
    assert "daemon run" in text
    assert "wmcb version" not in text


def test_every_command_has_its_function() -> None:
    for command in COMMANDS:
        assert callable(dispatch._function(command.run)), command.name


def _ends_with(failure: BaseException) -> Callable[[Request], int]:
    def run(_: Request) -> int:
        raise failure

    return run


@pytest.mark.parametrize(
    ("failure", "code", "line"),
    [
        (Failure("the disk is on fire"), 1, "wmcb: the disk is on fire\n"),
        (Refused("an administrator is needed"), 3, "wmcb: an administrator is needed\n"),
        (KeyboardInterrupt(), 1, "wmcb: interrupted\n"),
        (
            ValueError("two\nlines"),
            1,
            "wmcb: unexpected ValueError: two lines (please report it; -v shows where it happened)\n",
        ),
    ],
    ids=["a failure", "a refusal", "Ctrl-C", "a fault of ours"],
)
def test_a_command_that_fails_says_so_in_one_line(
    failure: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(dispatch, "_function", lambda _: _ends_with(failure))
    assert main.run(["version"]) == code
    assert capsys.readouterr().err == line


@pytest.mark.parametrize(("form", "says"), [("text", ""), ("json", '"kind": "interrupted"')])
def test_ctrl_c_is_answered_from_the_first_import_on(
    form: str, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(dispatch, "parse", interrupted)
    assert main.run(["version", "--output", form]) == 1
    told = capsys.readouterr()
    assert told.err == "wmcb: interrupted\n"
    assert says in told.out


def test_before_that_next_to_nothing_is_imported() -> None:
    code = "import sys; before = set(sys.modules); import agent.cli.main; print(set(sys.modules) - before)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported: set[str] = ast.literal_eval(done.stdout)
    assert imported - {"__future__"} == {"agent", "agent.cli", "agent.cli.main"}


def test_what_the_host_refuses_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dispatch, "_function", lambda _: _ends_with(AccessDenied("write", r"C:\x", 5)))
    assert main.run(["version"]) == 1
    assert capsys.readouterr().err == "wmcb: cannot write C:\\x: access is denied (Windows error 5)\n"


def test_verbose_shows_where_a_fault_of_ours_happened(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(dispatch, "_function", lambda _: _ends_with(ValueError("x")))
    assert main.run(["version", "-v"]) == 1
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform == "win32", reason="tests/windows shows it with the exe itself")
def test_the_resident_service_needs_windows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["daemon", "run"]) == 2
    assert capsys.readouterr().err == (
        f"wmcb: daemon run needs Windows; this is {sys.platform} (--sandbox DIR tries it out in a folder)\n"
    )


# Streams


def _version_to(stdout: int) -> subprocess.CompletedProcess[bytes]:
    code = "import sys; from agent.cli.main import run; sys.exit(run(['version']))"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False
    )


def test_a_reader_that_leaves_early_is_no_failure() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = _version_to(writer)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_output_that_cannot_be_kept_is_a_failure() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    done = _version_to(full)
    os.close(full)
    assert done.returncode == 1
    assert done.stderr.startswith(b"wmcb: cannot write the output: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("stream", ["stdin", "stdout", "stderr"])
def test_a_stream_that_does_not_exist_is_no_failure(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, stream, None)
    assert main.run(["version"]) == 0
    assert main.run(["versoin"]) == 2


def test_text_that_is_no_text_is_written_in_a_way_that_shows_it(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    target = tmp_path_factory.mktemp("out") / "out"
    with target.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        streams._write(stream, "a\udc80b")
    assert target.read_bytes().replace(b"\r\n", b"\n") == b"a\\udc80b\n"


# What start-up costs


NEEDED_BY_EVERY_COMMAND = {
    "agent",
    "agent.cli",
    "agent.cli.arguments",
    "agent.cli.commands",
    "agent.cli.dispatch",
    "agent.cli.failure",
    "agent.cli.main",
    "agent.cli.options",
    "agent.cli.streams",
    "agent.redaction",
    "agent.secret_patterns",
}  # fmt: skip


HEAVY = {"cryptography", "dataclasses", "email", "http", "requests", "ssl", "tomlkit", "yaml"}
"""To define a hundred dataclasses takes as long as a library."""


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["version"], {"agent.cli.version", "agent.release"}),
        (["--help"], {"agent.cli.help", "agent.release"}),
    ],
    ids=["version", "--help"],
)
def test_imports_nothing_that_is_not_needed(arguments: list[str], needed: set[str]) -> None:
    code = f"""
import sys, types
built = types.ModuleType("wmcb_built")
built.COMMIT, built.OPENSSL = "0" * 40, "OpenSSL 3.0.15"
before = set(sys.modules)
sys.modules["wmcb_built"] = built
from agent.cli.main import run
run({arguments!r})
sys.stderr.write(" ".join(sorted(set(sys.modules) - before)))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = set(done.stderr.split())
    assert {each for each in imported if each.startswith("agent")} == NEEDED_BY_EVERY_COMMAND | needed
    assert imported & HEAVY == set()


NOT_NEEDED_TO_LOOK = HEAVY - {"dataclasses"} | {"agent.fetch", "agent.kube", "agent.preflight"}
"""With all that is below them."""


def test_a_look_at_a_node_imports_nothing_that_makes_one(tmp_path: Path) -> None:
    code = f"""
import sys
from agent.cli.main import run
run(["--sandbox", {str(tmp_path)!r}, "status"])
sys.stderr.write("\\n" + " ".join(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    imported = done.stderr.splitlines()[-1].split()
    packages = {each.rpartition(".")[0] for each in imported} | set(imported)
    assert "agent.engine.run" in imported
    assert packages & NOT_NEEDED_TO_LOOK == set()
