"""The manifests that winget's own repository takes: three files of one version."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

import yaml

from releasing import NAME, PUBLISHER, installer

MANIFEST_VERSION = "1.10.0"
IDENTIFIER = "wmcb.wmcb"
LOCALE = "en-US"
OLDEST_WINDOWS = "10.0.17763.0"
"""Windows Server 2019."""

Manifest = dict[str, object]


class Published(NamedTuple):
    """A release whose files are at an address."""

    release: str
    day: str
    address: str
    """What a file's name is put behind."""


def manifests(published: Published, msi: Path) -> dict[str, str]:
    """Each file's text by its name."""
    contents = {
        "": _version(),
        ".installer": _installer(published, msi),
        f".locale.{LOCALE}": _locale(published),
    }
    return {
        f"{IDENTIFIER}{kind}.yaml": _text(
            {
                "PackageIdentifier": IDENTIFIER,
                "PackageVersion": published.release,
                **content,
                "ManifestVersion": MANIFEST_VERSION,
            }
        )
        for kind, content in contents.items()
    }


def _text(manifest: Manifest) -> str:
    # winget's full validation wants to find the schema named before all else, though only in a comment.
    schema = f"winget-manifest.{manifest['ManifestType']}.{MANIFEST_VERSION}.schema.json"
    header = f"# yaml-language-server: $schema=https://aka.ms/{schema}\n"
    return header + yaml.safe_dump(manifest, sort_keys=False)


def _version() -> Manifest:
    return {"DefaultLocale": LOCALE, "ManifestType": "version"}


def _installer(published: Published, msi: Path) -> Manifest:
    code = installer.product_code(published.release)
    return {
        "Platform": ["Windows.Desktop"],
        "MinimumOSVersion": OLDEST_WINDOWS,
        "InstallerType": "msi",
        "Scope": "machine",
        "InstallModes": ["silent", "silentWithProgress"],
        "UpgradeBehavior": "install",
        "Commands": [NAME],
        "ReleaseDate": published.day,
        "ElevationRequirement": "elevationRequired",
        "Installers": [
            {
                "Architecture": "x64",
                "InstallerUrl": f"{published.address.rstrip('/')}/{msi.name}",
                "InstallerSha256": hashlib.sha256(msi.read_bytes()).hexdigest().upper(),
                "ProductCode": code,
                "AppsAndFeaturesEntries": [
                    {
                        "DisplayName": NAME,
                        "Publisher": PUBLISHER,
                        "DisplayVersion": published.release,
                        "ProductCode": code,
                        "UpgradeCode": installer.upgrade_code(),
                    }
                ],
            }
        ],
        "ManifestType": "installer",
    }


def _locale(published: Published) -> Manifest:
    return {
        "PackageLocale": LOCALE,
        "Publisher": PUBLISHER,
        "PackageName": NAME,
        "License": "Apache-2.0",
        "ShortDescription": "Turns a Windows Server machine into a Kubernetes worker node and keeps it one",
        "Tags": ["containers", "kubelet", "kubernetes", "windows-server"],
        "ReleaseNotesUrl": published.address,
        "ManifestType": "defaultLocale",
    }
