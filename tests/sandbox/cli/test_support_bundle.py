"""A bundle for whoever helps: all that is needed is in it, and no secret, wherever on the node one was."""

from __future__ import annotations

import base64
import json
import pathlib
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import NamedTuple

import pytest

from agent.cli.main import run
from agent.cli.scrubbing import REMOVED, Scrubber
from agent.engine.journal import Deed, Journal, Step
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, PROGRAM_FILE
from agent.host.sandbox import open_sandbox
from agent.host.sddl import SecurityDescriptor
from agent.resources.kind import Value
from agent.spec import EnvironmentVariable, File, Inline, Key, Service, Specification
from sandbox.engine import nodes
from sandbox.service.keeper import Keeper
from service import standing
from service.standing import Standing, State

Read = Callable[[], Mapping[str, str]]

KUBELET_LOG = PureWindowsPath(r"C:\var\log\kubelet\kubelet.log")
WMCB_LOG = PureWindowsPath(r"C:\ProgramData\wmcb\logs\wmcb.log")
HARMLESS = "I1119 kubelet.go:2450] Node is ready: --config=C:\\var\\lib\\kubelet\\config.yaml"


class Planted:
    """A secret for each place, none of which is like another."""

    def __init__(self) -> None:
        self.secrets: dict[str, str] = {}

    def __call__(self, where: str, form: str = "Geheim{:03}wort") -> str:
        secret = form.format(len(self.secrets))
        self.secrets[where] = secret
        return secret


def _write(host: Host, path: PureWindowsPath, text: str) -> None:
    for folder in [*path.parents][-2::-1]:
        if host.files.observe(folder) is None:
            host.files.make_directory(folder, PRIVATE_DIRECTORY)
    host.files.write(path, text.encode(), PRIVATE_FILE)


def _log(planted: Planted, which: str) -> str:
    def secret(where: str, form: str = "Geheim{:03}wort") -> str:
        return planted(f"{which}: {where}", form)

    token = secret("bootstrap token", "abc{:03}.0123456789abcdef")
    jwt = secret("service account's token", "eyJhbGciOiJSUzI1NiIsImtpZCI6{:03}.eyJpc3MiOiJr.c2lnbmF0dXJl")
    pem = secret("private key", "MHcCAQEEIGeheim{:03}Schluessel")
    return "\n".join(
        [
            HARMLESS,
            f"joined with {token}",
            f"Authorization: Bearer {jwt}",
            f"-----BEGIN EC PRIVATE KEY-----\n{pem}\n-----END EC PRIVATE KEY-----",
            f'"-----BEGIN PRIVATE KEY-----\\n{secret("private key in JSON", "MIGeheim{:03}")}\\n"',
            f"GET https://user:{secret('password in a URL')}@example.com/kubelet.exe failed",
            f"GET https://user@corp:{secret('password after a domain')}@example.com/kubelet.exe failed",
            f"GET https://x.blob.core.windows.net/a?sv=2024&sig={secret('signature in a URL')} failed",
            f'level=error password="{secret("password in quotes")} and more"',
            f"client-key-data: {secret('key data', 'R2VoZWlt{:03}')}",
            f"AccountKey={secret('account key')};EndpointSuffix=core.windows.net",
            f'{{"auths": {{"r.example.com": {{"auth_token": "{secret("JSON")}"}}}}}}',
            f"run: kubelet.exe --bootstrap-token {secret('option')} --v=2",
            HARMLESS,
        ]
    )


def _plant(host: Host, planted: Planted) -> None:
    """A node with a secret wherever there can be one."""
    arguments = (
        *("--token", planted("argument of a service")),
        f"--registry-password={planted('argument of a service, with =')}",
        "--v=2",
    )
    environment = {
        "API_TOKEN": planted("variable of a service"),
        "PLAIN": planted("variable of a service, with any name"),
        "HTTPS_PROXY": f"http://u:{planted('password of a proxy')}@proxy:3128",
    }
    variable = EnvironmentVariable("NODE_ROLE", planted("variable that was made"))
    wants = [
        replace(each, environment=environment) if isinstance(each, Service) else each
        for each in nodes.wants(arguments=arguments)
    ]
    wants = [variable if isinstance(each, EnvironmentVariable) else each for each in wants]
    key = f"-----BEGIN PRIVATE KEY-----\n{planted('content of a file')}\n"
    wants.append(File(nodes.ETC / "kubernetes" / "own.key", Inline(key.encode())))
    host.environment.set("NODE_ROLE", planted("variable as it was before"))
    host.environment.set("DB_PASSWORD", planted("variable of somebody's"))
    host.environment.set("DB_CREDS", planted("variable of credentials"))
    host.environment.set("DSN", planted("variable of somebody's, with any name"))
    make_so(host, Specification.of(wants), Silent())

    token = planted("kubeconfig: token", "tok{:03}.0123456789abcdef")
    data = base64.b64encode(planted("kubeconfig: key").encode()).decode()
    planted.secrets["kubeconfig: key, as it stands there"] = data
    password = planted("kubeconfig: password")
    kubeconfig = f"users:\n- user: {{token: {token}, client-key-data: {data}, password: {password}}}\n"
    _write(host, PureWindowsPath(r"C:\etc\kubernetes\bootstrap-kubelet.conf"), kubeconfig)
    variables = f"{environment['API_TOKEN']} {host.environment.get('DB_CREDS')}"
    everywhere = f"\nthe log has {password} {data} {variables}\n"
    _write(host, KUBELET_LOG, _log(planted, "kubelet.log") + everywhere)
    _write(host, WMCB_LOG, _log(planted, "wmcb.log"))
    _write(host, WMCB_LOG.with_name("wmcb.1.log"), _log(planted, "former log"))
    error = f"cannot fetch https://u:{planted('error of a ConfigMap')}@example.com/x"
    standing.write(host, Standing("nodes/windows", State.REFUSED, error))
    folder = StateFolder.of(host)
    _write(host, folder.made / "0123", planted("copy of a file's content"))
    before: dict[str, Value] = {
        "value": planted("journal: former value"),
        "environment": {"A": planted("journal: variable")},
    }
    journal = Journal.begin(folder)
    journal.add(Step(Deed.CHANGE, Key("environment_variable", "X"), before, {}))


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    return open_sandbox(tmp_path)


@pytest.fixture
def bundle(tmp_path: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """The files of a bundle that is made now, by name."""

    def made() -> Mapping[str, str]:
        place = tmp_path_factory.mktemp("given") / "node.zip"
        assert run(["--sandbox", str(tmp_path), "support-bundle", str(place)]) == 0
        with zipfile.ZipFile(place) as written:
            assert written.testzip() is None
            return {name: written.read(name).decode() for name in written.namelist()}

    return made


def _found(planted: Planted, files: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> list[str]:
    told = capsys.readouterr()
    texts = {**files, "stdout": told.out, "stderr": told.err}
    return [
        f"{where} ({secret}) in {name}"
        for where, secret in planted.secrets.items()
        for name, text in texts.items()
        if secret in text
    ]


def test_no_secret_is_in_it_and_what_helps_is(
    host: Host, bundle: Read, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = Planted()
    _plant(host, planted)
    assert len(set(planted.secrets.values())) == len(planted.secrets) > 50
    files = bundle()
    assert _found(planted, files, capsys) == []

    assert sorted(files) == [
        *(
            "about.json",
            "logs/kubelet.log",
            "logs/wmcb.1.log",
            "logs/wmcb.log",
            "machine.json",
            "repair.json",
            "services.json",
        ),
        *("state/folders.json", "state/following.json", "state/journal.json", "state/node.json"),
        *("state/node.json.copy", "status.json"),
    ]
    for log in ("logs/kubelet.log", "logs/wmcb.log"):
        assert files[log].splitlines().count(HARMLESS) == 2
    kubelet = json.loads(files["services.json"])["kubelet"]
    assert kubelet["command"] == [
        *(
            r"C:\k\kubelet.exe",
            "--windows-service",
            "--token",
            REMOVED,
            f"--registry-password={REMOVED}",
            "--v=2",
        )
    ]
    assert kubelet["environment"] == dict.fromkeys(("API_TOKEN", "PLAIN", "HTTPS_PROXY"), REMOVED)
    assert json.loads(files["machine.json"])["environment"]["DB_PASSWORD"] == REMOVED
    keys = [each["key"] for each in json.loads(files["state/node.json"])["resources"]]
    assert ["service", "kubelet"] in keys
    assert json.loads(files["status.json"])["interrupted"]
    assert json.loads(files["state/following.json"])["error"].startswith("cannot fetch https://")


def test_a_machine_that_is_no_node(bundle: Read) -> None:
    files = bundle()
    assert sorted(files) == [
        "about.json",
        "machine.json",
        "repair.json",
        "services.json",
        "state/folders.json",
        "status.json",
    ]
    assert json.loads(files["about.json"])["missing"] == {}
    assert json.loads(files["services.json"]) == dict.fromkeys(("wmcb", "kubelet", "containerd"))


def test_what_a_repair_would_do(tmp_path: pathlib.Path, host: Host, bundle: Read) -> None:
    keeper = Keeper(tmp_path, host)
    keeper.make(nodes.node(program=b"MZ" + bytes(1 << 20)))
    host.files.write(nodes.CONFIG, b"secret words", PRIVATE_FILE)
    host.files.write(nodes.KUBELET, b"MZ other", PROGRAM_FILE)
    host.environment.set("NODE_ROLE", "secret role")
    files = bundle()
    repair = json.loads(files["repair.json"])
    assert repair["pauses"] == [["service", "kubelet"]]
    config = ["file", str(nodes.CONFIG)]
    assert [(each["action"], each["resource"]) for each in repair["changes"]] == [
        ("change", config),
        ("change", ["environment_variable", "NODE_ROLE"]),
        ("restart", ["service", "kubelet"]),
    ]
    assert [each["field"] for each in repair["changes"][0]["differences"]] == ["sha256"]
    assert repair["starts"] == [["service", "kubelet"]]
    assert repair["left"] == [{"resource": ["file", str(nodes.KUBELET)], "fields": ["sha256"]}]
    assert [name for name, text in files.items() if "secret" in text] == []


DAMAGES = {
    "cut off": lambda text: text[: len(text) // 2],
    "no JSON": lambda text: "x" + text,
    "another shape": lambda text: json.dumps({"format": 1, "resources": [text]}),
    "empty": lambda _: "",
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_machine(
    host: Host, bundle: Read, damage: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    planted = Planted()
    _plant(host, planted)
    folder = StateFolder.of(host)
    for path in (folder.inventory, folder.inventory_copy, folder.journal, folder.following):
        host.files.write(path, damage(host.files.read(path).decode()).encode(), PRIVATE_FILE)
    files = bundle()
    assert _found(planted, files, capsys) == []
    assert {"services.json", "machine.json", "logs/kubelet.log", "logs/wmcb.log"} <= set(files)


def test_a_memory_that_a_user_may_have_written_is_not_believed(host: Host, bundle: Read) -> None:
    """It could name a file that only administrators may read, as the log of a service."""
    _plant(host, Planted())
    folder = StateFolder.of(host)
    memory = json.loads(host.files.read(folder.inventory))
    private = PureWindowsPath(r"C:\private.txt")
    host.files.write(private, b"for administrators", PRIVATE_FILE)
    memory["resources"][0]["manner"] = {"log": str(private)}
    host.files.write(folder.inventory, json.dumps(memory).encode(), PRIVATE_FILE)
    assert "logs/private.txt" in bundle()
    host.files.set_descriptor(folder.path, SecurityDescriptor.parse("O:BAG:BAD:(A;OICI;FA;;;BU)"))
    files = bundle()
    assert not [name for name in files if name.startswith("state/") or name == "logs/private.txt"]
    missing = json.loads(files["about.json"])["missing"]
    assert missing["state"] == missing["status"]
    assert "is open to users, so what it holds cannot be trusted" in missing["state"]


TEXTS = {
    "a flag with a file": r"--tls-private-key-file=C:\etc\kubernetes\own.key",
    "a hash": "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "a URL": "https://10.0.0.1:6443/api/v1/namespaces/kube-system/configmaps/windows-nodes",
    "a path": r"C:\ProgramData\wmcb\kept\0123456789abcdef0123456789abcdef0123456789abcdef",
    "a descriptor": "O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)",
    "a domain name": "windows-nodes.kube-system.svc.cluster.local",
    "words of it": "the token has expired; keys are rotated",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert Scrubber().text(text) == text


class _Misplaced(NamedTuple):
    where: str
    """Below a folder of the test's, unless it is the machine's."""
    code: int
    says: str


MISPLACED = {
    "a file is there": _Misplaced("given/node.zip", 2, "{place} is there already; give another name"),
    "a folder": _Misplaced("given", 2, "{place} is a folder; name a file in it, as wmcb-support-"),
    "no such folder": _Misplaced(
        "none/node.zip", 2, "there is no folder {parent} to write to; make it, or name another"
    ),
    "below a file": _Misplaced(
        "given/node.zip/a.zip", 2, "there is no folder {parent} to write to; make it, or name another"
    ),
    "no such folder of the machine": _Misplaced(
        r"C:\none\node.zip", 2, r"there is no folder C:\none to write to; make it, or name another"
    ),
    "a folder of the machine": _Misplaced(
        "C:\\Windows", 2, r"C:\Windows is a folder; name a file in it, as wmcb-support-"
    ),
    "no name of Windows": _Misplaced(
        r"C:\Windows\nul",
        1,
        r"cannot write C:\Windows\nul: Windows cannot have such a name (Windows error 123); 'nul' is ",
    ),
}


@pytest.mark.parametrize("case", MISPLACED.values(), ids=MISPLACED)
def test_where_it_cannot_be_written_nothing_is(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], case: _Misplaced
) -> None:
    there = tmp_path / "given" / "node.zip"
    there.parent.mkdir()
    there.write_text("another")
    open_sandbox(tmp_path / "c")
    place = case.where if case.where.startswith("C:") else str(tmp_path / case.where)
    assert run(["--sandbox", str(tmp_path / "c"), "support-bundle", place]) == case.code
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("wmcb: " + case.says.format(place=place, parent=place.rpartition("/")[0]))
    assert there.read_text() == "another"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["c", "given"]


def test_where_nobody_may_write(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder of Linux' that has no room for anybody's files."""
    assert run(["--sandbox", str(tmp_path), "support-bundle", "/sys/node.zip"]) == 1
    (*_, line) = capsys.readouterr().err.splitlines()
    assert line == "wmcb: cannot write /sys/node.zip: Permission denied; name a file in another folder"


def test_its_files_are_counted_as_they_are_in_it(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "node.zip"
    words = ["--sandbox", str(tmp_path / "c"), "support-bundle", str(place)]
    assert run(words) == 0
    with zipfile.ZipFile(place) as written:
        names = written.namelist()
    told = capsys.readouterr().out
    assert told == f"{place}: {len(names)} files, without secrets as far as they can be told\n"
    place.unlink()
    assert run([*words, "--output", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == sorted(names)


def test_for_programs(tmp_path: pathlib.Path, host: Host, capsys: pytest.CaptureFixture[str]) -> None:
    make_so(host, nodes.node(), Silent())
    words = ["--sandbox", str(tmp_path), "support-bundle", r"C:\node.zip", "--output", "json"]
    assert run(words) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["format"], told["file"], told["missing"]) == (1, r"C:\node.zip", {})
    assert host.files.observe(PureWindowsPath(r"C:\node.zip")) is not None
