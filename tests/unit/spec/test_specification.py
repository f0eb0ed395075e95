"""A specification's order, and the names in it."""

from __future__ import annotations

import sys
from pathlib import PureWindowsPath

import pytest

from agent.spec import Directory, File, Inconsistent, Inline, Key, Service, Specification, Want

C = PureWindowsPath("C:\\")
K = Directory(C / "k")
DEEP = Directory(C / "k" / "cni" / "config")
CNI = Directory(C / "k" / "cni")
EXE = File(C / "k" / "kubelet.exe", Inline(b"MZ"))
CONFIG = File(C / "k" / "cni" / "config" / "x", Inline(b"{}"))
KUBELET = Service("kubelet", C / "k" / "kubelet.exe", reads=(CONFIG.key,))

ORDERS: dict[str, tuple[list[Want], list[Want]]] = {
    "as given where nothing is used": (
        [Directory(C / "b"), Directory(C / "a")],
        [Directory(C / "b"), Directory(C / "a")],
    ),
    "a folder before its file": ([EXE, K], [K, EXE]),
    "folders from the top": ([DEEP, CNI, K], [K, CNI, DEEP]),
    "a service last": ([KUBELET, EXE, CONFIG, K, CNI, DEEP], [K, EXE, CNI, DEEP, CONFIG, KUBELET]),
    "what nobody wants is not waited for": ([KUBELET], [KUBELET]),
}


@pytest.mark.parametrize("given, expected", ORDERS.values(), ids=ORDERS)
def test_each_after_what_it_uses(given: list[Want], expected: list[Want]) -> None:
    assert list(Specification.of(given).wants) == expected


def test_a_path_deeper_than_python_calls_functions() -> None:
    path = C
    wants = [Directory(path := path / "d") for _ in range(sys.getrecursionlimit() + 100)]
    assert list(Specification.of(reversed(wants)).wants) == wants


def test_names_have_no_case() -> None:
    with pytest.raises(Inconsistent, match=r"directory C:\\K is wanted twice"):
        Specification.of([K, Directory(C / "K")])
    assert Key("service", "KUBELET") == Key("service", "kubelet")
    assert Key("file", "kubelet") != Key("service", "kubelet")
    # As NTFS has it, where these are two names.
    assert Key("file", "straße") != Key("file", "strasse")


def test_a_circle_is_told() -> None:
    one = Service("one", C / "one.exe", reads=(Key("service", "two"),))
    two = Service("two", C / "two.exe", reads=(Key("service", "one"),))
    with pytest.raises(Inconsistent, match="service two needs service one, and that needs it in turn"):
        Specification.of([one, two])


def test_content_is_not_shown() -> None:
    assert "MZ" not in repr(EXE)
    assert "hunter2" not in repr(Service("x", C / "x.exe", environment={"PROXY": "hunter2"}))
