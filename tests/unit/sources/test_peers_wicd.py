"""What the tests of OpenShift's daemon state of services ConfigMaps: the answers here are the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.sources.services_configmap.compiling import compile_services
from agent.sources.services_configmap.json_path import JsonPath, NotThere
from agent.sources.services_configmap.reading import read
from agent.spec import Service

PEERS: dict[str, list[dict[str, Any]]] = yaml.safe_load(
    (Path(__file__).parents[2] / "data" / "peers" / "wicd.yaml").read_bytes()
)
NODE: dict[str, Any] = {
    "metadata": {
        "name": "node",
        "labels": {"label": "labelvalue"},
        "annotations": {
            "desiredkey": "desiredvalue",
            "k8s.ovn.org/hybrid-overlay-node-subnet": "10.132.0.0/24",
        },
    }
}


@pytest.mark.parametrize("row", PEERS["config_maps"], ids=lambda row: row["name"])
def test_config_maps(row: dict[str, Any]) -> None:
    made = read("services", row["data"]).configuration
    assert ("refused" if made is None else "accepted") == row.get("here", row["answer"])


@pytest.mark.parametrize("row", PEERS["services"], ids=lambda row: row["name"])
def test_services(row: dict[str, Any]) -> None:
    services = [{"path": r"C:\a.exe", **each} for each in row["services"]]
    made = read("services", {"services": json.dumps(services), "files": "[]"}).configuration
    names = None if made is None else [each.name for each in made.bootstrap_services()]
    assert names == row.get("here", row["answer"])


@pytest.mark.parametrize("row", PEERS["node_variables"], ids=lambda row: row["path"])
def test_node_variables(row: dict[str, Any]) -> None:
    path = JsonPath(row["path"])
    if row["answer"] is None:
        with pytest.raises(NotThere):
            path.text(NODE)
    else:
        assert path.text(NODE) == row["answer"]


@pytest.mark.parametrize("row", PEERS["commands"], ids=lambda row: row["name"])
def test_commands(row: dict[str, Any]) -> None:
    service = {
        "name": "a",
        "path": row["path"],
        "nodeVariablesInCommand": [
            {"name": name, "nodeObjectJsonPath": path} for name, path in row["node"].items()
        ],
        "powershellPreScripts": [{"path": "script.ps1", "variableName": name} for name in row["printed"]],
    }
    configuration = read("services", {"services": json.dumps([service]), "files": "[]"}).configuration
    assert configuration is not None
    (read_service,) = configuration.services
    outputs = {script.place: row["printed"][script.variable] for script in read_service.pre_scripts}
    compiled = compile_services(configuration, configuration.services, NODE, outputs)
    assert compiled.desired is not None
    (made,) = compiled.desired.specification.wants
    assert isinstance(made, Service)
    assert list(made.arguments) == row["answer"]
