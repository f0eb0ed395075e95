"""Documents merged into others, as each major version defines it."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from agent.sources import ignition
from agent.sources.ignition import Inline, Owner

_LIMIT = 1 << 20


def _merged(version: str, parent: dict[str, Any], *children: dict[str, Any]) -> ignition.Outcome:
    """The parent with the children merged into it, one after the other."""

    def written(document: dict[str, Any]) -> str:
        whole = copy.deepcopy(document)
        whole.setdefault("ignition", {})["version"] = version
        return json.dumps(whole)

    references = [
        {"source": "data:;base64," + base64.b64encode(written(child).encode()).decode()} for child in children
    ]
    main = copy.deepcopy(parent)
    main.setdefault("ignition", {})["config"] = {"append" if version[0] == "2" else "merge": references}
    return ignition.load("main.ign", written(main).encode())


def _configuration(outcome: ignition.Outcome) -> ignition.Configuration:
    assert outcome.configuration, [str(entry) for entry in outcome.report.entries]
    return outcome.configuration


def _text(contents: ignition.Contents | None) -> str:
    assert isinstance(contents, Inline)
    return contents.read(_LIMIT).decode()


def _files(*files: dict[str, Any]) -> dict[str, Any]:
    return {"storage": {"files": [{"filesystem": "root", **file} for file in files]}}


def _units(*units: dict[str, Any]) -> dict[str, Any]:
    return {"systemd": {"units": list(units)}}


def _say(text: str, **more: Any) -> dict[str, Any]:
    return {"contents": {"source": f"data:,{text}", **more}}


class TestVersion3:
    def test_files_by_path(self) -> None:
        configuration = _configuration(
            _merged(
                "3.2.0",
                _files({"path": "/a", "mode": 420, **_say("a")}, {"path": "/b", **_say("b")}),
                _files({"path": "/c", **_say("c")}, {"path": "/a", **_say("A")}),
            )
        )
        assert {path: _text(file.contents) for path, file in configuration.files.items()} == {
            "/a": "A",
            "/b": "b",
            "/c": "c",
        }
        assert configuration.files["/a"].mode == 420

    def test_compression_of_the_parent_stays(self) -> None:
        # Surprising, and what Ignition does; the child has to say that it has none.
        parent = _files({"path": "/a", **_say("", compression="gzip")})
        outcome = _merged("3.2.0", parent, _files({"path": "/a", **_say("plain")}))
        assert [entry.path for entry in outcome.report.errors if entry.document != "main.ign"] == [
            "$.storage.files.0.contents.source"
        ]
        child = _files({"path": "/a", **_say("plain", compression="")})
        assert _text(_configuration(_merged("3.2.0", parent, child)).files["/a"].contents) == "plain"

    def test_appended_contents_add_up(self) -> None:
        def appending(text: str) -> dict[str, Any]:
            return _files({"path": "/a", "append": [{"source": f"data:,{text}"}]})

        file = _configuration(_merged("3.2.0", appending("x"), appending("x"), appending("y"))).files["/a"]
        assert file.contents is None
        assert [_text(item) for item in file.appended] == ["x", "x", "y"]

    def test_a_link_takes_the_place_of_a_file(self) -> None:
        configuration = _configuration(
            _merged(
                "3.2.0",
                _files({"path": "/a"}, {"path": "/b"}),
                {"storage": {"links": [{"path": "/a", "target": "/b"}]}},
            )
        )
        assert list(configuration.files) == ["/b"]
        assert configuration.links["/a"].target == "/b"

    def test_units_and_dropins_by_name(self) -> None:
        def dropin(name: str, text: str) -> dict[str, str]:
            return {"name": name, "contents": f"[{text}]\n"}

        configuration = _configuration(
            _merged(
                "3.2.0",
                _units(
                    {"name": "a.service", "enabled": True, "contents": "[Old]\n",
                     "dropins": [dropin("1.conf", "one"), dropin("2.conf", "two")]},
                    {"name": "b.service", "mask": True},
                ),
                _units(
                    {"name": "a.service", "contents": "[New]\n",
                     "dropins": [dropin("2.conf", "TWO"), dropin("3.conf", "three"), {"name": "4.conf"}]},
                    {"name": "b.service", "mask": False},
                ),
            )
        )  # fmt: skip
        unit = configuration.units["a.service"]
        assert unit.enabled is True
        assert unit.contents == "[New]\n"
        assert [(item.name, item.contents) for item in unit.dropins.values()] == [
            ("1.conf", "[one]\n"),
            ("2.conf", "[TWO]\n"),
            ("3.conf", "[three]\n"),
        ]
        assert configuration.units["b.service"].masked is False

    def test_headers_are_taken_away_by_one_without_value(self) -> None:
        def file(*headers: dict[str, str]) -> dict[str, Any]:
            return _files({"path": "/a", "contents": {"source": "http://h/", "httpHeaders": list(headers)}})

        configuration = _configuration(
            _merged(
                "3.2.0",
                file({"name": "A", "value": "1"}, {"name": "B", "value": "2"}),
                file({"name": "A"}, {"name": "B", "value": "3"}),
            )
        )
        remote = configuration.files["/a"].contents
        assert isinstance(remote, ignition.Remote)
        assert remote.headers == (("B", "3"),)

    def test_what_merging_makes_wrong_is_told_where_it_was_said(self) -> None:
        outcome = _merged(
            "3.2.0",
            {"storage": {"links": [{"path": "/a", "target": "/x"}]}},
            _files({"path": "/b"}, {"path": "/a/c"}),
        )
        assert outcome.configuration is None
        (entry,) = outcome.report.errors
        assert "a link of this configuration is on the way" in entry.message

    def test_owners_without_a_contradiction_become_one(self) -> None:
        outcome = _merged(
            "3.2.0",
            _files({"path": "/a", "user": {"id": 1}}),
            _files({"path": "/a", "user": {"name": "x"}}),
        )
        (entry,) = outcome.report.errors
        assert "not both" in entry.message
        assert entry.document != "main.ign"
        assert entry.path == "$.storage.files.0.user"

    def test_special_bits_are_dropped_before_3_6(self) -> None:
        file = _files({"path": "/a", "mode": 0o4755, **_say("x")})
        assert _configuration(_merged("3.5.0", file)).files["/a"].mode == 0o755
        assert _configuration(_merged("3.6.0", file)).files["/a"].mode == 0o4755

    def test_lists_of_words(self) -> None:
        def document(exist: list[str], not_exist: list[str]) -> dict[str, Any]:
            return {"kernelArguments": {"shouldExist": exist, "shouldNotExist": not_exist}}

        configuration = _configuration(
            _merged("3.3.0", document(["a", "b"], ["c"]), document(["c"], ["b", "d"]))
        )
        assert [item.name for item in configuration.ignored] == ["a", "c", "b", "d"]


class TestVersion2:
    def test_a_later_file_takes_the_place(self) -> None:
        configuration = _configuration(
            _merged(
                "2.4.0",
                _files({"path": "/a", "mode": 420, **_say("a")}, {"path": "/b//", "mode": 1, **_say("b")}),
                _files({"path": "/a", "mode": 384, **_say("A")}, {"path": "/b", "mode": 2, **_say("B")}),
            )
        )
        assert [(path, _text(file.contents), file.mode) for path, file in configuration.files.items()] == [
            ("/a", "A", 384),
            ("/b", "B", 2),
        ]

    def test_appending(self) -> None:
        file = _configuration(
            _merged(
                "2.4.0",
                _files({"path": "/a", "mode": 420, "user": {"name": "x"}, **_say("a")}),
                _files({"path": "/a", "append": True, "mode": 384, **_say("b")}),
                _files({"path": "/a", "append": True, "group": {"id": 5}, **_say("c")}),
            )
        ).files["/a"]
        assert _text(file.contents) == "a"
        assert [_text(item) for item in file.appended] == ["b", "c"]
        assert file.mode == 384
        assert file.owner == Owner("x", 5)

    def test_appending_to_what_only_the_machine_has(self) -> None:
        file = _configuration(_merged("2.4.0", _files({"path": "/a", "append": True, **_say("b")}))).files[
            "/a"
        ]
        assert file.contents is None
        assert [_text(item) for item in file.appended] == ["b"]

    def test_a_new_file_forgets_what_was_appended_before(self) -> None:
        file = _configuration(
            _merged(
                "2.4.0",
                _files({"path": "/a", "append": True, **_say("x")}),
                _files({"path": "/a", **_say("new")}),
                _files({"path": "/a", "append": True, **_say("y")}),
            )
        ).files["/a"]
        assert _text(file.contents) == "new"
        assert [_text(item) for item in file.appended] == ["y"]

    def test_not_to_be_overwritten(self) -> None:
        outcome = _merged(
            "2.4.0",
            _files({"path": "/a", **_say("a")}),
            _files({"path": "/a", "overwrite": False, **_say("b")}),
        )
        (entry,) = outcome.report.errors
        assert '"/a" is there already' in entry.message
        assert entry.document == "main.ign: ignition.config.append.0"

    def test_units_by_name(self) -> None:
        unit = _configuration(
            _merged(
                "2.4.0",
                _units({"name": "a.service", "enabled": True, "contents": "[Old]\n"}),
                _units({"name": "a.service", "enabled": False,
                        "dropins": [{"name": "x.conf", "contents": "[x]\n"}]}),
                _units({"name": "a.service", "contents": "[New]\n", "mask": True,
                        "dropins": [{"name": "x.conf", "contents": "[X]\n"}]}),
            )
        ).units["a.service"]  # fmt: skip
        assert unit.contents == "[New]\n"
        assert unit.dropins["x.conf"].contents == "[X]\n"
        # systemd goes by the first line of the preset file that Ignition writes.
        assert unit.enabled is True
        assert unit.masked is True

    @pytest.mark.parametrize(
        ("unit", "enabled"),
        [({"enable": True}, True), ({"enable": False}, None), ({"enabled": False}, False), ({}, None)],
    )
    def test_enabling(self, unit: dict[str, bool], enabled: bool | None) -> None:
        assert (
            _configuration(_merged("2.4.0", _units({"name": "a.service", **unit}))).units["a.service"].enabled
            is enabled
        )

    def test_other_filesystems_are_ignored(self) -> None:
        configuration = _configuration(
            _merged(
                "2.4.0",
                {
                    "storage": {
                        "filesystems": [
                            {"name": "data", "path": "/data"},
                            {"name": "root", "path": "/sysroot"},
                        ],
                        "files": [
                            {"filesystem": "data", "path": "/a"},
                            {"filesystem": "root", "path": "/b"},
                        ],
                        "directories": [{"filesystem": "data", "path": "/d"}],
                        "links": [{"filesystem": "data", "path": "/l", "target": "/b"}],
                    }
                },
            )
        )
        assert list(configuration.files) == ["/b"]
        assert [(item.kind, item.name) for item in configuration.ignored] == [
            ("filesystem", "data"),
            ("filesystem", "root"),
            ("file on another filesystem", "/a"),
            ("directory on another filesystem", "/d"),
            ("link on another filesystem", "/l"),
        ]

    @pytest.mark.parametrize(("version", "mode", "owner"), [
        ("2.0.0", 0, Owner(0, 0)), ("2.1.0", 0, Owner()), ("2.2.0", None, Owner()),
    ])  # fmt: skip
    def test_what_silence_meant(self, version: str, mode: int | None, owner: Owner) -> None:
        file = _configuration(_merged(version, _files({"path": "/a", **_say("a")}))).files["/a"]
        assert file.mode == mode
        assert file.owner == owner

    def test_proxy_and_timeouts(self) -> None:
        def document(**ignition_: Any) -> dict[str, Any]:
            return {"ignition": ignition_}

        parent = document(
            proxy={"httpProxy": "http://p", "noProxy": ["a"]},
            timeouts={"httpTotal": 5, "httpResponseHeaders": 3},
        )
        child = document(proxy={"noProxy": ["b"]}, timeouts={"httpTotal": 7})
        network = _configuration(_merged("2.4.0", parent, child)).network
        # An absent proxy of a child unsets the parent's: so it is in Ignition 2.
        assert (network.http_proxy, network.no_proxy) == ("", ("a", "b"))
        assert (network.total_timeout, network.response_timeout) == (7, 3)
