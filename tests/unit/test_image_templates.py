"""packaging/image, as far as it can be judged without Packer and without Windows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agent.preflight import image

IMAGE = Path(__file__).parents[2] / "packaging" / "image"
ANSWERS = sorted(IMAGE.glob("answers/*/Autounattend.xml"))
NAMESPACE = "{urn:schemas-microsoft-com:unattend}"
OF_PASSES = {
    "windowsPE": {"Microsoft-Windows-International-Core-WinPE", "Microsoft-Windows-Setup"},
    "specialize": {"Microsoft-Windows-Shell-Setup"},
    "oobeSystem": {"Microsoft-Windows-Shell-Setup"},
}
"""Which of Windows' parts are set up in which pass."""


def text(path: str) -> str:
    return (IMAGE / path).read_text("utf-8")


def default_of(variable: str, file: Path = IMAGE / "variables.pkr.hcl") -> str:
    declared = file.read_text("utf-8")
    found = re.search(rf'variable "{variable}" {{[^}}]*?default\s*= "([^"]*)"', declared)
    assert found is not None
    return found[1]


def declared(file: str) -> dict[str, bool]:
    """Each variable of a template, and whether it has a default."""
    found = re.findall(r'^variable "(\w+)" {\n(.*?)^}', text(file), re.MULTILINE | re.DOTALL)
    return {name: re.search(r"^  default\s*=", body, re.MULTILINE) is not None for name, body in found}


def named(part: str) -> set[str]:
    """The variables that a part of the page names; options of Packer's and values are written otherwise."""
    return set(re.findall(r"`(\w+)`", part)) & {
        name for file in IMAGE.glob("*.pkr.hcl") for name in declared(file.name)
    }


def test_the_page_names_what_each_build_has_to_be_given() -> None:
    needed = {name for name, has_default in declared("variables.pkr.hcl").items() if not has_default}
    before, _, _ = text("README.md").partition("| builder |")
    assert named(before.partition("## What to give")[2]) == needed
    given = {
        name for each in IMAGE.glob("*.pkrvars.hcl") for name in re.findall(r"(?m)^(\w+)", text(each.name))
    }
    assert needed - given == {"wmcb_sha256"}


@pytest.mark.parametrize("builder", ["hyperv", "qemu", "vsphere", "aws", "azure"])
def test_the_page_names_the_variables_of_each_builder(builder: str) -> None:
    template = text(f"{builder}.pkr.hcl")
    source = re.search(r'source "([\w-]+)" "(\w+)"', template)
    assert source is not None
    (row,) = (line for line in text("README.md").splitlines() if f"`{source[1]}.{source[2]}`" in line)
    medium = {"iso_url", "iso_checksum"} & set(re.findall(r"var\.(\w+)", template))
    assert named(row) == declared(f"{builder}.pkr.hcl").keys() | medium
    fields = re.search(r"object\({\n(.*?)}\)", template, re.DOTALL)
    for field in re.findall(r"^ *(\w+)", fields[1], re.MULTILINE) if fields else ():
        assert re.search(rf"\b{field}\b", row)


def test_the_page_names_the_variables_of_all_builders() -> None:
    after = text("README.md").partition("These serve all builders:")[2].partition("\n## ")[0]
    own = {"name", "windows"}
    assert named(after) == declared("variables.pkr.hcl").keys() - own


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: path.parent.name)
def test_answers(path: Path) -> None:
    root = ElementTree.parse(path).getroot()  # noqa: S314 - our own
    assert root.tag == f"{NAMESPACE}unattend"
    passes = {each.get("pass"): each for each in root}
    assert {
        name: {component.get("name") for component in settings} for name, settings in passes.items()
    } == OF_PASSES
    components = [component for settings in root for component in settings]
    assert {each.get("processorArchitecture") for each in components} == {"amd64"}
    assert {each.get("publicKeyToken") for each in components} == {"31bf3856ad364e35"}
    values = [each.text for each in root.iter(f"{NAMESPACE}Value")]
    assert f"Windows Server {path.parent.name} SERVERDATACENTERCORE" in values
    assert values.count(default_of("password")) == 2, "the account's, and that of its first logon"
    tools, way_in = (each.text or "" for each in root.iter(f"{NAMESPACE}CommandLine"))
    assert re.findall(r"if exist %d:\\(\w+\.exe)", tools) == ["setup64.exe", "setup.exe"], "of a newer disc"
    assert r"do if not exist %d:\sources (if " in tools, "Windows' own medium has a setup.exe as well"
    assert r'"/qn REBOOT=R") else if exist %d:\setup.exe start' in tools, "only where there is no setup64.exe"
    assert "(winrm ssh)" in way_in
    assert re.findall(r"allow-%w\.ps1", way_in)
    orders = [each.findtext(f"{NAMESPACE}Order") for each in root.iter(f"{NAMESPACE}SynchronousCommand")]
    assert orders == ["1", "2"]


def test_there_is_one_for_each_windows() -> None:
    assert [path.parent.name for path in ANSWERS] == ["2022", "2025"]
    assert [path.name for path in sorted(IMAGE.glob("*.pkrvars.hcl"))] == [
        f"windows-{path.parent.name}.pkrvars.hcl" for path in ANSWERS
    ]


def test_what_belongs_to_one_windows_is_said_of_each() -> None:
    """Else an image of the newer one would be made from the older one's default."""
    said = {
        path.name: dict(re.findall(r'^(\w+)\s*= "([^"]*)"$', path.read_text("utf-8"), re.MULTILINE))
        for path in sorted(IMAGE.glob("*.pkrvars.hcl"))
    }
    older, newer = said.values()
    assert older.keys() == newer.keys() == {"name", "windows", "aws_source", "azure_sku", "vsphere_guest"}
    assert {name for name in older if older[name] == newer[name]} == set()
    for name in ("aws_source", "azure_sku", "vsphere_guest"):
        assert default_of(name, IMAGE / f"{name.partition('_')[0]}.pkr.hcl") == older[name]


@pytest.mark.parametrize("builder", ["hyperv", "qemu", "vsphere", "aws"])
def test_the_ways_in_are_the_same_for_all(builder: str) -> None:
    port = re.search(r"-Port (\d+)", text("scripts/allow-winrm.ps1"))
    assert port is not None
    said = dict(re.findall(r"^  (\w+)\s+= (.+)$", text(f"{builder}.pkr.hcl"), re.MULTILINE))
    assert (said["communicator"], said["winrm_port"]) == ("var.communicator", port[1])
    assert said["winrm_use_ntlm"] == "true", "Windows takes no password in clear, unless it is told to"
    assert said["ssh_file_transfer_method"] == '"sftp"', "Windows' scp fails where it has not"
    script = "scripts/allow-${var.communicator}.ps1"
    assert (script if builder == "aws" else "= local.answers\n") in text(f"{builder}.pkr.hcl")
    assert script in text("image.pkr.hcl")


@pytest.mark.parametrize("builder", ["hyperv", "qemu", "vsphere"])
def test_setup_finds_its_answers_and_is_started(builder: str) -> None:
    said = dict(re.findall(r"^  (\w+)\s+= (.+)$", text(f"{builder}.pkr.hcl"), re.MULTILINE))
    assert said["cd_files"] == "local.answers", "not every UEFI tells Windows of a floppy"
    assert said["boot_command"] == "local.any_key"
    presses = re.search(
        r'any_key = \[join\("", \[for \w+ in range\((\d+)\) : "<up><wait>"', text("image.pkr.hcl")
    )
    assert presses is not None
    assert int(presses[1]) >= 20, "seconds, from before the medium asks for a key until it has gone past that"


def test_what_amazon_takes_for_a_template_is_none() -> None:
    """User data is one to Packer, and would be changed on the way."""
    assert not any("{{" in text(f"scripts/allow-{way}.ps1") for way in ("winrm", "ssh"))


def test_nothing_is_run_that_was_not_brought() -> None:
    steps = text("image.pkr.hcl")
    scripts = set(re.findall(r'"(scripts/[\w.-]+)"', steps))
    scripts |= {f"scripts/allow-{way}.ps1" for way in ("winrm", "ssh")}
    assert scripts == {f"scripts/{path.name}" for path in (IMAGE / "scripts").iterdir()}


def test_what_only_packer_needs_is_gone_before_the_look() -> None:
    steps = text("image.pkr.hcl")
    order = ("forget.ps1", "preflight --image", "seal.ps1")
    assert sorted(order, key=steps.index) == list(order)
    gone = text("scripts/forget.ps1")
    for left in (r"C:\given", "administrators_authorized_keys", "ssh_host_*", "sshd, WinRM"):
        assert left in gone
    for answers in (
        r"Panther\unattend.xml",
        r"Panther\unattend-original.xml",
        r"System32\Sysprep\unattend.xml",
    ):
        assert answers in gone
        assert rf"C:\Windows\{answers}" in image.ANSWERS


def test_sysprep_is_the_last_that_packer_asks_for() -> None:
    """After it remote management lets nobody in."""
    closing = text("scripts/close.ps1")
    order = (
        "exit 0",
        "CertificateThumbprint",
        r'& "$PSScriptRoot\seal.ps1"',
        "Set-LocalUser",
        "shutdown.exe",
    )
    assert sorted(order, key=closing.index) == list(order)
    last = text("image.pkr.hcl").rsplit("provisioner", 1)[1]
    assert 'only   = ["amazon-ebs.windows", "azure-arm.windows"]' in last, "these have no last command"
    assert "scripts/seal.ps1" in last
    for builder in ("hyperv", "qemu", "vsphere"):
        assert re.search(r"shutdown_command\s+= local.close\n", text(f"{builder}.pkr.hcl"))


def test_cloudbase_init_gives_a_copy_its_name_once() -> None:
    """At its first call it would cut it, and count it as given."""
    first = (IMAGE.parent / "cloudbase-init" / "cloudbase-init-unattend.conf").read_text("utf-8")
    assert "SetHostNamePlugin" not in first
    installing = text("scripts/install-cloudbase-init.ps1")
    assert "cloudbase-init-unattend.conf" in installing
    assert "SetSetupComplete.cmd" in installing, "or its service takes this machine for a copy"


def test_azure_sets_its_copies_up_itself() -> None:
    """By an answer file of its own, in whose place cloudbase-init's would be; then its own agent tells it."""
    steps = re.findall(r'  provisioner "powershell" {\n(.*?)\n  }\n', text("image.pkr.hcl"), re.DOTALL)
    (installing,) = (step for step in steps if "install-cloudbase-init.ps1" in step)
    assert re.search(r'except\s+= \["azure-arm.windows"\]', installing)


def test_no_update_is_one_that_windows_only_offers() -> None:
    assert "BrowseOnly=0" in text("scripts/update-windows.ps1")


def test_a_step_that_fails_ends_its_script() -> None:
    inline = r'provisioner "windows-shell" {[^}]*?inline\s*= \[(.*?)\]\n'
    scripts = re.findall(inline, text("image.pkr.hcl").replace("${local.prepare}", "prepare"), re.DOTALL)
    assert len(scripts) == 3
    for script in scripts:
        *before, _ = [line for line in script.splitlines() if line.strip() and "#" not in line]
        assert all("|| exit /b 1" in line for line in before)


def test_no_password_can_be_guessed() -> None:
    assert not re.search(r"Get-Random\b", re.sub("#.*", "", text("scripts/close.ps1")))
