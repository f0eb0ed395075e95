from __future__ import annotations

import json
from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.services_configmap import reading as services_configmap
from agent.sources.services_configmap.model import ExpectedFile
from unit.sources.services_configmap.configmaps import (
    NAME,
    data,
    loaded,
    messages,
    read,
    service,
    taken,
)

A, B = r"$.data.services.0", "$.data.services.1"
VARIABLE = {"name": "NODE_NAME", "nodeObjectJsonPath": "{.metadata.name}"}


def test_a_configmap_as_the_operator_writes_it() -> None:
    given, expected = loaded("aws.json"), loaded("aws.expected.json")
    outcome = services_configmap.read(f"ConfigMap {given['metadata']['name']}", given["data"])
    assert outcome.configuration
    made = outcome.configuration
    assert [service.name for service in made.services] == expected["order"]
    assert [service.name for service in made.bootstrap_services()] == expected["bootstrap"]
    assert {str(file.path): file.sha256 for file in made.files} == expected["files"]
    assert made.environment == expected["environment"]
    assert list(made.absent) == expected["absent"]
    assert [str(entry) for entry in outcome.report.entries] == expected["warnings"]


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"services": "null", "files": "null"},
        {"environmentVars": "null", "watchedEnvironmentVars": "null"},
        {"environmentVars": "", "watchedEnvironmentVars": ""},
        {"environmentVars": "{}", "watchedEnvironmentVars": "[]"},
    ],
)
def test_what_is_null_or_empty_is_nothing(keys: dict[str, str]) -> None:
    made = taken(**keys)
    assert (made.services, made.files, made.environment, made.absent) == ((), (), {}, ())


def test_fields_go_by_any_case_and_null_is_nothing() -> None:
    given = {"NAME": "a", "Path": "C:\\a.exe", "nodeVariablesInCommand": None, "PRIORITY": None}
    script = {"path": "x", "NodeArgs": [VARIABLE], "variableName": None}
    assert taken(given, files=None).services[0].pre_scripts == ()
    made = taken({**given, "powershellPreScripts": [script]}).services[0].pre_scripts[0]
    assert (made.arguments[0].name, made.variable) == ("NODE_NAME", "")


def test_files_are_known_by_their_path_in_any_case() -> None:
    file = {"path": "C:\\k\\a.exe", "checksum": "AB" * 32}
    again = {"path": "c:\\K\\A.exe", "checksum": "ab" * 32}
    assert taken(files=[file]).files == (ExpectedFile(PureWindowsPath("C:\\k\\a.exe"), "ab" * 32),)
    assert messages(read(files=[file, {**again, "checksum": "cd" * 32}])) == [
        "error $.data.files.1.checksum: the same file is listed before, with another checksum"
    ]


FAULTS: list[tuple[str, dict[str, str], str]] = [
    (
        "no services",
        {"files": "[]"},
        "error $.data.services: it is missing; a services ConfigMap has services and files",
    ),
    (
        "no files",
        {"services": "[]"},
        "error $.data.files: it is missing; a services ConfigMap has services and files",
    ),
    (
        "a key too many",
        data(testKey=[], environmentVars={}, watchedEnvironmentVars=[]),
        "error $.data.testKey: there is no such key in a services ConfigMap; it has services, files,"
        " environmentVars, watchedEnvironmentVars",
    ),
    (
        "no JSON",
        data(services="[{]"),
        "error $.data.services: it is not JSON: Expecting property name enclosed in double quotes at line 1,"
        " column 3",
    ),
    (
        "empty",
        data(services=""),
        "error $.data.services: it is not JSON: Expecting value at line 1, column 1",
    ),
    (
        "too deep",
        data(services="[" * 100_000),
        "error $.data.services: it is not JSON that can be read: too deep, or a number that is none",
    ),
    (
        "NaN",
        data(services="[NaN]"),
        "error $.data.services: it is not JSON that can be read: too deep, or a number that is none",
    ),
    ("too large", data(files=" " * (1 << 20) + "[]"), "error $.data.files: it is longer than 1024 KiB"),
    (
        "a mapping for a list",
        data(services={}),
        "error $.data.services: a list is expected, such as [{name: ..., path: ...}]",
    ),
    (
        "a list for a mapping",
        data(environmentVars=[]),
        "error $.data.environmentVars: a mapping is expected, such as {NAME: ...}",
    ),
    ("no mapping", data("kubelet"), f"error {A}: a mapping is expected, such as {{name: ..., path: ...}}"),
    ("no name", data({"path": "C:\\a.exe"}), f"error {A}.name: it is missing, and there has to be one"),
    (
        "null for a name",
        data({"name": None, "path": "C:\\a.exe"}),
        f"error {A}.name: it is missing, and there has to be one",
    ),
    ("an empty name", data(service("")), f"error {A}.name: a service's name is expected"),
    (
        "a name that no service can have",
        data(service("a\\b")),
        f"error {A}.name: a service's name is expected",
    ),
    (
        "an empty path",
        data(service("a", path="")),
        f"error {A}.path: it is empty; a path or command is expected",
    ),
    (
        "a number for text",
        data(service("a", path=1)),
        f"error {A}.path: a path or command is expected; put it in quotes",
    ),
    (
        "text for a flag",
        data(service("a", bootstrap="true")),
        f"error {A}.bootstrap: true or false is expected; leave the quotes out",
    ),
    (
        "a negative priority",
        data(service("a", priority=-1)),
        f"error {A}.priority: a whole number from 0 to 2,147,483,647 is expected",
    ),
    (
        "a fraction",
        data(service("a", priority=1.5)),
        f"error {A}.priority: a whole number from 0 to 2,147,483,647 is expected",
    ),
    (
        "a variable without a name",
        data(service("a", nodeVariablesInCommand=[{**VARIABLE, "name": ""}])),
        f"error {A}.nodeVariablesInCommand.0.name: a variable's name of letters, digits, . _ and - is"
        " expected",
    ),
    (
        "no JSONPath",
        data(service("a", nodeVariablesInCommand=[{**VARIABLE, "nodeObjectJsonPath": "{.a"}])),
        f"error {A}.nodeVariablesInCommand.0.nodeObjectJsonPath: no value of the Node can be found by this"
        " JSONPath: its brace is not closed",
    ),
    ("twice", data(service("a"), service("A")), f'error {B}.name: service "A" is there twice'),
    (
        "a bootstrap service that needs the Node",
        data(service("a", bootstrap=True, path="C:\\a.exe NODE_NAME", nodeVariablesInCommand=[VARIABLE])),
        f"error {A}.nodeVariablesInCommand: a bootstrap service starts before there is a Node, and can take"
        " nothing from it",
    ),
    (
        "a bootstrap service that needs one that is none",
        data(service("a", bootstrap=True, priority=0, dependencies=["B"]), service("b")),
        f'error {A}.dependencies: a bootstrap service cannot depend on "b", which is none',
    ),
    (
        "needs itself",
        data(service("a", dependencies=["A"])),
        f'error {A}.dependencies: these services need each other in a circle: "a"',
    ),
    (
        "a circle, told without those before and behind it",
        data(
            service("a", dependencies=["b", "d"]),
            service("b", dependencies=["c"]),
            service("c", dependencies=["else", "b"]),
            service("d"),
        ),
        f'error {B}.dependencies: these services need each other in a circle: "b", "c"',
    ),
    (
        "a bootstrap service behind another",
        data(service("a", bootstrap=True, priority=2), service("b", priority=1)),
        f'error {A}.priority: a bootstrap service needs a lower number than each of the others; "b" has 1',
    ),
    (
        "a bootstrap service of the same priority as another",
        data(service("a", bootstrap=True), service("b")),
        f'error {A}.priority: a bootstrap service needs a lower number than each of the others; "b" has 1',
    ),
    (
        "a file without a drive",
        data(files=[{"path": "k\\a.exe", "checksum": "a"}]),
        "error $.data.files.0.path: a whole path with its drive is expected, such as C:\\k",
    ),
    (
        "a variable of two names",
        data(environmentVars={"a": "1", "A": "2"}),
        'error $.data.environmentVars.A: Windows takes it for the same as "a"',
    ),
    (
        "a variable's name that is none",
        data(environmentVars={"a=b": "1"}),
        'error $.data.environmentVars."a=***": this name cannot be one: a name without = is expected',
    ),
]


@pytest.mark.parametrize(("given", "told"), [row[1:] for row in FAULTS], ids=[row[0] for row in FAULTS])
def test_what_is_wrong_is_told_with_its_field(given: dict[str, str], told: str) -> None:
    outcome = services_configmap.read(NAME, given)
    assert outcome.configuration is None
    assert [line for line in messages(outcome) if line.startswith("error")] == [told]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            data(testKey=[]),
            "warning $.data.testKey: there is no such key in a services ConfigMap; it has services, files,"
            " environmentVars, watchedEnvironmentVars",
        ),
        (
            data(service("a", prioritty=3)),
            f'warning {A}.prioritty: there is no field "prioritty" here, and it is ignored; is priority'
            " meant?",
        ),
        (
            data(services='[{"name":"a","path":"C:\\\\a.exe","name":"b"}]'),
            'warning $.data.services: "name" stands twice in one object; the last one counts',
        ),
        (
            data(service("a", priority=1, dependencies=["b"]), service("b", priority=2)),
            f'warning {A}.dependencies: service "b" has a later priority; it starts first nevertheless',
        ),
        (
            data(service("a", nodeVariablesInCommand=[VARIABLE])),
            f'warning {A}.nodeVariablesInCommand.0.nodeObjectJsonPath: "NODE_NAME" is nowhere in the'
            " service's path",
        ),
        (
            data(
                service("a", powershellPreScripts=[{"path": "Get-Ip", "variableName": "IP"}, {"path": "x"}])
            ),
            f'warning {A}.powershellPreScripts.0.variableName: "IP" is nowhere in the service\'s path',
        ),
        (
            data(
                service(
                    "a",
                    path="C:\\a.exe NODE_NAME",
                    nodeVariablesInCommand=[{**VARIABLE, "nodeObjectJsonPath": "metadata.name"}],
                )
            ),
            f"warning {A}.nodeVariablesInCommand.0.nodeObjectJsonPath: without braces it stands for"
            " itself, and"
            " nothing is looked up; {.metadata.name} would be",
        ),
    ],
)
def test_what_the_operators_daemon_takes_is_taken_with_a_warning(given: dict[str, str], told: str) -> None:
    outcome = services_configmap.read(NAME, given)
    assert outcome.configuration
    assert messages(outcome) == [told]


def test_order_is_by_priority_and_behind_what_is_needed() -> None:
    made = taken(
        service("d", priority=3),
        service("c", priority=2),
        service("b", priority=1, dependencies=["D", "somebody else's"]),
        service("a", priority=1),
    )
    assert [each.name for each in made.services] == ["d", "b", "a", "c"]


def test_no_error_says_what_a_variable_holds() -> None:
    secret = "swordfish"  # noqa: S105 - of nobody
    outcome = read(
        service("a", path=[secret], bootstrap=secret, priority=secret),
        environmentVars={"A": [secret], "B": secret},
    )
    assert outcome.configuration is None
    assert len(outcome.report.entries) == 4
    assert secret not in repr(outcome)


_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["a", "b", "{.metadata.name}", "C:\\a.exe"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "path", "checksum", "dependencies", "bootstrap", "priority", "powershellPreScripts"]
            ),
            inner,
            max_size=7,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["services", "files", "environmentVars", "x"]), _json.map(json.dumps)))
def test_any_data_is_taken_or_refused(given: dict[str, str]) -> None:
    outcome = services_configmap.read(NAME, given)
    assert (outcome.configuration is None) == outcome.report.fatal
    assert all(str(entry).isprintable() for entry in outcome.report.entries)


@given(st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 6), max_size=3)), max_size=7))
def test_services_that_are_taken_stand_behind_what_they_need(given: list[tuple[int, list[int]]]) -> None:
    outcome = read(
        *(
            service(f"s{number}", priority=priority, dependencies=[f"s{other}" for other in others])
            for number, (priority, others) in enumerate(given)
        )
    )
    if outcome.configuration is None:
        assert all("in a circle" in entry.message for entry in outcome.report.errors)
        return
    names = [each.name for each in outcome.configuration.services]
    assert sorted(names) == sorted(f"s{number}" for number in range(len(given)))
    for each in outcome.configuration.services:
        needed = [name for name in each.dependencies if name in names]
        assert all(names.index(name) < names.index(each.name) for name in needed)
