"""A bill of materials as CycloneDX' own library judges it: by the published schema, and read as one."""

from __future__ import annotations

import json

from cyclonedx.exception import CycloneDxException
from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


def faults(content: bytes) -> list[str]:
    """Empty where it is right. Whether a reference leads anywhere no schema can tell, but the library can."""
    document = json.loads(content)
    version = SchemaVersion.from_version(document["specVersion"])
    broken = JsonStrictValidator(version).validate_str(content.decode(), all_errors=True)
    if broken:
        return [f"{each.data.json_path}: {each.data.message}" for each in broken]
    try:
        Bom.from_json(document).validate()  # type: ignore[attr-defined] # a decorator makes it
    except CycloneDxException as error:
        return [str(error)]
    return []
