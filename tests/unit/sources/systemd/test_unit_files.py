from __future__ import annotations

import pytest

from agent.sources.systemd.service import UnitFile, gather, read_unit


def settings(text: str | bytes) -> list[tuple[str, str, str]]:
    contents = text.encode() if isinstance(text, str) else text
    return [
        (found.section, found.name, found.value) for found in read_unit(UnitFile("x.service", contents))[0]
    ]


def complaints(text: str | bytes) -> list[str]:
    contents = text.encode() if isinstance(text, str) else text
    return [str(entry) for entry in read_unit(UnitFile("x.service", contents))[1].entries]


@pytest.mark.parametrize(
    ("body", "value"),
    [
        pytest.param("a=1\n", "1", id="plain"),
        pytest.param("a=1", "1", id="no-newline-at-the-end"),
        pytest.param("  a =\t 1 \t\n", "1", id="blanks-around"),
        pytest.param("a=1\r\n", "1", id="windows-line-end"),
        pytest.param("a=1\0b=2", "1", id="nul-ends-a-line"),
        pytest.param("a=x=y\n", "x=y", id="equals-in-the-value"),
        pytest.param("a=1 # 2\n", "1 # 2", id="no-comment-behind-a-value"),
        pytest.param("a=1\\\n2\\\n3\n", "1 2 3", id="continued"),
        pytest.param("a=1\\\r\n2\r\n", "1 2", id="continued-with-windows-line-ends"),
        pytest.param("a=1\\\n#x\\\n2\\\n3\n", "1 2 3", id="comment-inside"),
        pytest.param("a=1\\\n ;x\n2\n", "1 2", id="indented-comment-inside"),
        pytest.param("a=1\\\n\nb=2", "1", id="blank-line-ends-it"),
        pytest.param("a=1\\\n   \nb=2", "1", id="line-of-blanks-ends-it"),
        pytest.param("a=1\\\n2\\", "1 2", id="continued-into-the-end"),
        pytest.param("a=1\\\\\\\n\\\\2\n", "1\\\\ \\\\2", id="escaped-backslash-before-the-last"),
        pytest.param("a=1\\\\\nb=2\n", "1\\\\", id="escaped-backslash-at-the-end"),
        pytest.param("#x\\\na=1\n", "1", id="comment-is-never-continued"),
        pytest.param("a=\n", "", id="empty"),
        pytest.param("a=\\\n  \\\n  1\n", "1", id="begins-on-a-later-line"),
    ],
)
def test_values(body: str, value: str) -> None:
    found = settings("[Service]\n" + body)
    assert found[0] == ("Service", "a", value)


def test_sections() -> None:
    text = "[Unit]\na=1\n[Service]\nb=2\n[X-Mine]\nc=3\n[Service]\nd=4\n[Install]\ne=5\n"
    assert settings(text) == [
        ("Unit", "a", "1"),
        ("Service", "b", "2"),
        ("Service", "d", "4"),
        ("Install", "e", "5"),
    ]
    assert complaints(text) == []


def test_byte_order_mark() -> None:
    assert settings(b"\xef\xbb\xbf[Service]\na=1\n") == [("Service", "a", "1")]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("a=1\n", "before the first section", id="no-section"),
        pytest.param("[Service]\njunk\n", "without '='", id="no-equals"),
        pytest.param("[Service]\n=1\n", "without a name", id="no-name"),
        pytest.param("[Socket]\na=1\n", 'no section "Socket"', id="other-section"),
        pytest.param(b"[Service]\na=\xff\n", "not UTF-8", id="not-utf-8"),
    ],
)
def test_ignored_with_a_warning(text: str | bytes, complaint: str) -> None:
    (line,) = complaints(text)
    assert line.startswith("warning: x.service line ")
    assert complaint in line
    assert settings(text) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("[Service]\na=1\n[Service\nb=2\n", "no section header", id="open-bracket"),
        pytest.param("[Service]\na=1\n[Ser\tvice]\nb=2\n", "no section header", id="control-character"),
        pytest.param("[Service]\na=1\nb=" + "x" * 1_050_000, "longer than 1 MiB", id="long-line"),
        pytest.param(
            "[Service]\na=1\nb=" + ("x" * 1050 + "\\\n") * 1000, "longer than 1 MiB", id="continued"
        ),
    ],
)
def test_refused_from_there_on(text: str, complaint: str) -> None:
    (line,) = complaints(text)
    assert line.startswith("error: x.service line ")
    assert complaint in line
    assert settings(text) == [("Service", "a", "1")]


def test_a_setting_stands_where_it_begins() -> None:
    (setting,) = read_unit(UnitFile("x", b"[Service]\n\nExecStart=a \\\n# no\n b\n"))[0]
    assert setting.line == 3


ETC = "/etc/systemd/system"


@pytest.mark.parametrize(
    ("contents", "drop_ins", "files", "names"),
    [
        pytest.param("", {"b.conf": "", "a.conf": ""}, [], ["k.service", "a.conf", "b.conf"], id="by-name"),
        pytest.param("", {"a.txt": ""}, [f"{ETC}/k.service.d/b"], ["k.service"], id="only-conf"),
        pytest.param(
            "",
            {"20.conf": ""},
            [f"{ETC}/k.service.d/10.conf", "/usr/lib/systemd/system/k.service.d/30.conf"],
            ["k.service", "10.conf", "20.conf", "30.conf"],
            id="from-files-too",
        ),
        pytest.param(
            "",
            {},
            ["/run/systemd/system/k.service.d/a.conf", f"{ETC}/k.service.d/a.conf"],
            ["k.service", f"{ETC}/k.service.d/a.conf"],
            id="etc-hides-run",
        ),
        pytest.param(
            "",
            {},
            [f"{ETC}/service.d/a.conf", f"{ETC}/k.service.d/a.conf", f"{ETC}/service.d/0.conf"],
            ["k.service", f"{ETC}/service.d/0.conf", f"{ETC}/k.service.d/a.conf"],
            id="a-unit-s-own-hides-that-of-all-services",
        ),
        pytest.param(
            None,
            {},
            ["/usr/lib/systemd/system/k.service", "/etc/systemd/system/k.service"],
            [f"{ETC}/k.service"],
            id="unit-from-files",
        ),
        pytest.param(None, {"a.conf": ""}, [], ["a.conf"], id="drop-in-alone"),
        pytest.param("", {}, [f"{ETC}/other.service.d/a.conf"], ["k.service"], id="of-another-unit"),
    ],
)
def test_which_files_make_a_unit(
    contents: str | None, drop_ins: dict[str, str], files: list[str], names: list[str]
) -> None:
    found = gather("k.service", contents, drop_ins, dict.fromkeys(files, b""))
    assert len(found) == len(names)
    for file, name in zip(found, names, strict=True):
        assert file.name.endswith(name)


def test_drop_ins_for_all_units_of_a_prefix() -> None:
    found = gather(
        "a-b-c.service", "", {}, {f"{ETC}/a-.service.d/1.conf": b"", f"{ETC}/b-.service.d/2.conf": b""}
    )
    assert [file.name for file in found] == ["a-b-c.service", f"{ETC}/a-.service.d/1.conf"]


def test_half_a_character_is_a_warning() -> None:
    (file,) = gather("k.service", "[Service]\na=\ud800\nb=1\n", {}, {})
    found, report = read_unit(file)
    assert [setting.name for setting in found] == ["b"]
    assert not report.fatal
    assert len(report.warnings) == 1
