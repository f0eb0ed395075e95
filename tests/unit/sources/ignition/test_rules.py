"""What each version refuses and warns of: the path and the words that a person gets.

That Ignition's own parser refuses the same is shown elsewhere, on thousands of documents.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from agent.sources import ignition
from agent.sources.report import Report

V2 = [f"2.{minor}.0" for minor in range(5)]
V3 = [f"3.{minor}.0" for minor in range(7)]

_DIGEST = "0" * 128


def _report(version: str, body: dict[str, Any]) -> Report:
    document = copy.deepcopy(body)
    document.setdefault("ignition", {})["version"] = version
    return ignition.load("worker.ign", json.dumps(document).encode()).report


def _file(**fields: Any) -> dict[str, Any]:
    return {"storage": {"files": [{"filesystem": "root", "path": "/a", "mode": 420, **fields}]}}


def _contents(**fields: Any) -> dict[str, Any]:
    return _file(contents=fields)


def _unit(**fields: Any) -> dict[str, Any]:
    return {"systemd": {"units": [{"name": "a.service", **fields}]}}


def _disk(*partitions: dict[str, Any]) -> dict[str, Any]:
    return {"storage": {"disks": [{"device": "/dev/sda", "partitions": list(partitions)}]}}


def _storage(**lists: Any) -> dict[str, Any]:
    return {"storage": lists}


_SOURCE = "$.storage.files.0.contents.source"


@pytest.mark.parametrize(
    ("versions", "body", "path", "words"),
    [
        # types
        (V2 + V3, _file(path=1), "$.storage.files.0.path", "text is expected here, not 1"),
        (V2 + V3, _file(mode=1.5), "$.storage.files.0.mode", "not whole"),
        (V2 + V3, _file(mode="0644"), "$.storage.files.0.mode", "not text"),
        (V2 + V3, _file(mode=True), "$.storage.files.0.mode", "not true or false"),
        (V2 + V3, _file(mode=2**70), "$.storage.files.0.mode", "too large"),
        (V2 + V3, _file(contents=[]), "$.storage.files.0.contents", "an object is expected here, not a list"),
        (V2 + V3, {"storage": {"files": {}}}, "$.storage.files", "a list is expected here, not an object"),
        (V2 + V3, {"storage": {"files": [1]}}, "$.storage.files.0", "an object is expected here, not 1"),
        (V2 + V3, _unit(mask="yes"), "$.systemd.units.0.mask", "true or false is expected"),
        (V2 + V3, _file(user={"id": "root"}), "$.storage.files.0.user.id", "whole number"),
        (V2[:1], _file(mode=-1), "$.storage.files.0.mode", "from 0 to 4294967295"),
        # paths and modes
        (V2 + V3, _file(path="a"), "$.storage.files.0.path", 'the path "a" is not absolute'),
        (V2, _file(path=""), "$.storage.files.0.path", 'the path "" is not absolute'),
        (V3, _file(path=""), "$.storage.files.0.path", "a path is needed"),
        (V3, _file(path="/a/../b"), "$.storage.files.0.path", "without dots"),
        (V3, _file(path="/a/"), "$.storage.files.0.path", "a slash at its end"),
        (V2 + V3, _file(mode=4096), "$.storage.files.0.mode", "the mode 4096 is none"),
        (V2[1:] + V3, _file(mode=-1), "$.storage.files.0.mode", "the mode -1 is none"),
        (V2, _file(filesystem=""), "$.storage.files.0.filesystem", "the filesystem is missing"),
        (V2[2:], _file(append=True, overwrite=True), "$.storage.files.0.append", "exclude each other"),
        (V3, _file(overwrite=True), "$.storage.files.0.overwrite", "a source is needed"),
        (V2[1:] + V3, _file(user={"id": 1, "name": "x"}), "$.storage.files.0.user", "not both"),
        # sources
        (V2 + V3, _contents(source="http://h/%zz"), _SOURCE, '"http://h/%zz" is no URL'),
        (V2 + V3, _contents(source="ftp://u:secret@h/x"), _SOURCE, '"ftp://h/x" has an unknown scheme'),
        (V2[:1], _contents(source="s3://b/k"), _SOURCE, "unknown scheme"),
        (V2[1:] + V3, _contents(source="s3://b/k?versionId="), _SOURCE, "its versionId is empty"),
        (V3[:2], _contents(source="gs://b/o"), _SOURCE, "unknown scheme"),
        (V3[:4], _contents(source="arn:aws:s3:::b/k"), _SOURCE, "unknown scheme"),
        (V3[4:], _contents(source="arn:aws:s3:::b"), _SOURCE, "no ARN"),
        (V3[4:], _contents(source="arn:aws:s3:r:1:accesspoint/n"), _SOURCE, "no ARN"),
        (V3[4:], _contents(source="arn:aws:ec2:::b/k"), _SOURCE, "no ARN"),
        (V2 + V3, _contents(source="data:;base64,x"), _SOURCE, "cannot be decoded: its data is not base64"),
        (V2 + V3, _contents(source="data:,", compression="xz"),
         "$.storage.files.0.contents.compression", "gzip"),
        (V2 + V3, _contents(source="data:,", verification={"hash": "x"}),
         "$.storage.files.0.contents.verification.hash", "is written as sha512-"),
        (V2 + V3, _contents(source="data:,", verification={"hash": "md5-x"}),
         "$.storage.files.0.contents.verification.hash", 'the hash "md5" is not known here'),
        (V2 + V3[:1], _contents(source="data:,", verification={"hash": "sha256-" + _DIGEST[:64]}),
         "$.storage.files.0.contents.verification.hash", "use sha512"),
        (V2 + V3, _contents(source="data:,", verification={"hash": "sha512-00"}),
         "$.storage.files.0.contents.verification.hash", "sha512 has 128 hexadecimal digits, this has 2"),
        (V3, _contents(verification={"hash": f"sha512-{_DIGEST}"}),
         "$.storage.files.0.contents.verification.hash", "no source"),
        (V2[4:] + V3[1:], _contents(source="data:,", httpHeaders=[{"name": "A", "value": "b"}]),
         "$.storage.files.0.contents.httpHeaders", "http or https only"),
        (V3[1:], _contents(source="http://h", httpHeaders=[{"name": "A"}, {"name": "A"}]),
         "$.storage.files.0.contents.httpHeaders.1", '"A" is there already'),
        (V3[1:], _contents(source="http://h", httpHeaders=[{"name": "", "value": "b"}]),
         "$.storage.files.0.contents.httpHeaders.0.name", "needs a name"),
        (V3[1:], _contents(source="http://h", httpHeaders=[{"name": "A", "value": ""}]),
         "$.storage.files.0.contents.httpHeaders.0.value", "needs a value"),
        (V3, {"ignition": {"config": {"merge": [{}]}}},
         "$.ignition.config.merge.0", "a source is needed here"),
        (V3[1:], {"ignition": {"security": {"tls": {"certificateAuthorities": [{}]}}}},
         "$.ignition.security.tls.certificateAuthorities.0", "a source is needed here"),
        (V3[1:], {"ignition": {"proxy": {"httpProxy": "proxy:3128"}}},
         "$.ignition.proxy.httpProxy", "http or https"),
        # units
        (V2 + V3, _unit(name="a"), "$.systemd.units.0.name", "ends with its type"),
        (V2 + V3, _unit(contents="[Unit\n"), "$.systemd.units.0.contents", "no unit file"),
        (V2 + V3, _unit(dropins=[{"name": "x"}]), "$.systemd.units.0.dropins.0.name", "ends with .conf"),
        (V2 + V3, _unit(dropins=[{"name": "x.conf", "contents": "[S]\nA"}]),
         "$.systemd.units.0.dropins.0.contents", "no equals sign"),
        (V2, {"networkd": {"units": [{"name": "x.service"}]}}, "$.networkd.units.0.name", ".network"),
        (V3, {"systemd": {"units": [{"name": "a.service"}, {"name": "a.service"}]}},
         "$.systemd.units.1", '"a.service" is there already'),
        (V3, {**_unit(contents="[S]\n"), **_file(path="/etc/systemd/system/a.service")},
         "$.storage.files.0.path", "a unit or drop-in of this configuration is at that path"),
        (V3, {**_unit(dropins=[{"name": "x.conf", "contents": "[S]\n"}]),
              **_file(path="/etc/systemd/system/a.service.d/x.conf")},
         "$.storage.files.0.path", "at that path"),
        # the same twice
        (V3, _storage(files=[{"path": "/a"}, {"path": "/a"}]), "$.storage.files.1", '"/a" is there already'),
        (V3, _storage(files=[{"path": "/a"}], directories=[{"path": "/a"}]), "$.storage.files.0", "already"),
        (V3[3:], {"kernelArguments": {"shouldExist": ["a"], "shouldNotExist": ["a"]}},
         "$.kernelArguments.shouldNotExist.0", "already"),
        # links
        (V3, _storage(links=[{"path": "/a", "target": "/b"}], files=[{"path": "/a/b/c"}]),
         "$.storage.files.0",
         "a link of this configuration is on the way"),
        (V3, _storage(links=[{"path": "/a"}]), "$.storage.links.0.target", "a link needs a target"),
        (V3, _storage(links=[{"path": "/a", "target": "/b", "hard": True}], directories=[{"path": "/b"}]),
         "$.storage.links.0", "a hard link cannot lead to a directory"),
        # disks
        (V2 + V3, _storage(disks=[{"device": "sda"}]), "$.storage.disks.0.device", "absolute"),
        (V2 + V3, _disk({"number": 1}, {"number": 1, "label": "x"}),
         "$.storage.disks.0.partitions.1", "already"),
        (V2, _disk({"start": 2048, "size": 4096, "number": 1}, {"start": 4096, "size": 1, "number": 2}),
         "$.storage.disks.0.partitions.1", "overlaps with another"),
        (V3, _disk({"startMiB": 1, "sizeMiB": 9, "number": 1}, {"startMiB": 5, "sizeMiB": 0, "number": 2}),
         "$.storage.disks.0.partitions.1", "overlaps with another"),
        (V3, _disk({"startMiB": 1, "sizeMiB": -1, "number": 1}),
         "$.storage.disks.0.partitions.0.sizeMiB", "negative"),
        (V2, _disk({"start": 1, "size": 1}), "$.storage.disks.0.partitions.0.start", "multiple of 2048"),
        (V3[:6], _disk({"number": 1, "shouldExist": False}, {"label": "x"}), "$.storage.disks.0.partitions",
         "needs a number"),
        (V3, _disk({}), "$.storage.disks.0.partitions.0", "a number or a label"),
        (V3, _disk({"number": 1, "label": "a:b"}), "$.storage.disks.0.partitions.0.label", "colon"),
        (V2 + V3, _disk({"number": 1, "typeGuid": "x"}),
         "$.storage.disks.0.partitions.0.typeGuid", "a GUID looks"),
        (V3[:3], _storage(filesystems=[{"device": "/a", "format": "none"}]),
         "$.storage.filesystems.0.format", "unknown"),
        (V3, _storage(filesystems=[{"device": "/a", "label": "x"}]),
         "$.storage.filesystems.0.format", "is needed"),
        (V3, _storage(filesystems=[{"device": "/a", "format": "xfs", "label": "x" * 13}]),
         "$.storage.filesystems.0.label", "at most 12 characters in xfs"),
        (V2, _storage(filesystems=[{"name": "x"}]), "$.storage.filesystems.0", "needs a mount or a path"),
        (V2[:1], _storage(filesystems=[{"mount": {"device": "/a", "format": "vfat"}}]),
         "$.storage.filesystems.0.mount.format", "unknown"),
        (V2 + V3, _storage(raid=[{"name": "x", "level": "raid9", "devices": ["/a"]}]),
         "$.storage.raid.0.level",
         "the level of RAID is unknown"),
        (V2 + V3, _storage(raid=[{"name": "x", "level": "0", "devices": ["/a"], "spares": 1}]),
         "$.storage.raid.0.level", "no spares"),
        (V3[2:], _storage(luks=[{"name": "a/b", "device": "/a"}]), "$.storage.luks.0.name", "slash"),
        (V3[2:6], _storage(luks=[{"name": "a", "device": "/a", "clevis": {"custom": {"pin": "x",
         "config": "y"}}}]),
         "$.storage.luks.0.clevis.custom.pin", "the pin is unknown"),
        (V3[5:], _storage(luks=[{"name": "a", "device": "/a", "cex": {"enabled": True},
         "clevis": {"tpm2": True}}]),
         "$.storage.luks.0.cex", "cex excludes clevis"),
        # users
        (V2[1:], {"passwd": {"users": [{"name": "x", "create": {}, "gecos": "x"}]}},
         "$.passwd.users.0.gecos", "create"),
        (V3, {"passwd": {"users": [{"name": "x", "sshAuthorizedKeys": ["k", "k"]}]}},
         "$.passwd.users.0.sshAuthorizedKeys.1", "already"),
    ],
)  # fmt: skip
def test_refused(versions: list[str], body: dict[str, Any], path: str, words: str) -> None:
    for version in V2 + V3:
        errors = {entry.path: entry.message for entry in _report(version, body).errors}
        if version in versions:
            assert words in errors.get(path, f"nothing in {version}"), version
        elif version[0] == versions[0][0]:
            assert words not in errors.get(path, ""), version


@pytest.mark.parametrize(
    ("versions", "body", "path", "words"),
    [
        (V2 + V3, {"systemm": {}}, "$.systemm", 'unknown and ignored; maybe "systemd" is meant'),
        (V2 + V3, {"zzz": {}}, "$.zzz", "it is unknown and ignored"),
        (V3[:3], {"kernelArguments": {}}, "$.kernelArguments", "it came with minor version 3"),
        (V3[:1], {"ignition": {"proxy": {}}}, "$.ignition.proxy", "it came with minor version 1"),
        (V2[:4], {"ignition": {"proxy": {}}}, "$.ignition.proxy", "it came with minor version 4"),
        (V2 + V3, {"Storage": {}}, "$.Storage", 'write "storage"'),
        (V2 + V3, _unit(enabled=True, enable=True, contents="[Unit]\nA=b\n"),
         "$.systemd.units.0.contents", "no [Install]"),
        (V3, {"systemd": {"units": [
            {"name": "t@.service", "contents": "[Unit]\nA=b\n"}, {"name": "t@1.service", "enabled": True}
        ]}}, "$.systemd.units.1.contents", "its template has no [Install]"),
        (V3[:6], _file(mode=0o4755), "$.storage.files.0.mode", "from version 3.6.0 on"),
        (V2[2:], _file(mode=None), "$.storage.files.0.mode", "without a mode"),
        (V2, _file(filesystem="data"), "$.storage.files.0.filesystem", '"data" is not in this document'),
        (V3[1:], {"ignition": {"proxy": {"httpsProxy": "http://p"}}},
         "$.ignition.proxy.httpsProxy", "by http"),
        (V2[3:], _disk({"number": 1, "start": 2048}), "$.storage.disks.0.partitions.0.start", "use startMiB"),
    ],
)  # fmt: skip
def test_warned(versions: list[str], body: dict[str, Any], path: str, words: str) -> None:
    for version in V2 + V3:
        report = _report(version, body)
        warnings = {entry.path: entry.message for entry in report.warnings}
        if version in versions:
            assert not report.fatal
            assert words in warnings.get(path, f"nothing in {version}"), version
        elif version[0] == versions[0][0]:
            assert words not in warnings.get(path, ""), version


@pytest.mark.parametrize("version", V2 + V3)
def test_empty_and_null_are_like_nothing(version: str) -> None:
    body: dict[str, Any] = {
        "storage": {"files": [], "disks": None, "raid": []},
        "systemd": None,
        "passwd": {"users": None, "groups": []},
        "networkd": {},
    }
    report = _report(version, body)
    assert not report.fatal


def test_a_hundred_problems_are_told_at_once_each_with_its_line() -> None:
    files = [{"path": "relative", "mode": -1} for _ in range(50)]
    text = json.dumps({"ignition": {"version": "3.2.0"}, "storage": {"files": files}}, indent=1)
    report = ignition.load("worker.ign", text.encode()).report
    lines = text.splitlines()
    paths = [entry for entry in report.errors if entry.place[-1] == "path"]
    assert len(paths) == 50
    for entry in paths:
        assert entry.line is not None
        assert entry.column is not None
        assert lines[entry.line - 1][entry.column - 1 :].startswith('"relative"')


def test_nothing_of_contents_shows() -> None:
    secret = "hunter2"  # noqa: S105 - the point of the test
    body = {
        "storage": {
            "files": [
                {"path": "/a", "contents": {"source": f"data:,{secret}%zz"}},
                {"path": "/b", "contents": {"source": f"https://u:{secret}@h/%zz?{secret}"}},
            ]
        },
        "systemd": {"units": [{"name": "a.service", "contents": f"[S]\n{secret}"}]},
        "passwd": {"users": [{"name": "x", "passwordHash": [secret]}]},
    }
    report = _report("3.2.0", body)
    assert len(report.errors) == 4
    assert not any(secret in str(entry) for entry in report.entries)
