"""What of a machine every copy of it would have, and should not."""

from __future__ import annotations

from pathlib import PureWindowsPath

import pytest

from agent.host.errors import InUse
from agent.host.networks import ContainerNetwork
from agent.preflight import image
from agent.preflight.situation import Verdict
from sandbox.cli.given import Machine
from sandbox.engine.world import changed

TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - the one of kubeadm's documentation
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"
KUBELET_LOG = r"C:\var\log\kubelet\kubelet.log"
CLOUDBASE_LOG = r"C:\Program Files\Cloudbase Solutions\Cloudbase-Init\log\cloudbase-init.log"
SSH = r"C:\ProgramData\ssh"
PANTHER = r"C:\Windows\Panther\unattend.xml"

FOUND = {
    "credentials": (r"C:\etc\kubernetes\kubelet.conf", "", "image-identity"),
    "keys": (r"C:\var\lib\kubelet\pki\kubelet-client-current.pem", "", "image-identity"),
    "addresses of pods": (r"C:\var\lib\cni\networks\cbr0\10.0.0.2", "", "image-identity"),
    "who is let in": (SSH + r"\administrators_authorized_keys", "ssh-ed25519 AAAA packer", "image-ssh-keys"),
    "who is let in at home": (r"C:\Users\capi\.ssh\authorized_keys", "ssh-ed25519 AAAA", "image-ssh-keys"),
    "the key of OpenSSH's server": (SSH + r"\ssh_host_ed25519_key", KEY, "image-ssh-keys"),
    "user data of cloudbase-init": (r"C:\ProgramData\cloudbase-init\user-data", "", "image-user-data"),
    "what Cluster API wrote": (r"C:\run\kubeadm\kubeadm-join-config.yaml", "", "image-user-data"),
    "a password": (PANTHER, "<AdministratorPassword>\n <Value>swordfish</Value>", "image-answer-files"),
    "the answers as they were": (
        r"C:\Windows\Panther\unattend-original.xml",
        "<Password><Value>swordfish</Value>",
        "image-answer-files",
    ),
    "one whose Value comes last": (
        PANTHER,
        "<Password><PlainText>true</PlainText><Value>swordfish</Value></Password>",
        "image-answer-files",
    ),
    "one with attributes": (
        PANTHER,
        '<Password wcm:action="add"><Value xml:space="preserve">swordfish</Value></Password>',
        "image-answer-files",
    ),
    "one behind a remark": (
        PANTHER,
        "<Password><!-- of the account --><Value>swordfish</Value></Password>",
        "image-answer-files",
    ),
    "a second one": (
        PANTHER,
        "<Password><Value>*SENSITIVE*DATA*DELETED*</Value></Password>\n<Password>swordfish</Password>",
        "image-answer-files",
    ),
    "one kept as it is": (
        PANTHER,
        "<Password><Value><![CDATA[swordfish]]></Value></Password>",
        "image-answer-files",
    ),
    "one without a Value": (PANTHER, "<Password>swordfish</Password>", "image-answer-files"),
    "a bootstrap token": (CLOUDBASE_LOG, f"--token {TOKEN} --hash", "image-logs"),
    "a private key": (KUBELET_LOG, KEY, "image-logs"),
    "a token of an account": (r"C:\var\log\containerd\containerd.log", f"bearer={JWT}", "image-logs"),
    "one of a pod, further below": (r"C:\var\log\pods\a\b\0.log", f"token {TOKEN}\n", "image-logs"),
}
SECRETS = (TOKEN, "swordfish", JWT, "MIIE")

NOT_FOUND = {
    "a password that Windows' setup has used": (
        PANTHER,
        "<Password>\n  <Value>*SENSITIVE*DATA*DELETED*</Value>\n</Password>",
    ),
    "one that it has used, told to be plain": (
        PANTHER,
        "<Password>\n<PlainText>false</PlainText>\n<Value>*SENSITIVE*DATA*DELETED*</Value></Password>",
    ),
    "no password": (PANTHER, "<Password></Password>"),
    "an empty one": (PANTHER, "<Password><PlainText>true</PlainText><Value> </Value></Password>"),
    "none at all": (PANTHER, "<Password/><Value>no password</Value><Password><Value /></Password>"),
    "a remark about it": (PANTHER, "<!-- <Password> is left out --><a>x</a>"),
    "a remark where it was": (PANTHER, "<Password><!-- by the installer --></Password>"),
    "how OpenSSH's server is set up": (SSH + r"\sshd_config", "HostKey __PROGRAMDATA__/ssh/ssh_host_rsa_key"),
    "whom somebody goes to": (r"C:\Users\Administrator\.ssh\known_hosts", "win1 ssh-ed25519 AAAA"),
    "a name of a module": (KUBELET_LOG, "client.certificatesigning started in module.go:12"),
    "a hash": (KUBELET_LOG, "sha256:" + "0123456789abcdef" * 4),
    "a file's name": (KUBELET_LOG, "wrote kubern.0123456789abcdef.pem"),
}


@pytest.fixture
def prepared(machine: Machine) -> Machine:
    machine.facts(administrator=True)
    return machine


def verdicts(machine: Machine) -> dict[str, str]:
    answer = machine.wmcb("preflight", "--image", "--output", "json")
    document = answer.document
    assert document["passed"] == (answer.code == 0)
    return {each["id"]: each["verdict"] for each in document["checks"]}


def test_a_machine_that_nobody_has_used(prepared: Machine) -> None:
    answer = prepared.wmcb("preflight", "--image")
    assert (answer.code, answer.err) == (0, "")
    *checks, last = answer.out.splitlines()
    assert [line.split()[0] for line in checks] == list(image.IDS)
    assert last == "0 errors, 0 warnings: this machine is fit to be an image"


@pytest.mark.parametrize(("path", "content", "check"), FOUND.values(), ids=FOUND)
def test_what_is_one_machines_alone(prepared: Machine, path: str, content: str, check: str) -> None:
    prepared.put(path, content.encode())
    assert verdicts(prepared) == {name: "error" if name == check else "ok" for name in image.IDS}
    answer = prepared.wmcb("preflight", "--image")
    assert answer.code == 3
    line = next(line for line in answer.out.splitlines() if line.startswith(check))
    assert any(str(place) in line for place in (path, *_folders(path)))
    assert not any(secret in answer.out for secret in SECRETS)
    assert prepared.wmcb("preflight", "--image", "--ignore-preflight-errors", check).code == 0


def _folders(path: str) -> list[str]:
    names = path.split("\\")
    return ["\\".join(names[:count]) for count in range(3, len(names))]


@pytest.mark.parametrize(("path", "content"), NOT_FOUND.values(), ids=NOT_FOUND)
def test_what_only_looks_like_it(prepared: Machine, path: str, content: str) -> None:
    prepared.put(path, content.encode())
    assert set(verdicts(prepared).values()) == {"ok"}


def test_an_answer_file_in_utf_16(prepared: Machine) -> None:
    prepared.put(PANTHER, "<Password>\r\n<Value>swordfish</Value>".encode("utf-16"))
    assert verdicts(prepared)["image-answer-files"] == "error"


def test_a_log_that_cannot_be_read_keeps_no_other_from_being_read(prepared: Machine) -> None:
    prepared.put(CLOUDBASE_LOG, b"")
    files = prepared.host.files

    def tail(path: PureWindowsPath, limit: int) -> bytes:
        if str(path) == CLOUDBASE_LOG:
            raise InUse("read", str(path), 32)
        return files.tail(path, limit)

    held = changed(prepared.host, files={"tail": tail})
    verdict, text = image.logs(held)
    assert verdict is Verdict.WARNING
    assert CLOUDBASE_LOG in text
    prepared.put(KUBELET_LOG, KEY.encode())
    assert image.logs(held)[0] is Verdict.ERROR


def test_a_node(prepared: Machine) -> None:
    assert prepared.wmcb(*prepared.node, "--runtime-service", "none").code == 0
    assert verdicts(prepared)["image-node"] == "error"


def test_container_networks(prepared: Machine) -> None:
    prepared.host.networks.create(ContainerNetwork("0a0b0c0d-0000-0000-0000-000000000001", "nat", "NAT"))
    assert verdicts(prepared)["image-networks"] == "warning"
    assert (
        f"(nat); {prepared.called} reset --all-hns deletes them" in prepared.wmcb("preflight", "--image").out
    )


def test_a_node_is_asked_for_apart(prepared: Machine) -> None:
    answer = prepared.wmcb("preflight", "--image", *prepared.node)
    assert answer.code == 2
    assert "--ignition: an image is looked at as it is" in answer.err
