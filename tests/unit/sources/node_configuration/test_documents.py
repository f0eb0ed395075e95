"""Several documents: which are for a node, and what becomes of them together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import PureWindowsPath

import pytest

from agent.sources.node_configuration import reading as node_configuration
from agent.sources.node_configuration.compiling import chosen, compile_node, maintenance
from agent.sources.node_configuration.model import Maintenance, Rollout, Unobtainable
from agent.spec import Artifact, Content, File, Key, Lying, Signer
from unit.sources.node_configuration.examples import HEAD, Obtaining, documents, obtain, told

SELF = f"""\
self:
  source: https://files.example/wmcb.exe
  sha256: {"A" * 64}
  signer: {{commonName: Example Authors}}
"""
FILE = "files:\n  - path: C:\\k\\a\n    text: a\n"
VALUE = "registryValues: [{key: 'HKLM\\SOFTWARE\\A', name: b, dword: %s}]"
LABELS = {"pool": "blue", "kubernetes.io/os": "windows"}


@pytest.mark.parametrize(
    ("nodes", "is_for"),
    [
        ("", True),
        ("nodes: {names: [win-1]}", True),
        ("nodes: {names: [win-2]}", False),
        ("nodes: {names: [win-2, win-1]}", True),
        ("nodes: {labels: {pool: blue}}", True),
        ("nodes: {labels: {pool: blue, kubernetes.io/os: windows}}", True),
        ("nodes: {labels: {pool: green}}", False),
        ("nodes: {labels: {pool: blue, gpu: 'true'}}", False),
        ("nodes: {names: [win-1], labels: {pool: blue}}", True),
        ("nodes: {names: [win-1], labels: {pool: green}}", False),
        ("nodes: {names: [win-2], labels: {pool: blue}}", False),
    ],
)
def test_a_document_is_for_the_nodes_that_it_names(nodes: str, is_for: bool) -> None:
    made = documents(HEAD + nodes)
    assert chosen(made, "win-1", LABELS) == (made if is_for else ())


def _compiled(*texts: str) -> tuple[list[str], list[Key]]:
    made = [each for at, text in enumerate(texts) for each in documents(HEAD + text, f"{at}.yaml")]
    compiled = compile_node(made, obtain, "node.yaml")
    wants = compiled.specification.wants if compiled.specification else ()
    return told(compiled.report), [want.key for want in wants]


def test_what_any_document_wants_is_wanted() -> None:
    service = "services:\n  - name: a\n    program: C:\\a\\a.exe\n    reads: [{file: 'C:\\k\\a'}]\n"
    assert _compiled(service, FILE) == (
        [],
        [Key("directory", "C:\\k"), Key("file", "C:\\k\\a"), Key("service", "a")],
    )
    assert _compiled(service)[0] == [
        "error: 0.yaml line 4, column 5 at $.services.0: it refers to file C:\\k\\a, which is not wanted"
        " of this node"
    ]


@pytest.mark.parametrize(
    ("first", "second", "agree"),
    [
        (FILE, FILE, True),
        (FILE, "files: [{path: 'c:/K/A', base64: YQ==}]", True),
        (FILE, FILE.replace("text: a", "text: b"), False),
        (FILE, FILE + "    protection: program\n", False),
        (FILE, "files: [{path: 'C:\\k\\a', existing: true}]", False),
        ("directories: [{path: 'C:\\a'}]", "directories: [{path: 'C:\\a'}]", True),
        ("directories: [{path: 'C:\\a'}]", "directories: [{path: 'C:\\a', shared: true}]", False),
        ("environmentVariables: [{name: A, value: a}]", "environmentVariables: [{name: A, value: a}]", True),
        ("environmentVariables: [{name: A, value: a}]", "environmentVariables: [{name: a, value: b}]", False),
        (
            "environmentVariables: [{name: A, value: ''}]",
            "environmentVariables: [{name: A, absent: true}]",
            False,
        ),
        (VALUE % 1, VALUE % 1, True),
        (VALUE % 1, VALUE.replace("HKLM", "HKEY_LOCAL_MACHINE") % 1, True),
        (VALUE % 1, VALUE % 2, False),
        (VALUE % 1, VALUE.replace("dword: %s", "absent: true"), False),
        ("pathEntries: ['C:\\k']", "pathEntries: ['C:\\k', 'C:\\l']", True),
        ("hostName: a", "hostName: a", True),
        ("hostName: a", "hostName: b", False),
        (
            "services: [{name: a, program: 'C:\\a.exe', environment: {A: a}}]",
            "services: [{name: a, program: 'C:\\a.exe', environment: {A: a}}]",
            True,
        ),
        (
            "services: [{name: a, program: 'C:\\a.exe', environment: {A: a}}]",
            "services: [{name: a, program: 'C:\\a.exe', environment: {A: b}}]",
            False,
        ),
    ],
)
def test_two_documents_may_want_the_same_but_not_otherwise(first: str, second: str, agree: bool) -> None:
    for one, other in ((first, second), (second, first)):
        errors, keys = _compiled(one, other)
        assert bool(keys) == agree
        if not agree:
            (error,) = errors
            assert error.startswith("error: 1.yaml line ")
            assert " is wanted twice, first by 0.yaml line " in error


def test_several_documents_stand_in_one_text_each_with_its_own_lines() -> None:
    text = f"---\n# one\n{HEAD}---\r\n{HEAD}nodes: {{names: [win-2]}}\n--- # three\n{HEAD}{FILE}\n---\n\n"
    made = documents(text)
    assert [each.origin.line for each in made] == [3, 6, 10]
    assert [item.origin.line for each in made for item in each.items] == [13]
    assert len(chosen(made, "win-1", {})) == 2


def test_json_may_stand_beside_yaml() -> None:
    text = f'{HEAD}---\n{{"apiVersion": "wmcb.internal/v1beta1", "kind": "NodeConfiguration"}}\n'
    assert len(documents(text)) == 2


def test_what_is_wrong_in_json_is_told_by_its_line_in_the_whole_text() -> None:
    outcome = node_configuration.read("node.yaml", f'{HEAD}---\n{{"kind": }}\n'.encode())
    assert told(outcome.report) == [
        "error: node.yaml line 4, column 10: it is not JSON: a value is expected here",
    ]


def test_what_cannot_be_shown_of_a_name_is_told_in_ascii() -> None:
    (error,), _ = _compiled(r'pathEntries: ["C:\\a\x8e", "C:\\a\x8e"]')
    assert r"path entry C:\a\x8e is wanted twice" in error


def test_a_manifest_around_it_is_told_apart() -> None:
    outcome = node_configuration.read("cm.yaml", b"apiVersion: v1\nkind: ConfigMap\n")
    assert told(outcome.report) == [
        'error: cm.yaml line 2, column 7 at $.kind: "v1 ConfigMap" is not read here;'
        " wmcb.internal/v1beta1 NodeConfiguration is, the text of its key node.yaml"
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"node.yaml": HEAD, "node.yaml.minisig": "", "notes": ""}, []),
        ({}, ['error: ConfigMap nodes at $.data."node.yaml": there is no key node.yaml in it']),
        (
            {"node.yaml": HEAD + "fils: []\n"},
            [
                "error: ConfigMap nodes, key node.yaml line 3, column 1 at $.fils: there is no field"
                ' "fils" here;'
                " is files meant?"
            ],
        ),
        (
            {"node.yaml": "a: \ud800"},
            ["error: ConfigMap nodes, key node.yaml: it is not UTF-8: byte 4 is wrong; save it as UTF-8"],
        ),
    ],
)
def test_the_data_of_a_configmap(data: dict[str, str], expected: list[str]) -> None:
    outcome = node_configuration.read_data("ConfigMap nodes", data)
    assert told(outcome.report) == expected
    assert bool(outcome.documents) == (not expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{HEAD}---\n" * 101, "error: node.yaml: it has more than 100 documents"),
        (HEAD + "#" * (1 << 20), "error: node.yaml: it is longer than 1024 KiB"),
    ],
    ids=["many", "large"],
)
def test_a_text_has_bounds(text: str, expected: str) -> None:
    outcome = node_configuration.read("node.yaml", text.encode())
    assert (outcome.documents, told(outcome.report)) == ((), [expected])


def test_a_document_knows_whom_it_pauses_and_when_it_counts() -> None:
    rollout = "rollout: {start: '2026-11-20T02:00:00+02:00', window: 1h30m5s, percentage: 25}\n"
    (made,) = documents(f"{HEAD}{rollout}maintenance: {{paused: true, reason: firmware}}\n")
    assert made.rollout == Rollout(1_795_132_800.0, 5405.0, 25.0)
    assert maintenance((*documents(HEAD), made)) == Maintenance(paused=True, reason="firmware")
    (plain,) = documents(HEAD)
    assert (maintenance([plain]), plain.rollout) == (Maintenance(), None)


def test_a_document_knows_which_program_is_to_keep_the_node() -> None:
    (made,) = documents(f"{HEAD}{SELF}")
    program = made.program
    assert program is not None
    assert (program.source, program.sha256) == ("https://files.example/wmcb.exe", "a" * 64)
    assert program.signer == Signer("Example Authors")
    assert (program.within_seconds, program.origin.place) == (300.0, ("self",))
    (plain,) = documents(HEAD)
    assert (plain.program, made.items) == (None, ())


def test_a_digest_is_of_what_is_wanted_of_the_node_alone() -> None:
    def digest(text: str) -> str:
        return documents(HEAD + text)[0].digest

    same = {
        digest(FILE),
        digest(f"{FILE}{SELF}"),
        digest(f"{FILE}rollout: {{percentage: 5}}\nnodes: {{names: [a]}}\nmaintenance: {{paused: true}}\n"),
        digest("services: []\nfiles: [{text: a, path: 'C:\\k\\a'}]  # the same\n"),
    }
    assert len(same) == 1
    assert digest(FILE.replace("text: a", "text: b")) not in same


def test_what_cannot_be_fetched_is_told() -> None:
    class Failing(Obtaining):
        def resolved(self, artifact: Artifact) -> Artifact | None:
            raise Unobtainable(f"{artifact.source.partition('?')[0]} does not answer")

    source = f"source: {{url: 'https://files.example/a?sig=swordfish', sha256: {'0' * 64}}}"
    compiled = compile_node(documents(f"{HEAD}files:\n  - path: C:\\a\n    {source}\n"), Failing(), "a")
    assert compiled.specification is None
    assert told(compiled.report) == [
        "error: node.yaml line 4, column 5 at $.files.0: its content cannot be fetched: "
        "https://files.example/a does not answer"
    ]


ARCHIVE = (
    f"artifacts: [{{name: tools, source: 'https://a.example/t.zip', sha256: {'0' * 64}, "
    "unpack: {into: 'C:\\t'}}]\n"
)
RUN = "services: [{name: tool, program: 'C:\\t\\bin\\tool.exe', reads: [{file: 'C:\\t\\bin\\tool.exe'}]}]\n"


def test_what_is_in_an_archive_is_wanted_once_it_is_known() -> None:
    made = documents(HEAD + ARCHIVE + RUN)
    unknown = compile_node(made, obtain, "node.yaml")
    assert [each.name for each in unknown.unknown] == ["tools"]
    assert unknown.specification
    assert File.kind not in {want.kind for want in unknown.specification.wants}
    files = {"C:\\t\\bin\\tool.exe": "1" * 64, "C:\\t\\LICENSE": "2" * 64, "C:\\t\\COPYING": "2" * 64}
    known = compile_node(made, Obtaining(tools=files), "node.yaml")
    assert known.specification
    assert not known.unknown
    kinds = [want.key for want in known.specification.wants]
    assert kinds.index(Key("file", "C:\\t\\bin\\tool.exe")) < kinds.index(Key("service", "tool"))
    assert {
        want.path: want.content.sha256
        for want in known.specification.wants
        if isinstance(want, File) and want.content
    } == {PureWindowsPath(path): sha256 for path, sha256 in files.items()}


def test_a_file_that_is_not_in_an_archive_cannot_be_referred_to() -> None:
    made = documents(HEAD + ARCHIVE + RUN)
    compiled = compile_node(made, Obtaining(tools={"C:\\t\\tool.exe": "1" * 64}), "node.yaml")
    assert (
        "it refers to file C:\\t\\bin\\tool.exe, which is not wanted of this node" in told(compiled.report)[0]
    )


def test_a_content_that_two_files_have_is_not_moved_to_one_of_them() -> None:
    class Lies(Obtaining):
        def content(self, sha256: str) -> Content:
            return Lying(sha256, PureWindowsPath("C:\\stock") / sha256, lambda _: ())

    files = {"C:\\t\\a": "1" * 64, "C:\\t\\b": "2" * 64, "C:\\t\\c": "2" * 64}
    compiled = compile_node(documents(HEAD + ARCHIVE), Lies(tools=files), "node.yaml")
    assert compiled.specification
    contents = [want.content for want in compiled.specification.wants if isinstance(want, File)]
    assert [each.is_to_go for each in contents if isinstance(each, Lying)] == [True, False, False]


def test_a_specification_shows_no_secret() -> None:
    secret = "swordfish"  # noqa: S105 - of nobody
    text = (
        f"files: [{{path: 'C:\\a', text: {secret}}}, {{path: 'C:\\b', source: {{sha256: {'0' * 64},"
        f" url: 'https://a.example/?sig={secret}'}}}}]\n"
        f"environmentVariables: [{{name: A, value: {secret}, secret: true}}]\n"
        f"services: [{{name: a, program: 'C:\\a.exe', environment: {{A: {secret}}}}}]\n"
        f"commands: [{{name: a, text: {secret}}}]\n"
    )
    made = documents(HEAD + text)
    specification = compile_node(made, obtain, "node.yaml").specification
    assert specification
    assert [want.path for want in specification.wants if isinstance(want, File)]
    assert secret not in repr(made) + repr(specification)


def test_a_document_loads_the_kinds_that_are_in_it_and_no_other() -> None:
    program = (
        f"import sys; sys.path[:0] = {sys.path!r}; from agent.sources.node_configuration import reading\n"
        f"assert reading.read('node.yaml', {(HEAD + FILE).encode()!r}).documents\n"
        "kinds = 'agent.sources.node_configuration.kinds.'\n"
        "print(*sorted(name.removeprefix(kinds) for name in sys.modules if name.startswith(kinds)))"
    )
    asked = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert asked.stdout.split() == ["files", "values"]
