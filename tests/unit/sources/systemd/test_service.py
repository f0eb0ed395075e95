from __future__ import annotations

import pytest

from agent.sources.systemd.service import Command, Service, UnitFile, read_service

NODE = {"H": "win1.example.org", "l": "win1", "w": "10.0.20348"}


def read(*bodies: str) -> tuple[Service, list[str]]:
    files = [
        UnitFile(f"{number}.conf", f"[Service]\n{body}\n".encode()) for number, body in enumerate(bodies)
    ]
    service, report = read_service("kubelet.service", files, NODE)
    return service, [str(entry) for entry in report.entries]


def commands(*bodies: str) -> tuple[Command, ...]:
    return read(*bodies)[0].commands.get("ExecStart", ())


def argv(command: Command) -> list[str]:
    return [command.program, *(argument.text for argument in command.arguments)]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("/usr/bin/kubelet --a=b", ["/usr/bin/kubelet", "--a=b"], id="plain"),
        pytest.param("kubelet", ["kubelet"], id="bare"),
        pytest.param("/usr//bin/./kubelet", ["/usr/bin/kubelet"], id="simplified"),
        pytest.param("'/a b/kubelet' x", ["/a b/kubelet", "x"], id="quoted-program"),
        pytest.param("k \"--a=x y\" 'z'", ["k", "--a=x y", "z"], id="quoted-arguments"),
        pytest.param('k --a="x y"', ["k", "--a=x y"], id="quotes-inside-an-argument"),
        pytest.param("k a\\x20b", ["k", "a b"], id="escape"),
        pytest.param("k a\\.b", ["k", "a\\.b"], id="unknown-escape-stays"),
        pytest.param("k \\; x", ["k", ";", "x"], id="escaped-semicolon"),
        pytest.param("k ';' x", ["k", ";", "x"], id="quoted-semicolon"),
        pytest.param("k a;b", ["k", "a;b"], id="semicolon-inside"),
        pytest.param("@/usr/bin/kubelet other --a", ["/usr/bin/kubelet", "--a"], id="own-name"),
        pytest.param("-@:!k name ${X}", ["k", "${X}"], id="many-prefixes"),
        pytest.param("!!k", ["k"], id="ambient-hack"),
        pytest.param(
            "k %% %n %N %p %H %l %E/x %t",
            ["k", "%", "kubelet.service", "kubelet", "kubelet", "win1.example.org", "win1", "/etc/x", "/run"],
            id="specifiers",
        ),
        pytest.param("k 50% %-", ["k", "50%", "%-"], id="percent-that-is-none"),
        pytest.param("k a``", ["k", "a``"], id="backquotes"),
    ],
)
def test_command_lines(value: str, expected: list[str]) -> None:
    (command,) = commands(f"ExecStart={value}")
    assert argv(command) == expected


def test_prefixes_are_kept_as_meaning() -> None:
    (command,) = commands("ExecStart=-:/k ${X}")
    assert command.may_fail
    assert not command.expands_variables
    (command,) = commands("ExecStart=/k ${X}")
    assert not command.may_fail
    assert command.expands_variables


def test_lone_semicolons_separate_commands() -> None:
    found = commands("ExecStart=a 1 ; b 2 ;")
    assert [argv(command) for command in found] == [["a", "1"], ["b", "2"]]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        pytest.param('k "open', "a quote is never closed", id="open-quote"),
        pytest.param("k %Z", "no specifier %Z", id="unknown-specifier"),
        pytest.param("%m/k", "depends on %m", id="program-without-an-answer"),
        pytest.param("-", "no program", id="prefix-alone"),
        pytest.param("/usr/bin/", "no program", id="a-folder"),
        pytest.param("@/k", "for itself", id="no-own-name"),
        pytest.param("|k", "login shell", id="shell"),
        pytest.param("+!k", "together", id="contradicting-prefixes"),
        pytest.param("--k", "together", id="doubled-prefix"),
        pytest.param("k \\xff", "UTF-8", id="not-utf-8"),
    ],
)
def test_refused_command_lines(value: str, fault: str) -> None:
    service, complaints = read(f"ExecStart={value}")
    assert service.commands["ExecStart"] == ()
    assert complaints[-1].startswith("error: 0.conf line 2 at $.Service.ExecStart: ")
    assert fault in complaints[-1]


def test_what_has_no_answer_is_told_with_the_argument() -> None:
    (command,) = commands("ExecStart=k --id=%m-%b")
    assert command.arguments[0].text == "--id=-"
    assert command.arguments[0].unanswered == ("%m", "%b")


def test_drop_ins_add_and_empty() -> None:
    assert len(commands("ExecStart=a", "ExecStart=b")) == 2
    found = commands("ExecStart=a", "ExecStart=\nExecStart=b")
    assert [argv(command) for command in found] == [["b"]]
    assert found[0].origin.document == "1.conf"
    assert found[0].origin.line == 3


def test_other_commands_are_kept_apart() -> None:
    service, _ = read("ExecStartPre=-/bin/mkdir -p /x\nExecStartPre=/bin/true\nExecStart=k\nExecStop=s")
    assert [argv(command) for command in service.commands["ExecStartPre"]] == [
        ["/bin/mkdir", "-p", "/x"],
        ["/bin/true"],
    ]
    assert set(service.commands) == {"ExecStartPre", "ExecStart", "ExecStop"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param('Environment="A=1" B=2', {"A": "1", "B": "2"}, id="two"),
        pytest.param("Environment=A='x y' \"B=p q\"", {"A": "x y", "B": "p q"}, id="quotes"),
        pytest.param("Environment=A=", {"A": ""}, id="empty-value"),
        pytest.param("Environment=A=%l", {"A": "win1"}, id="specifier"),
        pytest.param("Environment=A=$B", {"A": "$B"}, id="no-expansion"),
        pytest.param(
            "Environment=A=1\nEnvironment=B=2\nEnvironment=A=3", {"B": "2", "A": "3"}, id="later-wins"
        ),
        pytest.param("Environment=A=1\nEnvironment=\nEnvironment=B=2", {"B": "2"}, id="emptied"),
        pytest.param("Environment=A=a\\nb", {"A": "a\nb"}, id="escape"),
        pytest.param('Environment=A="x=y"', {"A": "x=y"}, id="equals"),
    ],
)
def test_environment(body: str, expected: dict[str, str]) -> None:
    service, complaints = read(body)
    assert {variable.name: variable.value for variable in service.variables} == expected
    assert complaints == []


@pytest.mark.parametrize(
    ("body", "left", "complaint"),
    [
        pytest.param('Environment=A=1 B="x', {"A": "1"}, "never closed", id="open-quote"),
        pytest.param("Environment=A=1 junk B=2", {"A": "1", "B": "2"}, "no NAME=VALUE", id="no-equals"),
        pytest.param("Environment=1A=x", {}, "no NAME=VALUE", id="bad-name"),
        pytest.param("Environment=A=%m B=1", {"B": "1"}, "%m has no answer", id="no-answer"),
        pytest.param("Environment=A=%Z B=1", {"B": "1"}, "no specifier %Z", id="unknown-specifier"),
        pytest.param("Environment=A=a\\db", {}, "no escape sequence", id="bad-escape"),
        pytest.param("EnvironmentFile=-/x/%b", {}, "%b has no answer", id="file-without-an-answer"),
        pytest.param("EnvironmentFile=x", {}, "does not start at /", id="relative-file"),
    ],
)
def test_ignored_with_a_warning(body: str, left: dict[str, str], complaint: str) -> None:
    service, complaints = read(body)
    assert {variable.name: variable.value for variable in service.variables} == left
    (line,) = complaints
    assert line.startswith("warning: ")
    assert complaint in line


def test_settings_of_other_sections_are_not_the_service_s() -> None:
    file = UnitFile("k", b"[Unit]\nExecStart=a\n[Install]\nEnvironment=A=1\n")
    service, _ = read_service("k.service", [file], {})
    assert service.commands == {}
    assert service.variables == ()
