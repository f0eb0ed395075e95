"""What CycloneDX 1.6 asks of a document like ours: its schema, as far as we use it, and its words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_DOCUMENT = {"$schema", "bomFormat", "specVersion", "version", "metadata", "components", "dependencies"}
_COMPONENT = {
    "type", "bom-ref", "name", "version", "licenses", "cpe", "purl", "properties", "components", "evidence",
    "hashes",
}  # fmt: skip
_TYPES = {"application", "library", "file"}
_SPDX = {
    "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "bzip2-1.0.6", "dtoa", "MIT", "Python-2.0", "Zlib",
}  # fmt: skip
_CPE = re.compile(r"cpe:2\.3:a(:[a-z0-9._+-]+){3}(:\*){7}")
_PACKAGE = re.compile(r"pkg:(generic|pypi)/[a-z0-9._+-]+@[A-Za-z0-9._+-]+")


def components(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """All of them, at whatever depth."""
    waiting = [document["metadata"]["component"], *document["components"]]
    while waiting:
        component = waiting.pop(0)
        yield component
        waiting += component.get("components", [])


def broken_rules(document: Mapping[str, Any]) -> list[str]:
    """Empty where it is right."""
    found = list(_of_document(document))
    all_of_them = list(components(document))
    for component in all_of_them:
        found += [f"{component.get('name')}: {rule}" for rule in _of_component(component)]
    references = [component["bom-ref"] for component in all_of_them]
    found += [f"{each} is there twice" for each in set(references) if references.count(each) > 1]
    for dependency in document["dependencies"]:
        unknown = {dependency["ref"], *dependency["dependsOn"]} - set(references)
        found += [f"a dependency on {each}, which is not there" for each in unknown]
        if len(set(dependency["dependsOn"])) != len(dependency["dependsOn"]):
            found.append(f"{dependency['ref']} depends on one thing twice")
    return found


def _of_document(document: Mapping[str, Any]) -> Iterator[str]:
    if set(document) != _DOCUMENT:
        yield f"fields: {sorted(set(document) ^ _DOCUMENT)}"
    if (document["bomFormat"], document["specVersion"], document["version"]) != ("CycloneDX", "1.6", 1):
        yield "it is no CycloneDX 1.6"
    if document["$schema"] != "http://cyclonedx.org/schema/bom-1.6.schema.json":
        yield "its schema is another"
    if set(document["metadata"]) != {"component"}:
        yield "metadata tells more than the component: a time would differ with each build"


def _of_component(component: Mapping[str, Any]) -> Iterator[str]:
    if unknown := set(component) - _COMPONENT:
        yield f"unknown {sorted(unknown)}"
    if component.get("type") not in _TYPES:
        yield "no type"
    if not component.get("name") or not component.get("bom-ref"):
        yield "no name"
    for each in component.get("hashes", []):
        if each["alg"] != "SHA-256" or not re.fullmatch("[0-9a-f]{64}", each["content"]):
            yield f"hash {each}"
    yield from _of_license(component.get("licenses", []))
    if "cpe" in component and not _CPE.fullmatch(component["cpe"]):
        yield f"cpe {component['cpe']}"
    if "purl" in component and not _PACKAGE.fullmatch(component["purl"]):
        yield f"purl {component['purl']}"
    if any(set(each) != {"location"} for each in component.get("evidence", {}).get("occurrences", [])):
        yield "an occurrence without a place"
    if any(set(each) != {"name", "value"} for each in component.get("properties", [])):
        yield "a property without name and value"


def _of_license(licenses: list[Mapping[str, Any]]) -> Iterator[str]:
    for each in licenses:
        told = each.get("license", {})
        if set(each) != {"license"} or set(told) not in ({"id"}, {"name"}) or "" in told.values():
            yield f"licence {each}"
        elif "id" in told and told["id"] not in _SPDX:
            yield f"{each} is not SPDX'"
