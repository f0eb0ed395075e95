"""An authority that certifi knows, and this machine does not."""

from __future__ import annotations

from pathlib import Path

import certifi
import pytest
import requests

from unit.fetch.authority import issue

BUNDLED = issue("bundled-ca", authority=True)
UNDER_BUNDLED = issue("server", BUNDLED, names=["127.0.0.1", "node.example"])


def give_certifi(folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Make `BUNDLED` all of certifi's list, wherever requests looks for that."""
    bundle = folder / "cacert.pem"
    bundle.write_bytes(BUNDLED.pem)
    patch.setattr(certifi, "where", lambda: str(bundle))
    for module in (requests.adapters, requests.certs, requests.utils):
        for name in ("DEFAULT_CA_BUNDLE_PATH", "where"):
            if hasattr(module, name):
                patch.setattr(module, name, str(bundle) if name.isupper() else certifi.where)
    return bundle
