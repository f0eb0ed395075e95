from __future__ import annotations

from pathlib import PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.command_lines import split
from agent.host.commandline import join
from agent.sources.services_configmap import reading as services_configmap
from agent.sources.services_configmap.compiling import compile_services, scripts, stages
from agent.spec import EnvironmentVariable, Service
from unit.sources.services_configmap.configmaps import NAME, loaded, service, taken

NODE = loaded("node.json")
NODE_NAME = {"name": "NODE_NAME", "nodeObjectJsonPath": "{.metadata.name}"}


def commands(
    *services: object, outputs: tuple[str, ...] = (), node: object = None
) -> dict[str, list[str]] | str:
    """Or what is told instead of them."""
    made = taken(*services)
    places = [script.place for each in made.services for script in each.pre_scripts]
    compiled = compile_services(
        made,
        made.services,
        NODE if not isinstance(node, dict) else node,
        dict(zip(places, outputs, strict=False)),
    )
    if compiled.desired is None:
        return " ".join(f"{entry.path}: {entry.message}" for entry in compiled.report.entries)
    wants = compiled.desired.specification.wants
    return {want.name: [str(want.program), *want.arguments] for want in wants if isinstance(want, Service)}


def test_a_configmap_as_the_operator_writes_it() -> None:
    given, expected = loaded("aws.json"), loaded("aws.expected.json")
    name = f"ConfigMap {given['metadata']['name']}"
    made = services_configmap.read(name, given["data"]).configuration
    assert made
    assert [[each.name for each in stage] for stage in stages(made.services)] == expected["stages"]
    asked = scripts(made, made.services, NODE)
    assert [script.text for script in asked.scripts] == expected["scripts"]
    outputs = dict(zip((script.place for script in asked.scripts), expected["outputs"], strict=True))
    desired = compile_services(made, made.services, NODE, outputs).desired
    assert desired
    found = {want.name: want for want in desired.specification.wants if isinstance(want, Service)}
    assert list(found) == expected["order"]
    for name, line in expected["commands"].items():
        assert (str(found[name].program), *found[name].arguments) == split(line)
        assert found[name].description == f"OpenShift managed {name}"
        assert found[name].restart, "Windows starts it again also without this daemon"
        assert list(found[name].dependencies) == expected["dependencies"].get(name, [])
    variables = [want for want in desired.specification.wants if isinstance(want, EnvironmentVariable)]
    assert {want.name: want.value for want in variables if want.value is not None} == expected["environment"]
    assert [want.name for want in variables if want.value is None] == expected["absent"]
    assert [want.name for want in variables if want.secret] == ["HTTP_PROXY", "HTTPS_PROXY"]
    assert desired.files == made.files
    assert "swordfish" not in repr(desired)


def test_bootstrap_services_need_no_node() -> None:
    given, expected = loaded("aws.json"), loaded("aws.expected.json")
    made = services_configmap.read(NAME, given["data"]).configuration
    assert made
    first = made.bootstrap_services()
    asked = scripts(made, first, {})
    assert [script.text for script in asked.scripts] == expected["scripts"][:3]
    outputs = dict(zip((script.place for script in asked.scripts), expected["outputs"], strict=False))
    desired = compile_services(made, first, {}, outputs).desired
    assert desired
    names = [want.name for want in desired.specification.wants if isinstance(want, Service)]
    assert names == expected["bootstrap"]


def test_a_script_that_needs_the_node_waits_for_it() -> None:
    given = service("a", powershellPreScripts=[{"path": "x NODE_NAME", "nodeArgs": [NODE_NAME]}])
    asked = scripts(made := taken(given), made.services, {})
    assert asked.scripts == ()
    assert [str(entry) for entry in asked.report.entries] == [
        f"error: {NAME} at $.data.services.0.powershellPreScripts.0.nodeArgs.0.nodeObjectJsonPath: the"
        " Node has"
        ' no value for it yet: there is no "metadata"'
    ]


def test_a_script_is_asked_as_the_operators_daemon_asks_it() -> None:
    made = taken(service("a", powershellPreScripts=[{"path": "Get-Date", "variableName": "DAY"}]))
    (script,) = scripts(made, made.services, {}).scripts
    assert script.arguments == ("-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command", "Get-Date")
    assert (script.service, script.variable) == ("a", "DAY")


def _with(path: str, *variables: tuple[str, str]) -> dict[str, object]:
    named = [{"name": name, "nodeObjectJsonPath": value} for name, value in variables]
    return service("a", path=path, nodeVariablesInCommand=named)


@pytest.mark.parametrize(
    ("path", "variables", "command"),
    [
        (r"C:\a.exe", [], [r"C:\a.exe"]),
        (r'"C:\Program Files\a.exe" "b c" d\"e', [], [r"C:\Program Files\a.exe", "b c", 'd"e']),
        (r"C:\a.exe --x=V;V", [("V", "{.spec.podCIDR}")], [r"C:\a.exe", "--x=10.132.2.0/24;10.132.2.0/24"]),
        (r"C:\a.exe IP IP_V6", [("IP", "1"), ("IP_V6", "2")], [r"C:\a.exe", "1", "2"]),
        (r"C:\a.exe A B", [("A", "B"), ("B", "A")], [r"C:\a.exe", "B", "A"]),
        (r"P\a.exe", [("P", r"C:\k")], [r"C:\k\a.exe"]),
        (r"C:\a.exe F", [("F", r'"C:\with blank"')], [r"C:\a.exe", r"C:\with blank"]),
    ],
)
def test_a_command_line_with_its_values(
    path: str, variables: list[tuple[str, str]], command: list[str]
) -> None:
    assert commands(_with(path, *variables)) == {"a": command}


PRINTS = {"path": "Get-Ip", "variableName": "IP"}


@pytest.mark.parametrize(
    ("given", "outputs", "told"),
    [
        (service("a", path=r"C:\a.exe IP", powershellPreScripts=[PRINTS]), ("\r\n10.0.0.1 \n",), None),
        (
            service("a", path=r"C:\a.exe IP", powershellPreScripts=[PRINTS]),
            (),
            "$.data.services.0.powershellPreScripts.0: the script has not been run",
        ),
        (
            service("a", path=r"C:\a.exe IP", powershellPreScripts=[PRINTS]),
            (" \n",),
            "$.data.services.0.powershellPreScripts.0: what the script printed is empty",
        ),
        (
            service("a", path=r"C:\a.exe IP", powershellPreScripts=[PRINTS]),
            ("10.0.0.1\n10.0.0.2",),
            "$.data.services.0.powershellPreScripts.0: what the script printed is more than one word, and"
            " would"
            " change the command that it is put into",
        ),
        (
            service("a", path="a.exe"),
            (),
            "$.data.services.0.path: its program is no whole path with its drive; if there are blanks in"
            " it, put"
            " it in double quotes",
        ),
        (
            service("a", path=r"C:\a.exe --temp=%TEMP%"),
            (),
            "$.data.services.0.path: Windows would take what stands between two percent signs for a variable;"
            " leave them out",
        ),
        (
            _with(r"C:\a.exe V", ("V", "{.spec.nothing}")),
            (),
            "$.data.services.0.nodeVariablesInCommand.0.nodeObjectJsonPath: the Node has no value for it yet:"
            ' there is no "nothing"',
        ),
    ],
)
def test_what_a_script_prints(given: object, outputs: tuple[str, ...], told: str | None) -> None:
    found = commands(given, outputs=outputs)
    assert found == ({"a": [r"C:\a.exe", "10.0.0.1"]} if told is None else told)


@pytest.mark.parametrize("value", ["a b", "a --evil", 'a"b', "a\n", "%PATH%", ""])
def test_a_value_of_the_node_cannot_become_more_than_a_word(value: str) -> None:
    node = {"metadata": {"name": value}}
    found = commands(_with(r"C:\a.exe NODE_NAME", ("NODE_NAME", "{.metadata.name}")), node=node)
    assert isinstance(found, str)
    assert "the Node's value for it is" in found


@pytest.mark.parametrize(
    "value", ["a;b", "$(b)", "a|b", "`a", "a,b", "(a)", "{a}", "a&b", "'a", "a b", "“a", "@a"]
)
def test_a_value_of_the_node_cannot_become_a_script(value: str) -> None:
    script = {"path": "x NODE_NAME", "nodeArgs": [NODE_NAME]}
    made = taken(service("a", powershellPreScripts=[script]))
    asked = scripts(made, made.services, {"metadata": {"name": value}})
    assert asked.scripts == ()
    assert asked.report.fatal


@pytest.mark.parametrize("value", ["-", "-a", "--evil=1"])
def test_a_value_of_the_node_cannot_become_an_option(value: str) -> None:
    node = {"metadata": {"name": value}}
    says = "begins with a dash, and would be an option of the command that it is put into"
    found = commands(_with(r"C:\a.exe NODE_NAME", ("NODE_NAME", "{.metadata.name}")), node=node)
    assert (
        found
        == f"$.data.services.0.nodeVariablesInCommand.0.nodeObjectJsonPath: the Node's value for it {says}"
    )
    script = {"path": "x NODE_NAME", "nodeArgs": [NODE_NAME]}
    made = taken(service("a", powershellPreScripts=[script]))
    (entry,) = scripts(made, made.services, {"metadata": {"name": value}}).report.entries
    assert entry.message == f"the Node's value for it {says}"


IN_QUOTES = {
    "a backslash at its end": "C:\\k\\",
    "backslashes at its end": "\\" * 3,
    "backslashes within": r"\\server\share",
    "a path": "C:\\k",
}


@pytest.mark.parametrize("value", IN_QUOTES.values(), ids=IN_QUOTES)
def test_a_value_in_quotes_stays_one_argument(value: str) -> None:
    given = _with(r'"C:\a b.exe" "--dir=DIR" "DIR" --last', ("DIR", "{.dir}"))
    found = commands(given, node={"dir": value})
    assert found == {"a": [r"C:\a b.exe", f"--dir={value}", value, "--last"]}
    assert isinstance(found, dict)
    assert list(split(join(found["a"]))) == found["a"]


def test_a_command_has_no_nul() -> None:
    assert commands(_with("C:\\a.exe --a=\0", ("V", "{.a}")), node={"a": "1"}) == (
        "$.data.services.0.path: there is a NUL in it, which no command line can have; leave it out"
    )


@given(st.text(max_size=8), st.text(max_size=8))
def test_values_fill_one_argument_each_or_are_refused(first: str, second: str) -> None:
    given = _with(r'C:\a.exe "ONE" "--two=TWO"', ("ONE", "{.a}"), ("TWO", "{.b}"))
    found = commands(given, node={"a": first, "b": second})
    if isinstance(found, dict):
        assert found["a"] == [str(PureWindowsPath(r"C:\a.exe")), first, f"--two={second}"]
