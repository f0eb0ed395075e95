"""The lab's own programs, compiled from tests/lab/standins."""

from __future__ import annotations

from pathlib import Path

from lab import cache, iphlpapi, root, toolchains
from lab.repository import LOCKS, STANDINS

# Where they are in the root, and how Windows programs see that.
PLACE = "/lab/programs"
ON_WINDOWS = r"Z:\lab\programs"

KUBELET = STANDINS / "kubelet"
HNS = STANDINS / "hns"


def folder() -> Path:
    """All of them in one folder."""
    sources = (*sorted(STANDINS.glob("*.[ch]")), KUBELET, HNS)
    key = cache.digest(LOCKS / "lab.txt", root.folder().name, *sources, _compile, iphlpapi.build)
    return cache.built("programs", key, _compile)


def _compile(into: Path) -> None:
    for source, output, *options in (
        ("access.c", "access.exe", "-ladvapi32", "-lntdll"),
        ("pdh.c", "pdh.dll", "-shared"),
        ("planted.c", "planted.dll", "-shared"),
        ("run.c", "run.exe", "-municode", "-ladvapi32"),
        ("shim.c", "shim.exe", "-municode"),
        ("scm.c", "scm.exe", "-municode", "-ladvapi32"),
    ):
        toolchains.compile_c([STANDINS / source], into / output, *options)
    iphlpapi.build(into)
    for name in ("computenetwork", "vmcompute"):
        sources = [HNS / f"{name}.c", HNS / "calls.c"]
        toolchains.compile_c(sources, into / f"{name}.dll", "-shared", "-lole32", "-ladvapi32")
    for name, *others in (("defender", "automation"), ("dismapi",), ("firewall", "automation")):
        sources = [STANDINS / f"{each}.c" for each in (name, "standin", *others)]
        libraries = [f"-l{each}" for each in ("ole32", "oleaut32", "uuid", "advapi32", "ws2_32")]
        # Windows' header declares what a library of classes exports, and not as exported.
        usual = ("-shared", "-Wno-dll-attribute-on-redeclaration")
        toolchains.compile_c(sources, into / f"{name}.dll", *usual, *libraries)
    powershell = [STANDINS / "powershell.c", STANDINS / "standin.c"]
    toolchains.compile_c(powershell, into / "powershell.exe", "-municode", "-ladvapi32")
    preloaded = ("-shared", "-fPIC", "-ldl")
    toolchains.compile_c([STANDINS / "noroute6.c"], into / "noroute6.so", *preloaded, target=toolchains.LINUX)
    for module in (KUBELET, HNS):
        toolchains.build_go(module, into / f"{module.name}.exe", options=["-ldflags=-s -w"])
