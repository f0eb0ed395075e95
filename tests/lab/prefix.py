"""Wine prefixes: the disk and registry of a Windows machine.

One is prepared and kept in the cache. Each machine then writes to a layer of its own over it (overlayfs, in
memory): a prefix has 770 MB, so a copy takes a second and more, a layer some milliseconds. Hard links would
be quick too, but a program that opens one of Windows' own files for writing would change the prepared one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lab import cache, namespace, programs, root, trace, wine
from lab.means import Missing

PREPARING = "/prefix"
# How old a prefix made just now looks, so that what Wine rewrites with the day of its start differs at once
# between the prefix and a machine, and not only on the day after.
AGE = timedelta(days=3)

# Libraries that lie where Windows has its own.
IN_SYSTEM32 = ("pdh", "dismapi")
# The lab's own classes, by the library in C:/standins that has them.
CLASSES = {
    "{E2B3C97F-6AE1-41AC-817A-F6F92166D7DD}": "firewall",
    "{2C5BC43E-3369-4C33-AB0C-BE9469677AF4}": "firewall",
    "{76A64158-CB41-11D1-8B02-00600806D9B6}": "defender",
}
# The features of Windows that there are (standins/dismapi.c): their state, what they are part of, and whether
# a change of them needs a restart.
STAGED, REMOVED = 2, 3
FEATURES = {
    "Containers": (STAGED, "", True),
    "Microsoft-Hyper-V": (STAGED, "", True),
    "NetFx3": (REMOVED, "", False),
    "RemoteAccess": (STAGED, "", False),
    "RemoteAccessServer": (STAGED, "RemoteAccess", True),
    "TelnetClient": (STAGED, "", False),
}


def _classes() -> str:
    return "\n".join(
        rf"[HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\{class_id}\InprocServer32]"
        f'\n@="C:\\\\standins\\\\{library}.dll"\n"ThreadingModel"="Both"\n'
        for class_id, library in CLASSES.items()
    )


def _features() -> str:
    return "\n".join(
        rf"[HKEY_LOCAL_MACHINE\SOFTWARE\standins\features\{name}]"
        f'\n"State"=dword:{state}\n"Restart"=dword:{restart:d}\n'
        + (f'"Parent"="{parent}"\n' if parent else "")
        for name, (state, parent, restart) in FEATURES.items()
    )


# Values that Windows always has and Wine does not; the kubelet reads them at its start.
REGISTRY = rf"""Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\SOFTWARE\Microsoft\Windows NT\CurrentVersion]
"UBR"=dword:000003e8

[HKEY_LOCAL_MACHINE\SYSTEM\HardwareConfig]
"LastConfig"="{{11111111-2222-3333-4444-555555555555}}"

[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control\Session Manager\Memory Management\PrefetchParameters]
"BootId"=dword:00000007

; Wine gives a new service's process ten seconds to speak, too few on a busy machine; Windows gives thirty.
[HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Control]
"ServicesPipeTimeout"="60000"

; The lab's own library in place of Wine's. In the registry, since services do not inherit WINEDLLOVERRIDES.
[HKEY_CURRENT_USER\Software\Wine\DllOverrides]
"pdh"="native"

; COM classes of the lab's own, in place of Wine's.
{_classes()}

; `winmgmts:`. In an apartment of its own it is reached by a proxy, and Wine has none for what wmi asks as it
; is imported (ITypeComp), where Windows has.
[HKEY_LOCAL_MACHINE\SOFTWARE\Classes\CLSID\{{172BDDF8-CEEA-11D1-8B05-00600806D9B6}}\InprocServer32]
"ThreadingModel"="Both"

; What the lab's own dismapi.dll knows.
{_features()}

; What Wine writes down where a test asks for a trace.
[HKEY_CURRENT_USER\Software\Wine\Debug]
"RelayInclude"="{";".join(trace.FUNCTIONS)}"
"RelayFromExclude"=""
"""


def prepared() -> Path:
    """The prefix that all others start from."""
    own = (programs.folder() / f"{name}.dll" for name in (*IN_SYSTEM32, *sorted(set(CLASSES.values()))))
    key = cache.digest(root.folder().name, *own, REGISTRY, _prepare, _age, str(AGE))
    return cache.built("prefix", key, _build)


def _build(into: Path) -> None:
    code = namespace.enter(
        [sys.executable, "-m", "lab.prefix"], [namespace.Mount(into, "/lab" + PREPARING, writable=True)]
    )
    if code != 0:
        raise Missing("the Wine prefix could not be made, see above")


def _prepare() -> None:
    place = "/lab" + PREPARING
    environment = wine.environment(place)
    wine.run([wine.LOADER, "wineboot.exe", "-i"], environment)
    # A program started before this wineserver has ended starts a second services.exe: services come and go.
    wine.run([wine.SERVER, "-w"], environment)
    windows = wine.outside(place) / "drive_c" / "windows"
    for library in IN_SYSTEM32:
        shutil.copyfile(wine.outside(f"/lab/programs/{library}.dll"), windows / "system32" / f"{library}.dll")
    (windows.parent / "standins").mkdir()
    for library in set(CLASSES.values()):
        source = wine.outside(f"/lab/programs/{library}.dll")
        shutil.copyfile(source, windows.parent / "standins" / f"{library}.dll")
    (windows / "temp" / "lab.reg").write_text(REGISTRY)
    wine.run([wine.LOADER, "regedit.exe", "/S", r"C:\windows\temp\lab.reg"], environment)
    wine.run([wine.SERVER, "-w"], environment)
    (windows / "temp" / "lab.reg").unlink()
    drive = wine.outside(place) / "dosdevices" / "z:"
    drive.unlink()
    drive.symlink_to(namespace.DRIVE_Z)
    # Debian's Wine keeps the name of the wineserver's folder here; machines with one name would share it.
    (wine.outside(place) / "wineserver").unlink()
    _age(wine.outside(place))


def _age(prefix: Path) -> None:
    """Make the prefix look as if it had been made AGE earlier: the day in its registry, its files' times."""
    registry = prefix / "system.reg"
    text, dates = re.subn(
        r'^"DriverDate"="\d\d-\d\d-\d{4}"$',
        f'"DriverDate"="{datetime.now(tz=UTC) - AGE:%m-%d-%Y}"',
        registry.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    if not dates:
        raise Missing("Wine's display driver has no DriverDate in the registry: the lab expects one")
    registry.write_text(text, encoding="utf-8")
    for path in (prefix / "drive_c").rglob("*"):
        earlier = path.lstat().st_mtime - AGE.total_seconds()
        os.utime(path, (earlier, earlier), follow_symlinks=False)


def layer(lower: Path, place: Path) -> None:
    """Mounts at `place/prefix` a prefix whose changes go to memory: only inside, where mounts are private."""
    for name in ("changes", "work", "prefix"):
        (place / name).mkdir(parents=True)
    options = f"lowerdir={lower},upperdir={place / 'changes'},workdir={place / 'work'},redirect_dir=on"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", str(place / "prefix")], check=True)


if __name__ == "__main__":
    _prepare()
