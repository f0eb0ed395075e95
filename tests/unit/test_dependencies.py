"""Which modules use which package: CONTRIBUTING.md has the reasons."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULES = {
    "PyYAML": {"yaml"},
    "pywin32": {
        *("pythoncom", "pywintypes", "servicemanager", "win32api", "win32com", "win32crypt", "win32event"),
        *(
            "win32evtlog",
            "win32file",
            "win32job",
            "win32pipe",
            "win32process",
            "win32security",
            "win32service",
        ),
    },
}
"""What a package is imported as, where that is not its own name."""

USED_BY = {
    "certifi": {"agent.fetch"},
    "cryptography": {
        "agent.certificates",
        "agent.fetch.tls_failure",
        "agent.kube.access",
        "agent.kube.discovery",
        "agent.sources.signatures",
    },
    "psutil": {"agent.host.windows.facts", "agent.host.windows.processes"},
    "PyYAML": {
        "agent.documents",
        "agent.sources.cloudconfig.document",
        "agent.sources.kubeadm.yaml_text",
        "agent.yaml_events",
    },
    "pywin32": {
        "agent.host.windows.api.com",
        "agent.host.windows.api.files",
        "agent.host.windows.running",
        "agent.host.windows.api.processes",
        "agent.host.windows.api.security",
        "agent.host.windows.api.service_control",
        "agent.host.windows.closing",
        "agent.host.windows.facts",
        "agent.host.windows.failure",
        "agent.host.windows.file_watch",
        "agent.host.windows.firewall",
        "agent.host.windows.machine",
        "agent.host.windows.registry",
        "agent.host.windows.roots",
        "agent.host.windows.routes",
        "agent.host.windows.service_program",
    },
    "requests": {"agent.fetch.session"},
    "tomlkit": {"agent.resources.containerd_toml"},
    "truststore": {"agent.fetch.trust"},
    "urllib3": {"agent.fetch.connection", "agent.fetch.session"},
    "wmi": {"agent.host.windows.api.com"},
}
"""Outside the sandbox. A package that one more module uses may have to be imported later, or nearer."""


def _imported() -> dict[str, set[str]]:
    """Return the modules that import a package, whether at their top, in a function or for its types."""
    found = defaultdict(set)
    for folder in ("agent", "service"):
        for path in (ROOT / folder).rglob("*.py"):
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                for name in names:
                    found[name.partition(".")[0]].add(module)
    return found


def test_the_packages_that_the_product_needs_are_used_where_it_is_said() -> None:
    imported = _imported()
    outside = {
        package: {
            module
            for name in MODULES.get(package, {package})
            for module in imported[name]
            if not module.startswith("agent.host.sandbox")
        }
        for package in USED_BY
    }
    assert outside == USED_BY


def test_each_package_that_the_product_needs_is_declared_and_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split("[^A-Za-z0-9_-]", each)[0].lower() for each in project["dependencies"]}
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| the exe needs |")[2]
    reasons = re.findall(r"^\| (\w+) \| \S.*\|$", table.partition("\n\n")[0], re.MULTILINE)
    assert declared == {each.lower() for each in USED_BY}
    assert sorted(reasons) == sorted(USED_BY)
