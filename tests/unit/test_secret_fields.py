"""Fields that a dataclass does not show: nothing else shows them either."""

from __future__ import annotations

import copy
import importlib
import pkgutil
import sys
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest

import agent
import service
from agent import secret_fields
from agent.redaction import redacted
from agent.secret_fields import registers_secrets

_OF_WINDOWS = "agent.host.windows"


def _dataclasses() -> list[type[Any]]:
    names = (
        name
        for package in (agent, service)
        for _, name, _ in pkgutil.walk_packages(
            package.__path__, f"{package.__name__}.", onerror=lambda _: None
        )
        if sys.platform == "win32" or not name.startswith(_OF_WINDOWS)
    )
    found = {
        each
        for module in map(importlib.import_module, names)
        for each in vars(module).values()
        if isinstance(each, type) and is_dataclass(each) and each.__module__ == module.__name__
    }
    return sorted(found, key=lambda each: f"{each.__module__}.{each.__qualname__}")


DATACLASSES = _dataclasses()
HIDING = [each for each in DATACLASSES if any(not one.repr for one in fields(each))]


def test_dataclasses_are_found() -> None:
    assert len(DATACLASSES) > 250
    assert len(HIDING) > 30


@pytest.mark.parametrize("kind", HIDING, ids=lambda kind: f"{kind.__module__}.{kind.__qualname__}")
def test_what_is_hidden_is_not_in_the_repr_and_is_registered(
    kind: type[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: dict[str, object] = {}
    monkeypatch.setattr(
        secret_fields, "register_document", lambda value, name: registered.update({name: value})
    )
    hidden = {one.name: f"hidden-{one.name}" for one in fields(kind) if not one.repr}
    made = kind(**{one.name: hidden.get(one.name, "shown") for one in fields(kind)})
    assert "hidden" not in repr(made)
    assert registered == hidden


@registers_secrets
@dataclass(frozen=True, slots=True)
class _Account:
    user: str
    password: str = field(default="", repr=False)


def test_each_way_to_make_one_registers() -> None:
    """By the place of the field, by its name, and by replacing it."""
    account = _Account("worker-7", "geheim-17")
    assert repr(account) == "_Account(user='worker-7')"
    by_name, replaced = ({"password": secret} for secret in ("geheim-18", "geheim-19"))
    replace(_Account("worker-7", **by_name), **replaced)
    assert redacted("worker-7 geheim-17 geheim-18 geheim-19") == "worker-7 *** *** ***"
    assert _Account("worker-7").password == ""


def test_it_stays_a_frozen_dataclass() -> None:
    account = _Account("worker-7", "geheim-17")
    assert account == copy.deepcopy(account) != replace(account, user="worker-8")
    with pytest.raises(FrozenInstanceError):
        account.user = "worker-8"  # type: ignore[misc]
    with pytest.raises(TypeError, match="user"):
        _Account()  # type: ignore[call-arg]
