"""What winget's manifests of version 1.10 have to have, and in which form, of the fields that ours have."""

from __future__ import annotations

import re
from typing import Any

_HASH = r"[0-9A-Fa-f]{64}"
_NUMBER = r"(0|[1-9][0-9]{0,4})"
_RULES = {
    "Architecture": r"x86|x64|arm|arm64|neutral",
    "DefaultLocale": r"[a-z]{2,3}(-[A-Za-z]{1,8})*",
    "DisplayName": r".{1,256}",
    "DisplayVersion": r".{1,128}",
    "ElevationRequirement": r"elevationRequired|elevationProhibited|elevatesSelf",
    "InstallerSha256": _HASH,
    "InstallerType": r"msix|msi|appx|exe|zip|inno|nullsoft|wix|burn|pwa|portable",
    "InstallerUrl": r"https://.{1,2040}",
    "License": r".{3,512}",
    "ManifestType": r"version|installer|defaultLocale",
    "ManifestVersion": rf"{_NUMBER}(\.{_NUMBER}){{2}}",
    "MinimumOSVersion": rf"{_NUMBER}(\.{_NUMBER}){{0,3}}",
    "PackageIdentifier": r'[^.\s\\/:*?"<>|]{1,32}(\.[^.\s\\/:*?"<>|]{1,32}){1,7}',
    "PackageLocale": r"[a-z]{2,3}(-[A-Za-z]{1,8})*",
    "PackageName": r".{2,256}",
    "PackageVersion": r'[^\\/:*?"<>|]{1,128}',
    "ProductCode": r".{1,255}",
    "Publisher": r".{2,256}",
    "ReleaseDate": r"\d{4}-\d{2}-\d{2}",
    "ReleaseNotesUrl": r"https?://.{1,2040}",
    "Scope": r"user|machine",
    "ShortDescription": r".{3,256}",
    "UpgradeBehavior": r"install|uninstallPrevious|deny",
    "UpgradeCode": r".{1,255}",
}
_LISTS = {
    "Commands": r".{1,40}",
    "InstallModes": r"interactive|silent|silentWithProgress",
    "Platform": r"Windows\.Desktop|Windows\.Universal",
    "Tags": r".{1,40}",
}
_MOST = {"Installers": 1024, "AppsAndFeaturesEntries": 128, **dict.fromkeys(_LISTS, 16)}
"""How many a list may have."""
_NEEDED = {
    "version": {"DefaultLocale"},
    "installer": {"Installers"},
    "defaultLocale": {"PackageLocale", "Publisher", "PackageName", "License", "ShortDescription"},
}
_NEEDED_BY_ALL = {"PackageIdentifier", "PackageVersion", "ManifestType", "ManifestVersion"}
_NEEDED_BY_INSTALLER = {"Architecture", "InstallerUrl", "InstallerSha256"}


def broken_rules(manifest: dict[str, Any]) -> list[str]:
    needed = _NEEDED_BY_ALL | _NEEDED.get(str(manifest.get("ManifestType")), set())
    return _broken(manifest, needed)


def _broken(part: dict[str, Any], needed: set[str]) -> list[str]:
    broken = [f"{name} is missing" for name in sorted(needed - part.keys())]
    for name, value in part.items():
        if name in _MOST and not (isinstance(value, list) and 1 <= len(value) <= _MOST[name]):
            broken.append(f"{name}: {value!r}")
        elif name == "Installers":
            broken += [each for installer in value for each in _broken(installer, _NEEDED_BY_INSTALLER)]
        elif name == "AppsAndFeaturesEntries":
            broken += [each for entry in value for each in _broken(entry, set())]
        elif name in _LISTS:
            fits = [isinstance(each, str) and re.fullmatch(_LISTS[name], each) for each in value]
            broken += [f"{name}: {value}"] * (not all(fits) or len(set(value)) != len(value))
        elif name not in _RULES:
            broken.append(f"{name} is unknown")
        elif not isinstance(value, str) or not re.fullmatch(_RULES[name], value):
            broken.append(f"{name}: {value!r}")
    return broken
