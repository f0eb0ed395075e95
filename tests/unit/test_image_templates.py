"""packaging/image, as far as it can be judged without Packer and without Windows."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

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
    assert "setup64.exe" in tools, "Windows' own medium has a setup.exe as well"
    assert "allow-winrm.ps1" in way_in
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


def test_the_way_in_is_one() -> None:
    own = text("scripts/allow-winrm.ps1")
    assert text("scripts/allow-winrm-of-ec2.txt") == f"<powershell>\n{own}</powershell>\n"
    port = re.search(r"-Port (\d+)", own)
    assert port is not None
    for builder in ("hyperv", "qemu", "vsphere", "aws"):
        assert re.search(rf"winrm_port\s*= {port[1]}\n", text(f"{builder}.pkr.hcl")), builder


def test_nothing_is_run_that_was_not_brought() -> None:
    steps = text("image.pkr.hcl")
    scripts = set(re.findall(r'"(scripts/[\w.-]+)"', steps + text("aws.pkr.hcl") + text("qemu.pkr.hcl")))
    assert scripts == {f"scripts/{path.name}" for path in (IMAGE / "scripts").iterdir()}
    assert steps.index("preflight --image") < steps.index("seal.ps1")


def test_a_step_that_fails_ends_its_script() -> None:
    inline = r'provisioner "windows-shell" {[^}]*?inline\s*= \[(.*?)\]\n'
    scripts = re.findall(inline, text("image.pkr.hcl").replace("${local.prepare}", "prepare"), re.DOTALL)
    assert len(scripts) == 2
    for script in scripts:
        *before, _ = [line for line in script.splitlines() if line.strip() and "#" not in line]
        assert all("|| exit /b 1" in line for line in before)


def test_no_password_can_be_guessed() -> None:
    assert not re.search(r"Get-Random\b", re.sub("#.*", "", text("scripts/seal.ps1")))
