from __future__ import annotations

import pytest

from agent.sources.kubelet.node import NEWEST, OLDEST
from agent.spec import File, Service
from unit.sources.worker.worked_examples import DATA, compiled, expected, names, shown


def test_every_document_has_an_example() -> None:
    assert names() == sorted(path.stem for path in DATA.glob("*.ign"))
    assert len(names()) == 8


@pytest.mark.parametrize("name", names())
def test_worked_example(name: str) -> None:
    assert shown(compiled(name)) == expected(name)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("minor", range(OLDEST, NEWEST + 1))
def test_there_is_a_node_for_every_release(name: str, minor: int) -> None:
    made = compiled(name, f"v1.{minor}.0")
    assert made.specification
    assert [want for want in made.specification.wants if isinstance(want, Service)]


def test_a_pointer_says_the_same_as_what_it_points_to() -> None:
    pointer, worker = (compiled(name, "v1.30.0").specification for name in ("pointer-2.2", "worker-2.2"))
    assert pointer
    assert worker
    assert pointer.title == "pointer-2.2.ign, Ignition 2.2.0, with 1 more that it refers to"
    files = [[want for want in made.wants if isinstance(want, File)] for made in (pointer, worker)]
    assert files[0] == files[1]
