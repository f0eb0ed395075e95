"""dist/wmcb.cdx.json: the bill of materials, as CycloneDX 1.6 has it.

For those who watch for known vulnerabilities, and for whoever finds one of the files somewhere. It tells no
time and has no serial number: a build of the same commit writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from exebuild.parts import OWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from exebuild.parts import Part

NAME = "wmcb.cdx.json"
SCHEMA = "http://cyclonedx.org/schema/bom-1.6.schema.json"
PROGRAM = "wmcb.exe"
_SPDX = frozenset({
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "bzip2-1.0.6", "dtoa", "MIT", "MIT-0", "Python-2.0", "Zlib",
})  # fmt: skip
"""Those of SPDX' identifiers that our parts have; any other words are a licence's name."""

Object = dict[str, object]


def bill(parts: Sequence[Part], commit: str, files: Mapping[str, bytes]) -> bytes:
    """Return the bill of the program's folder, whose `files` are named by their paths in it."""
    own, *others = parts
    untold = dict(files)
    components = [_component(part, untold) for part in others]
    document = {
        "$schema": SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        # What no other part names is ours.
        "metadata": {"component": _own(own, commit, untold)},
        "components": components,
        "dependencies": _dependencies(parts),
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _own(own: Part, commit: str, files: Mapping[str, bytes]) -> Object:
    return {
        "type": "application",
        **_named(own),
        "properties": [{"name": "wmcb:commit", "value": commit}],
        "components": [_file(name, content) for name, content in sorted(files.items())],
    }


def _component(part: Part, untold: dict[str, bytes]) -> Object:
    """A file is told with the first part that has it: of those within its library that is the library's."""
    files = [_file(name, untold.pop(name)) for name in part.files if name in untold]
    places = part.files or [PROGRAM]
    return {
        "type": "library",
        **_named(part),
        "evidence": {"occurrences": [{"location": place} for place in places]},
        **({"components": files} if files else {}),
    }


def _named(part: Part) -> Object:
    is_spdx = part.license in _SPDX
    is_expression = any(f" {word} " in part.license for word in ("OR", "AND", "WITH"))
    license_name = {"license": {"id" if is_spdx else "name": part.license}}
    return {
        "bom-ref": part.reference,
        "name": part.name,
        **({"version": part.version} if part.version else {}),
        "licenses": [{"expression": part.license} if is_expression else license_name],
        **({"cpe": part.cpe} if part.cpe else {}),
        **({"purl": part.package} if part.package else {}),
    }


def _file(name: str, content: bytes) -> Object:
    return {
        "type": "file",
        "bom-ref": f"file:{name}",
        "name": name,
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(content).hexdigest()}],
    }


def _dependencies(parts: Iterable[Part]) -> list[Object]:
    """Ours on what it imports, and each of those on what it brings along."""
    below: dict[str, list[str]] = {}
    for part in parts:
        below.setdefault(part.reference, [])
        if part.name != OWN:
            below[part.within or OWN].append(part.reference)
    return [{"ref": name, "dependsOn": needed} for name, needed in below.items()]
