"""dist/wmcb.cdx.json: the bill of materials, as CycloneDX 1.6 has it.

For those who watch for known vulnerabilities, or find one of the files somewhere. It tells no time and has no
serial number: a build of the same commit writes the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from cyclonedx.model import HashAlgorithm, HashType, Property
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.component_evidence import ComponentEvidence, Occurrence
from cyclonedx.model.license import DisjunctiveLicense, License, LicenseExpression
from cyclonedx.output.json import JsonV1Dot6
from cyclonedx.spdx import is_expression, is_supported_id
from packageurl import PackageURL

from exebuild.parts import Part

_PROGRAM = "wmcb.exe"


def bill(parts: Sequence[Part], commit: str, files: Mapping[str, bytes]) -> bytes:
    """Return the bill of the program's folder, whose `files` are named by their paths in it."""
    own, *others = parts
    untold = dict(files)
    components = {part.reference: _component(part, untold) for part in others}
    # What no other part names is ours.
    components[own.reference] = _named(
        own,
        ComponentType.APPLICATION,
        components=[_file(name, content) for name, content in untold.items()],
        properties=[Property(name="wmcb:commit", value=commit)],
    )
    bom = Bom(components=[components[part.reference] for part in others])
    bom.metadata.component = components[own.reference]
    for part in parts:
        below = [each.reference for each in others if (each.within or own.name) == part.reference]
        bom.register_dependency(components[part.reference], [components[name] for name in below])
    bom.serial_number = bom.metadata.timestamp = None  # type: ignore[assignment]  # or they differ each time
    return (JsonV1Dot6(bom).output_as_string(indent=1) + "\n").encode()


def _component(part: Part, untold: dict[str, bytes]) -> Component:
    """A file is told with the first part that has it: of those within its library that is the library's."""
    # Those without a reference of their own would be sorted by chance.
    places = [Occurrence(location=at, bom_ref=f"{part.name}:{at}") for at in part.files or (_PROGRAM,)]
    return _named(
        part,
        ComponentType.LIBRARY,
        components=[_file(name, untold.pop(name)) for name in part.files if name in untold],
        evidence=ComponentEvidence(occurrences=places),
    )


def _named(part: Part, kind: ComponentType, **more: object) -> Component:
    return Component(
        type=kind,
        name=part.name,
        bom_ref=part.reference,
        version=part.version or None,
        licenses=[_license(part.license)],
        cpe=part.cpe or None,
        purl=PackageURL.from_string(part.package) if part.package else None,
        **more,  # type: ignore[arg-type]  # as above
    )


def _license(text: str) -> License:
    if is_supported_id(text):
        return DisjunctiveLicense(id=text)
    return LicenseExpression(text) if is_expression(text) else DisjunctiveLicense(name=text)


def _file(name: str, content: bytes) -> Component:
    digest = HashType(alg=HashAlgorithm.SHA_256, content=hashlib.sha256(content).hexdigest())
    return Component(type=ComponentType.FILE, name=name, bom_ref=f"file:{name}", hashes=[digest])
