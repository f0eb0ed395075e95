"""Services ConfigMaps for tests: one as the operator writes it, and the parts of small ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent.sources.report import Outcome
from agent.sources.services_configmap import reading as services_configmap
from agent.sources.services_configmap.model import ServicesConfigMap

DATA = Path(__file__).parents[3] / "data" / "services_configmap"
NAME = "ConfigMap windows-services-1"


def loaded(name: str) -> Any:
    return json.loads((DATA / name).read_text())


def service(name: str, **fields: object) -> dict[str, object]:
    return {"name": name, "path": rf"C:\k\{name}.exe", "bootstrap": False, "priority": 1, **fields}


def data(*services: object, **keys: object) -> dict[str, str]:
    given = {"services": list(services), "files": [], **keys}
    return {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}


def read(*services: object, **keys: object) -> Outcome[ServicesConfigMap]:
    return services_configmap.read(NAME, data(*services, **keys))


def taken(*services: object, **keys: object) -> ServicesConfigMap:
    outcome = read(*services, **keys)
    assert outcome.configuration, messages(outcome)
    return outcome.configuration


def messages(outcome: Outcome[ServicesConfigMap]) -> list[str]:
    return [f"{entry.severity.value} {entry.path}: {entry.message}" for entry in outcome.report.entries]
