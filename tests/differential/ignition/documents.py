"""Ignition documents from a seed: most nearly right, some wrong in one place, some damaged as text.

The words are those of all versions at once and are written down here anew, so that a mistake in the product's
own tables shows.
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable
from random import Random
from typing import Any

Make = Callable[["Documents"], Any]

_TEXTS = ["", "a", "b", "x y", "ä\u00df", "\U0001f600", "line\nline", "a/b", "nul\x00", ":", "2", "root"]
_PATHS = [
    "/", "/a", "/a/b", "/a/b/c", "/etc/kubernetes/kubelet.conf", "/etc/systemd/system/a.service",
    "/etc/systemd/system/a.service.d/x.conf", "/b", "/b/c", "/dev/sda", "/dev/sdb", "/ä", "/a b", "/...",
    "/.a",
]  # fmt: skip
_BAD_PATHS = ["", "a", "./a", "/a/", "//a", "/a/../b", "/a/./b", "/..", "/.", "C:\\a", "a:/b"]
_UNIT_NAMES = [
    "a.service",
    "b.service",
    "t@.service",
    "t@1.service",
    "kubelet.service",
    "x.socket",
    "m.mount",
]
_BAD_UNIT_NAMES = ["", "a", "a.conf", ".service", "a.service/x", "a.service.", "a@b@c.service"]
_CONF_NAMES = ["x.conf", "y.conf", "10-z.conf", ".conf"]
_UNITS = [
    "",
    "[Unit]\nDescription=x\n[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n",
    "[Service]\nExecStart=/usr/bin/hyperkube \\\n  kubelet \\\n  --v=2\nRestart=always\n",
    "# comment \\\nstill comment\n[Service]\n; other\nA=b\n",
    "[Unit]\n\n\n[Install]\n",
    "[Install]\nAlias=\n",
    "[Service]\r\nA=b\r\n",
    "[S]\nA=1\n" + "B=" + "y" * 1500 + "\n" + "C=2\n" * 400,
]
_BAD_UNITS = [
    "[Unit", "[Unit] x\n", "[Unit]\nA\n", "[Unit]\nA", "[S]\nA=" + "x" * 3000, "A=b", "\n\n[S]\nx",
    "[S]\n=\n",
    "[S]\nA=b\\", "[S]\nA=b\\\n", "[S]\n\u2003A=b\n", "[S]\u00a0\nA=b", "[]\nA=b", "[a]b]\n",
    "[S]\n#" + "c" * 5000,
    "x" * 2100 + "[S]\n", "[S]\nA=1\n" + "z" * 2040 + "=1\n", "[" + "n" * 2050 + "]\n",
    "[S]\nA=\\\n\\\n\\\nb\n",
]  # fmt: skip
_URLS = [
    "data:,", "data:,hello%20world%0A", "data:;base64,aGVsbG8=", "data:text/plain;charset=utf-8;base64,aGkK",
    "data:text/plain,x", "http://example.com/a", "https://example.com:22623/config/worker", "data:,%00%ff",
    "http://[fe80::1]/x", "https://u:p@h/x?y#z", "data:;a=b;c=%20,x", "data:x-a/b,c", 'data:;a="b c",d',
]  # fmt: skip
_OTHER_URLS = [
    "s3://bucket/key", "s3://bucket/key?versionId=1", "s3://b/k?versionId=", "s3://b/k?versionId",
    "tftp://h/f",
    "gs://b/o", "oem:///x", "arn:aws:s3:::b/k", "arn:aws:s3:r:1:accesspoint/n/object/k", "arn:aws:ec2:::b/k",
    "arn:aws:s3:::b", "arn:aws:s3:r:1:accesspoint/n", "arn:aws:s3:::b/k?versionId=", "file:///x", "ftp://h",
]  # fmt: skip
_BAD_URLS = [
    "", " ", ":", "foo", "/x", "//h/x", "http://h:x/", "http://h/%zz", "http://h h/", "http://[::1",
    "http://[1.2.3.4]",
    "http://h:1:2/", "http:", "http:x", "HTTP://h", "DATA:,x", "data:", "data:x", "data:,a b", "data:,%",
    "data:,%2",
    "data:,%2g", "data:,\u00e4", "data:;base64,aGVsbG8", "data:;base64,a", "data:;base64,=",
    "data:;base64,a===",
    "data:;base64,aGk=x", "data:;base64,aG k=", "data:;base64,aGk=\n", "data:;base64,aGk%3D",
    "data:;base64;a=b,x",
    "data:foo/bar,x", "data:text,x", "data:text/plain;,x", "data:text/plain;a,x",
    "data:;a=,x", 'data:;a="\\q",x',
    'data:;a="\\x41\\u00e4\\n",x', "data:;a=%zz,x", "http://h/\x7f", "http://h/a#%z", "http://u@v@h/", "http://u:%@h",
    "data:;base64,/+AAAA==", "data:;base64,-_AA", "data:,[", "data:,a#b", "data:;a=#%z,x", "http://a%20b/",
    "http://%C3%A4/", "http://[fe80::1%25eth0]:1/", "http://[fe80::1%eth0]/", "*", "http://h?%z", "x-y:z",
    "data:message/x,%41", "data:x/y,a", "data:X-a/,b", "data:;base64,", "data:text/,", "data:;a=b,",
]  # fmt: skip
_PIECES = [
    b"", b"\x00", b",", b"{", b"}", b"[", b"]", b'"', b"\\", b":", b"\n", b" ", b"NaN", b"-", b"01", b"1e5",
    b"\\u00",
    b"\\ud83d", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"/**/", b"'", b"\t", b"true", b"null", b"\x0b",
]  # fmt: skip
_VERSIONS_2 = [f"2.{minor}.0" for minor in range(5)]
_VERSIONS_3 = [f"3.{minor}.0" for minor in range(7)]
_BAD_VERSIONS = [
    "", "1", "1.0.0", "2", "2.0", "2.5.0", "2.5.0-experimental", "2.4.0-dev", "2.4.1", "3.0.1", "3.7.0",
    "4.0.0",
    "3.5.0-experimental", "3.6.0-experimental2", "3.1.0+x", "v3.1.0", "3.1.0 ", "03.1.0", "3.1.00",
    "3.1.0-", "3.1.0+",
    "2.2.0-", "3.1.0-+", "3.-1.0", "3.1.0.0", "99999999999999999999.0.0", "3.\u0661.0", "2.0.0+", "3.1.0-a_b",
]  # fmt: skip
_DIGESTS = ["sha512-" + "0a" * 64, "sha256-" + "0b" * 32]
_BAD_DIGESTS = [
    "",
    "sha512",
    "sha512-",
    "sha512-00",
    "sha256-00",
    "md5-00",
    "sha512-" + "z" * 128,
    "SHA512-" + "0" * 128,
]
_GUIDS = ["", "01234567-89AB-CDEF-EDCB-A98765432101", "01234567-89ab-cdef-edcb-a98765432101"]
_BAD_GUIDS = ["x", "01234567-89AB-CDEF-EDCB-A98765432101\n", "0123456789ABCDEFEDCBA98765432101"]
_LABELS = ["", "a", "b", "root", "x" * 11, "x" * 12, "x" * 15, "x" * 16, "ä" * 8]
_BAD_LABELS = ["x" * 17, "x" * 36, "x" * 37, "ä" * 20, "a:b", "x" * 48, "x" * 257]


class Documents:
    """Makes documents. `faults` is how likely each value is to be a wrong one."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.faults = 0.0
        self.major = 3

    def document(self, major: int, minor: int) -> bytes:
        """One of that version, unless it is its version that is wrong."""
        if self.chance(0.4):
            return self.written(self.focused(major, minor))
        self.faults = self.random.choice([0.0, 0.0, 0.002, 0.01, 0.05])
        self.major = major
        made = self.record(_CONFIG, sparse=self.random.choice([0.15, 0.35, 0.7]))
        if not isinstance(made, dict) or self.chance(0.002):
            return self.written(made)
        ignition = made.setdefault("ignition", {})
        if isinstance(ignition, dict) and not self.chance(0.01):
            ignition["version"] = f"{major}.{minor}.0"
            if self.chance(0.02):
                ignition["version"] = self.random.choice(_BAD_VERSIONS + _VERSIONS_2 + _VERSIONS_3)
        return self.damaged(self.written(self.mutated(made)))

    def focused(self, major: int, minor: int) -> Any:
        """A small document around one text or list that is much scribbled on."""
        made = self.random.choice(_FOCUSES)(self, major)
        made.setdefault("ignition", {})["version"] = f"{major}.{minor}.0"
        return made

    def scrawled(self, *pools: list[str]) -> str:
        text: str = self.random.choice(self.random.choice(pools))
        for _ in range(self.random.choice([0, 1, 1, 1, 2, 3])):
            text = self.scribbled(text)
        return text

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def wrong(self) -> bool:
        return self.chance(self.faults)

    def of(self, good: list[Any], bad: list[Any]) -> Any:
        if self.wrong():
            value = self.random.choice(bad)
            return self.scribbled(value) if self.chance(0.3) else value
        return self.random.choice(good)

    def record(self, fields: dict[str, Make], sparse: float = 0.5) -> Any:
        if self.wrong():
            return self.anything()
        made = {}
        for name, make in fields.items():
            if name.endswith("!") or self.chance(sparse):
                plain = name.rstrip("!")
                value = make(self) if not self.wrong() or self.chance(0.5) else self.anything()
                made[self.recased(plain) if self.chance(self.faults / 4) else plain] = value
        if self.wrong():
            made[self.random.choice(["unknown", "paths", "contentz", "é", "", "Version"])] = self.anything()
        if self.chance(0.2):
            made = dict(self.random.sample(list(made.items()), len(made)))
        return made

    def anything(self) -> Any:
        return self.random.choice(
            [
                None,
                None,
                True,
                False,
                0,
                1,
                -1,
                2**31,
                2**63,
                2**64,
                1.0,
                1.5,
                1e30,
                "",
                "x",
                [],
                [1],
                [None],
                {},
                {"a": 1},
            ]
        )

    def recased(self, name: str) -> str:
        return self.random.choice(
            [
                name.upper(),
                name.capitalize(),
                name.lower(),
                name.replace("s", "\u017f"),
                name.replace("k", "\u212a"),
            ]
        )

    def scribbled(self, text: Any) -> Any:
        """One character other, gone, or more."""
        if not isinstance(text, str):
            return text
        at = self.random.randrange(len(text) + 1)
        new = self.random.choice(string.printable + 'äé\u2028\x00\x7f%%%#?:/@[]\\"=,;')
        return text[:at] + self.random.choice(["", new]) + text[at + self.random.choice([0, 1]) :]

    def mutated(self, value: Any) -> Any:
        """Now and then one value somewhere becomes another."""
        if not self.chance(0.25):
            return value
        holders: list[Any] = []
        waiting = [value]
        while waiting:
            item = waiting.pop()
            inner = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []
            if inner:
                holders.append(item)
            waiting.extend(inner)
        for _ in range(self.random.choice([1, 1, 1, 2])):
            holder = self.random.choice(holders)
            if keys := list(holder) if isinstance(holder, dict) else list(range(len(holder))):
                self._mutate(holder, self.random.choice(keys))
        return value

    def _mutate(self, holder: Any, key: Any) -> None:
        kind = self.random.randrange(5)
        if kind == 0:
            holder[key] = self.anything()
        elif kind == 1:
            holder[key] = self.scribbled(holder[key])
        elif kind == 2 and isinstance(holder, dict):
            holder[self.recased(key)] = holder[key]
            if self.chance(0.9):
                del holder[key]
        elif kind == 3 and isinstance(holder, list):
            holder.append(holder[key])
        elif isinstance(holder[key], int):
            holder[key] = self.random.choice(
                [0, 1, -1, 0o777, 0o1777, 4095, 4096, 2**32, 2**63 - 1, 2**63, 1.0]
            )

    def written(self, value: Any) -> bytes:
        style = self.random.randrange(4)
        if style == 0:
            return json.dumps(value, indent=2).encode()
        if style == 1:
            return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")
        return json.dumps(value, separators=(",", ":")).encode()

    def damaged(self, text: bytes) -> bytes:
        """Now and then no JSON any more, or hardly."""
        if not self.chance(0.06):
            return text
        at = self.random.randrange(len(text) + 1)
        piece = self.random.choice(_PIECES)
        kind = self.random.randrange(5)
        if kind == 0:
            return text[:at]
        if kind == 1:
            return text + piece
        return text[:at] + piece + text[at + self.random.choice([0, 0, 1]) :]


def _either(good: list[Any], bad: list[Any]) -> Make:
    return lambda documents: documents.of(good, bad)


def _struct(fields: dict[str, Make]) -> Make:
    return lambda documents: documents.record(fields, documents.random.choice([0.2, 0.5, 0.9]))


def _some(make: Make, most: int = 3) -> Make:
    def many(documents: Documents) -> Any:
        if documents.wrong():
            return documents.anything()
        made = [make(documents) for _ in range(documents.random.randint(0, most))]
        return made if documents.wrong() else list({_key(item): item for item in made}.values())

    return many


def _key(item: Any) -> str:
    """What two items of a list seldom have in common."""
    if not isinstance(item, dict):
        return str(item)
    names = ("path", "name", "device", "source", "url", "number", "label")
    return next((f"{name} {item[name]}" for name in names if item.get(name)), "")


_TEXT = _either(_TEXTS, [1, False, [], {}])
_NAME = _either(["a", "b", "c", "d", "e", "f", "g", "h", "core"], ["", "a/b", 1, None])
_FLAG = _either([True, False], ["true", 1, None])
_NUMBER = _either([0, 1, 2, 3, 10, 420], [-1, 2**31, 2**63, 1.5, "1"])
_MODE = _either([0, 0o600, 0o644, 0o755], [-1, 0o1777, 0o4755, 0o7777, 0o10000, 2**32, 2**32 - 1])
_PATH = _either(_PATHS, _BAD_PATHS)
_URL = _either(_URLS * 3 + _OTHER_URLS[:2], _OTHER_URLS + _BAD_URLS)
_HEADERS = _some(
    _struct({"name!": _either(["A", "B", "C"], ["", "a"]), "value": _either(["x"], ["", None])}), 2
)
_VERIFICATION = _struct({"hash": _either(_DIGESTS, _BAD_DIGESTS)})


def _resource(documents: Documents) -> Any:
    made = documents.record(
        {
            "source!" if documents.chance(0.8) else "source": _URL,
            "compression": _either(["", "gzip"], ["xz", "GZIP", None]),
            "verification": _VERIFICATION,
        },
        0.2,
    )
    if not isinstance(made, dict):
        return made
    if (documents.wrong() or str(made.get("source")).startswith("http")) and documents.chance(0.3):
        made["httpHeaders"] = _HEADERS(documents)
    return made


_OWNER = _struct({"id": _NUMBER})
_NAMED_OWNER = _struct({"name": _either(["root", "core", ""], [1])})


def _owner(documents: Documents) -> Any:
    if documents.wrong():
        return {"id": 1, "name": "root"}
    return documents.random.choice([_OWNER, _NAMED_OWNER])(documents)


_NODE: dict[str, Make] = {
    "filesystem!": _either(["root", "root", "root", "oem"], ["", None, 1]),
    "path!": _PATH,
    "user": _owner,
    "group": _owner,
}
_FILE = {**_NODE, "mode": _MODE, "contents": _resource, "overwrite": _either([False, False, True], [None])}


def _file(documents: Documents) -> Any:
    made = documents.record(_FILE, documents.random.choice([0.2, 0.6]))
    if isinstance(made, dict) and documents.chance(0.2):
        old = (documents.major == 2) != documents.wrong()
        made["append"] = _FLAG(documents) if old else _some(_resource, 2)(documents)
    return made


_UNIT_CONTENTS = _either(_UNITS, _BAD_UNITS)
_DROPINS = _some(
    _struct({"name!": _either(_CONF_NAMES, ["", "x", "x.conf.d"]), "contents": _UNIT_CONTENTS}), 2
)
_PARTITION: dict[str, Make] = {
    "label": _either(_LABELS, _BAD_LABELS),
    "number": _either([0, 1, 2, 3, 4], [-1, "1"]),
    "size": _either([0, 2048], [1, -5]),
    "start": _either([0, 2048, 4096, 8192], [1, -2048]),
    "sizeMiB": _either([0, 1, 5], [-1]),
    "startMiB": _either([0, 1, 10, 20, 30], [-1]),
    "guid": _either(_GUIDS, _BAD_GUIDS),
    "typeGuid": _either(_GUIDS, _BAD_GUIDS),
    "shouldExist": _either([True], [False]),
    "wipePartitionEntry": _FLAG,
    "resize": _FLAG,
}
_FORMAT = _either(["ext4", "btrfs", "xfs"], ["", "swap", "vfat", "none", "ntfs"])
_ACCOUNT: dict[str, Make] = {
    "uid": _NUMBER,
    "gecos": _TEXT,
    "homeDir": _TEXT,
    "noCreateHome": _FLAG,
    "primaryGroup": _TEXT,
    "groups": _some(_NAME, 2),
    "noUserGroup": _FLAG,
    "system": _FLAG,
    "noLogInit": _FLAG,
    "shell": _TEXT,
}
_CLEVIS = _struct(
    {
        "custom": _struct(
            {
                "pin": _either(["tpm2", "tang", "sss"], ["", "x"]),
                "config": _either(["{}"], [""]),
                "needsNetwork": _FLAG,
            }
        ),
        "tang": _some(
            _struct(
                {
                    "url!": _either(["http://t/", "https://u/"], _BAD_URLS),
                    "thumbprint!": _either(["x"], [""]),
                    "advertisement": _either(["", "{}", "[1]"], ["{", "NaN", "01"]),
                }
            ),
            1,
        ),
        "threshold": _NUMBER,
        "tpm2": _FLAG,
    }
)
_STORAGE: dict[str, Make] = {
    "files": _some(_file, 4),
    "directories": _some(_struct({**_NODE, "mode": _MODE, "overwrite": _FLAG}), 2),
    "links": _some(
        _struct(
            {**_NODE, "target!": _either(["/a", "../x", "b"], ["", None]), "hard": _FLAG, "overwrite": _FLAG}
        ),
        2,
    ),
    "disks": _some(
        _struct({"device!": _PATH, "wipeTable": _FLAG, "partitions": _some(_struct(_PARTITION), 3)}), 2
    ),
    "raid": _some(
        _struct(
            {
                "name!": _NAME,
                "level!": _either(["raid1", "5", "raid10", "linear", "stripe"], ["", "raid2"]),
                "devices!": _some(_PATH, 3),
                "spares": _either([0], [1, -1]),
                "options": _some(_TEXT),
            }
        ),
        2,
    ),
    "filesystems": _some(
        _struct(
            {
                "name": _NAME,
                "device!": _PATH,
                "path": _either(["/sysroot", "/a"], ["", "x", "/a/"]),
                "format!": _FORMAT,
                "label": _either(_LABELS, _BAD_LABELS),
                "uuid": _TEXT,
                "options": _some(_TEXT),
                "mountOptions": _some(_TEXT),
                "wipeFilesystem": _FLAG,
                "mount": _struct(
                    {
                        "device!": _PATH,
                        "format!": _FORMAT,
                        "label": _either(_LABELS, _BAD_LABELS),
                        "uuid": _TEXT,
                        "wipeFilesystem": _FLAG,
                        "options": _some(_TEXT),
                        "create": _struct({"force": _FLAG, "options": _some(_TEXT)}),
                    }
                ),
            }
        ),
        2,
    ),
    "luks": _some(
        _struct(
            {
                "name!": _NAME,
                "device!": _PATH,
                "label": _either(_LABELS, _BAD_LABELS),
                "keyFile": _resource,
                "clevis": _CLEVIS,
                "cex": _struct({"enabled": _FLAG}),
                "options": _some(_TEXT),
                "openOptions": _some(_NAME, 2),
                "discard": _FLAG,
                "uuid": _TEXT,
                "wipeVolume": _FLAG,
            }
        ),
        1,
    ),
}
_CONFIG: dict[str, Make] = {
    "ignition!": _struct(
        {
            "config": _struct(
                {"append": _some(_resource, 2), "merge": _some(_resource, 2), "replace": _resource}
            ),
            "timeouts": _struct({"httpResponseHeaders": _NUMBER, "httpTotal": _NUMBER}),
            "security": _struct({"tls": _struct({"certificateAuthorities": _some(_resource, 2)})}),
            "proxy": _struct(
                {
                    "httpProxy": _either(["http://p:3128", "https://p"], _BAD_URLS),
                    "httpsProxy": _either(["http://p:3128", "https://p"], _BAD_URLS),
                    "noProxy": _some(_NAME, 2),
                }
            ),
        }
    ),
    "storage": _struct(_STORAGE),
    "systemd": _struct(
        {
            "units": _some(
                _struct(
                    {
                        "name!": _either(_UNIT_NAMES, _BAD_UNIT_NAMES),
                        "contents": _UNIT_CONTENTS,
                        "enabled": _FLAG,
                        "enable": _FLAG,
                        "mask": _FLAG,
                        "dropins": _DROPINS,
                    }
                ),
                3,
            )
        }
    ),
    "networkd": _struct(
        {
            "units": _some(
                _struct(
                    {
                        "name!": _either(["a.network", "b.link", "c.netdev"], ["", "a.service"]),
                        "contents": _UNIT_CONTENTS,
                        "dropins": _DROPINS,
                    }
                ),
                2,
            )
        }
    ),
    "passwd": _struct(
        {
            "users": _some(
                _struct(
                    {
                        "name!": _NAME,
                        "passwordHash": _TEXT,
                        "sshAuthorizedKeys": _some(_NAME, 2),
                        "shouldExist": _FLAG,
                        **_ACCOUNT,
                        "create": _struct(_ACCOUNT),
                    }
                ),
                2,
            ),
            "groups": _some(
                _struct(
                    {
                        "name!": _NAME,
                        "gid": _NUMBER,
                        "passwordHash": _TEXT,
                        "system": _FLAG,
                        "shouldExist": _FLAG,
                    }
                ),
                2,
            ),
        }
    ),
    "kernelArguments": _struct({"shouldExist": _some(_NAME, 2), "shouldNotExist": _some(_NAME, 2)}),
}


def _focus_on_source(documents: Documents, major: int) -> Any:
    url = documents.scrawled(_URLS, _OTHER_URLS, _BAD_URLS)
    resource: dict[str, Any] = {"source": url}
    if documents.chance(0.2):
        resource["httpHeaders"] = [{"name": "A", "value": "b"}]
    if documents.chance(0.1):
        resource["verification"] = {"hash": documents.scrawled(_DIGESTS, _BAD_DIGESTS)}
    where = documents.random.randrange(4)
    if where == 0:
        return {"ignition": {"config": {"append" if major == 2 else "merge": [resource]}}}
    if where == 1:
        return {"ignition": {"security": {"tls": {"certificateAuthorities": [resource]}}}}
    if where == 2:
        return {"ignition": {"config": {"replace": resource}, "proxy": {"httpProxy": url, "httpsProxy": url}}}
    return {"storage": {"files": [{"filesystem": "root", "path": "/a", "contents": resource}]}}


def _focus_on_unit(documents: Documents, _: int) -> Any:
    contents = documents.scrawled(_UNITS, _BAD_UNITS)
    if documents.chance(0.3):
        contents = documents.random.choice(["", "[S]\n", "x=1\n", "\n" * 9]) + contents
        contents += documents.random.choice(["[S]\n", "A=b\\\n", "#", "é"]) * documents.random.randrange(2200)
        contents += documents.random.choice(
            ["\n", "=", "[T]\nB=1", "\\", "\r\n"]
        ) + "z" * documents.random.randrange(5000)
    name = documents.scrawled(_UNIT_NAMES, _BAD_UNIT_NAMES)
    if documents.chance(0.3):
        dropin = {"name": documents.scrawled(_CONF_NAMES), "contents": contents}
        return {"systemd": {"units": [{"name": "a.service", "dropins": [dropin]}]}}
    return {"systemd": {"units": [{"name": name, "enabled": documents.chance(0.5), "contents": contents}]}}


def _focus_on_paths(documents: Documents, _: int) -> Any:
    def nodes() -> list[Any]:
        paths = {documents.scrawled(_PATHS, _PATHS, _PATHS, _BAD_PATHS) for _ in range(3)}
        return [{"filesystem": "root", "path": path} for path in paths]

    links: list[Any] = [
        {**node, "target": documents.scrawled(_PATHS, ["b", ".", "../x"]), "hard": documents.chance(0.5)}
        for node in nodes()[:2]
    ]
    return {"storage": {"files": nodes(), "directories": nodes()[:1], "links": links}}


def _focus_on_disks(documents: Documents, major: int) -> Any:
    names = ("start", "size") if major == 2 else ("startMiB", "sizeMiB")
    if documents.chance(0.1):
        names = ("startMiB", "sizeMiB")

    def partition() -> Any:
        made: dict[str, Any] = {"number": documents.random.randrange(6)}
        if documents.chance(0.8):
            made[names[0]] = documents.random.randrange(8) * 2048
        if documents.chance(0.8):
            made[names[1]] = documents.random.randrange(3) * 2048
        if documents.chance(0.3):
            made["label"] = documents.scrawled(_LABELS, _BAD_LABELS)
        if documents.chance(0.1):
            made["shouldExist"] = documents.chance(0.3)
        if documents.chance(0.1):
            made["guid"] = documents.scrawled(_GUIDS, _BAD_GUIDS)
        return made

    disk = {"device": "/dev/sda", "partitions": [partition() for _ in range(documents.random.randrange(4))]}
    filesystem = {
        "device": "/dev/sda",
        "format": documents.random.choice(["ext4", "btrfs", "xfs", "swap", "vfat", "none"]),
        "label": documents.scrawled(_LABELS, _BAD_LABELS),
    }
    if major == 2:
        return {"storage": {"disks": [disk], "filesystems": [{"name": "x", "mount": filesystem}]}}
    return {"storage": {"disks": [disk], "filesystems": [filesystem]}}


_FOCUSES: list[Callable[[Documents, int], Any]] = [
    _focus_on_source,
    _focus_on_source,
    _focus_on_unit,
    _focus_on_paths,
    _focus_on_disks,
]
