"""A folder of this system that nobody lets us into."""

from __future__ import annotations

import os
from typing import Any

import pytest

from agent.host.errors import AccessDenied
from agent.host.sandbox import places


@pytest.mark.parametrize("asked", ["lstat", "listdir"])
def test_no_permission_is_access_denied(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> os.stat_result:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, asked, refused)
    with pytest.raises(AccessDenied):
        places._find("folder", "name", "NAME")
