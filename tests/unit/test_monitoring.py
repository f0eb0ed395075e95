"""packaging/manifests/monitoring, as far as it can be told without Prometheus; tests/judges asks that."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "packaging" / "manifests" / "monitoring"
ALERTS = yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"][0]["rules"]
TESTED = yaml.safe_load((ROOT / "tests" / "data" / "monitoring" / "alerts.test.yaml").read_text())["tests"]
DASHBOARD = json.loads((MONITORING / "wmcb-dashboard.json").read_text())
TOLD = runpy.run_path(str(ROOT / "docs" / "reference.py"))["pages"]()["events-and-metrics.md"]


def expressions() -> dict[str, str]:
    """Of the alerts and the dashboard's panels, by the name of each."""
    panels = {panel["title"]: panel["targets"][0]["expr"] for panel in DASHBOARD["panels"]}
    return {alert["alert"]: alert["expr"] for alert in ALERTS} | panels


@pytest.mark.parametrize("name", expressions())
def test_what_is_asked_for_is_told(name: str) -> None:
    asked = re.findall(r"\bwmcb_\w+", expressions()[name]) or re.findall(r"\bup\b", expressions()[name])
    assert asked
    assert [each for each in asked if each != "up" and f"| `{each}` |" not in TOLD] == []


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_each_alert_is_seen_to_fire(alert: dict[str, Any]) -> None:
    expected = [each for test in TESTED for each in test["alert_rule_test"] if each["exp_alerts"]]
    assert [each for each in expected if each["alertname"] == alert["alert"]]
    assert set(alert["annotations"]) == {"summary", "description"}


def test_panels_lie_beside_one_another() -> None:
    places = [
        (column, row)
        for place in (panel["gridPos"] for panel in DASHBOARD["panels"])
        for column in range(place["x"], place["x"] + place["w"])
        for row in range(place["y"], place["y"] + place["h"])
    ]
    assert len(places) == len(set(places))
    assert max(column for column, _ in places) < 24
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])
