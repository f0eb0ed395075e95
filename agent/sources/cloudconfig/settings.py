"""The keys of a cloud-config: those that are carried out, and why the others are not."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.sources.cloudconfig import scripts, written_files
from agent.sources.cloudconfig.document import Node, key_name, kind_of, value_name
from agent.sources.cloudconfig.model import Command, Findings, Refused
from agent.sources.cloudconfig.scripts import Line
from agent.sources.cloudconfig.written_files import Entry
from agent.spec import Shell

_TAKEN = frozenset({
    "write_files", "bootcmd", "runcmd", "ntp", "hostname", "set_hostname", "fqdn", "preserve_hostname",
    "prefer_fqdn_over_hostname", "create_hostname_file", "merge_how", "merge_type", "launch-index",
})  # fmt: skip
_DISKS = "the disks of a Windows machine are there before it joins"
_ACCOUNTS = "no account is made here; make it in the machine's image, or with net user in runcmd"
_KEYS = r"write administrators' keys to C:\ProgramData\ssh\administrators_authorized_keys, by write_files"
_PACKAGES = "for a package manager of Linux"
_CONSOLE = "how Linux is set up"
_IGNORED = {
    **dict.fromkeys(("disk_setup", "fs_setup", "mounts", "mount_default_fields", "swap", "growpart"), _DISKS),
    **dict.fromkeys(("resize_rootfs", "device_aliases"), _DISKS),
    **dict.fromkeys(("users", "groups", "user", "password", "chpasswd", "ssh_pwauth"), _ACCOUNTS),
    **dict.fromkeys(("ssh_keys", "disable_root"), _ACCOUNTS),
    **dict.fromkeys(("ssh_authorized_keys", "ssh_import_id"), f"no account's keys are set here; {_KEYS}"),
    **dict.fromkeys(("packages", "package_update", "package_upgrade", "apt", "yum_repos", "snap"), _PACKAGES),
    **dict.fromkeys(("package_reboot_if_required", "zypper", "apk_repos"), _PACKAGES),
    **dict.fromkeys(("locale", "keyboard", "manage_etc_hosts", "resolv_conf"), _CONSOLE),
    **dict.fromkeys(("network", "output", "final_message", "manage_resolv_conf"), _CONSOLE),
    "timezone": "a node's certificates and logs go by UTC; the time zone is the image's own",
    "set_timezone": "a node's certificates and logs go by UTC; the time zone is the image's own",
}  # fmt: skip
_AUTHORITIES = "authorities are not installed; put them into the image, or call certutil in runcmd"
_NEEDED = {
    "ca_certs": _AUTHORITIES,
    "ca-certs": _AUTHORITIES,
    "power_state": "the machine is not restarted for it; a command asks for that with exit code 1001",
    "phone_home": "nobody is told; call curl.exe in runcmd",
}
_NAMED = {
    "disk_setup": "disk", "fs_setup": "file system", "mounts": "mount", "users": "user", "groups": "group",
}  # fmt: skip
_MOST_NAMED = 20

_SERVER = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._:-]{0,252}[A-Za-z0-9])?")
_HOST_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Settings:
    files: tuple[Entry, ...]
    boot_commands: tuple[Command, ...]
    time: tuple[Command, ...]
    commands: tuple[Line, ...]
    host_name: str | None


def settings(config: Node, findings: Findings) -> Settings:
    """What is wrong is among the findings."""
    keys = config.mapping
    made = Settings(
        tuple(written_files.entries(keys["write_files"], findings)) if "write_files" in keys else (),
        tuple(_boot_commands(keys, findings)),
        tuple(_time(keys, findings)),
        tuple(scripts.lines(keys["runcmd"], findings)) if "runcmd" in keys else (),
        _host_name(keys, findings),
    )
    for key, node in keys.items():
        if key not in _TAKEN:
            _leave_out(key, node, findings)
    return made


def _leave_out(key: str, node: Node, findings: Findings) -> None:
    if key in _NAMED and key in _IGNORED:
        why = _IGNORED[key] + (f". {_KEYS[0].upper()}{_KEYS[1:]}" if _has_keys(node) else "")
        for name in _names(node):
            findings.ignore(f"{_NAMED[key]} {name}".rstrip(), why)
    elif key in _IGNORED:
        findings.ignore(key, _IGNORED[key])
    elif key in _NEEDED:
        findings.warn(key, _NEEDED[key])
    else:
        near = [] if findings.full else difflib.get_close_matches(key[:60], _TAKEN, 1)
        meant = f"; is {near[0]} meant?" if near else ""
        findings.warn(
            f"key {key_name(key)}", f"it is not known here, and nothing is done for it ({node.origin}){meant}"
        )


def _has_keys(users: Node) -> bool:
    listed = users.value if isinstance(users.value, list) else []
    return any("ssh_authorized_keys" in user.mapping for user in listed)


def _names(node: Node) -> Iterator[str]:
    """Of what is ignored, so that whoever misses it finds it: its name, device or mount point."""
    if isinstance(node.value, dict):
        found = [key_name(key) for key in node.value]
    elif isinstance(node.value, list):
        found = [_name(item) for item in node.value]
    else:
        found = [""]
    yield from found[:_MOST_NAMED]
    if len(found) > _MOST_NAMED:
        yield f"and {len(found) - _MOST_NAMED} more"


def _name(item: Node) -> str:
    value = item.value
    if isinstance(value, list):
        return value_name(value[0].text) if value and not isinstance(value[0].value, list | dict) else ""
    if not isinstance(value, dict):
        return value_name(item.text)
    fields = ("name", "label", "device")
    found = next((value[key] for key in fields if key in value and value[key].value), None)
    if found is None:
        # A group is a mapping of its name to its members.
        return key_name(next(iter(value), ""))
    return value_name(found.text) if not isinstance(found.value, list | dict) else ""


def _boot_commands(keys: dict[str, Node], findings: Findings) -> list[Command]:
    if "bootcmd" not in keys:
        return []
    return scripts.batch("bootcmd", scripts.lines(keys["bootcmd"], findings), each_boot=True)


def _time(keys: dict[str, Node], findings: Findings) -> Iterator[Command]:
    """Outside of a domain the time service does not run by itself, and a clock that is off lets none join."""
    node = keys.get("ntp")
    if node is None or node.value is None:
        return
    if not isinstance(node.value, dict):
        findings.error(node.origin, f"a mapping with servers and pools is expected; this is {kind_of(node)}")
        return
    enabled = node.value.get("enabled")
    try:
        servers = [*_servers(node.value.get("servers")), *_servers(node.value.get("pools"))]
    except Refused as fault:
        findings.refused(fault)
        return
    for key in node.value.keys() - {"enabled", "servers", "pools"}:
        findings.ignore(f"ntp {key_name(key)}", "about a time service of Linux")
    if servers and (enabled is None or written_files.flag(enabled)):
        yield time_from(servers)


def time_from(servers: Sequence[str]) -> Command:
    peers = " ".join(servers)
    text = f'net start w32time\nw32tm /config /manualpeerlist:"{peers}" /syncfromflags:manual /update\n'
    return scripts.command("ntp", Shell.CMD, text)


def is_server(name: str) -> bool:
    return bool(_SERVER.fullmatch(name))


def _servers(node: Node | None) -> Iterator[str]:
    if node is None or node.value is None:
        return
    for item in node.value if isinstance(node.value, list) else [node]:
        if not isinstance(item.value, str) or not is_server(item.value):
            raise Refused(item.origin, "the name or address of a time server is expected")
        yield item.value


def _host_name(keys: dict[str, Node], findings: Findings) -> str | None:
    order = ["hostname", "set_hostname", "fqdn"]
    if written_files.flag(keys.get("prefer_fqdn_over_hostname")):
        order.reverse()
    given = next((keys[key] for key in order if key in keys), None)
    if given is None or given.value is None:
        return None
    if written_files.flag(keys.get("preserve_hostname")):
        findings.ignore("hostname", "preserve_hostname says that the machine keeps its own")
        return None
    name = given.text.partition(".")[0] if not isinstance(given.value, list | dict) else ""
    if not _HOST_NAME.fullmatch(name):
        why = "a name of letters, digits and hyphens is expected, up to its first dot at most 63 of them"
        findings.error(given.origin, why)
        return None
    if name.isdigit():
        findings.error(given.origin, "Windows takes no name of digits alone for a machine")
        return None
    return name
