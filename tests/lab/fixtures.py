"""Fixtures for tests that run inside the lab. A conftest.py imports what its tests ask for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from lab import means, namespace
from lab.certificates import Authority
from lab.namespace import ADDRESS, WEB_NAME
from lab.node import Node
from lab.web import Proxy, Web, proxying, serving


@pytest.fixture
def node() -> Iterator[Node]:
    """A Windows node, fresh and up."""
    demand_the_lab()
    node = Node()
    yield node
    node.close()


@pytest.fixture(scope="module")
def lasting() -> Iterator[Node]:
    """One node for all tests of a module that leave nothing behind on it."""
    demand_the_lab()
    node = Node()
    yield node
    node.close()


@pytest.fixture
def web_authority(tmp_path: Path) -> Authority:
    """Who signed the certificate of `secure_web`; nobody trusts it unless told to."""
    folder = tmp_path / "authority"
    folder.mkdir()
    return Authority.make(folder, "A test's own authority")


@pytest.fixture
def web() -> Iterator[Web]:
    """A web server, without TLS."""
    demand_the_lab()
    with serving() as server:
        yield server


@pytest.fixture
def secure_web(web_authority: Authority, tmp_path: Path) -> Iterator[Web]:
    """A web server with TLS, for the name web.test and the lab's address."""
    demand_the_lab()
    pair = tmp_path / "web.pem"
    # The whole chain: of one that ends below its root Wine believes the root, which Windows does not.
    root = web_authority.certificate.read_text()
    pair.write_text(web_authority.server([f"DNS:{WEB_NAME}", f"IP:{ADDRESS}"]) + root)
    with serving(pair) as server:
        yield server


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """An HTTP proxy, for http and https."""
    demand_the_lab()
    with proxying() as server:
        yield server


def demand_the_lab() -> None:
    """Skips a test that was started outside the lab."""
    if not namespace.inside():
        cannot_run(
            "needs the lab: start it by `python -m lab enter -- python -m pytest ...` (or make test-windows)"
        )


def demand_program(name: str) -> Path:
    """Skips a test whose program cannot be had here."""
    try:
        return means.program(name)
    except means.Missing as missing:
        cannot_run(str(missing))


def demand_installed(name: str) -> None:
    """Skips a test whose program is not there and cannot be installed here."""
    try:
        if shutil.which(name) is None:
            means.ensure(name)
    except means.Missing as missing:
        cannot_run(str(missing))


def cannot_run(why: str) -> NoReturn:
    """Skips a test; in CI that is a failure, never a skip."""
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
