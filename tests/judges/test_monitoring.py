"""packaging/manifests/monitoring, judged by Prometheus' own promtool."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from lab import repository, steps
from lab.fixtures import demand_program
from unit.test_monitoring import DASHBOARD, MONITORING

TESTS = repository.ROOT / "tests" / "data" / "monitoring" / "alerts.test.yaml"

QUESTIONS = {
    "the alerts are rules": ("check", "rules", MONITORING / "alerts.yaml"),
    "each fires when it is to, and only then": ("test", "rules", TESTS),
    "the agent's configuration": ("check", "config", "--agent", MONITORING / "scraping.yaml"),
}


def ask(*question: str | Path) -> None:
    done = steps.run([demand_program("promtool"), *question])
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_promtool_agrees(question: tuple[str | Path, ...]) -> None:
    ask(*question)


def test_the_dashboard_asks_in_promql(tmp_path: Path) -> None:
    asked = [panel["targets"][0]["expr"].replace("$node", ".*") for panel in DASHBOARD["panels"]]
    rules = [{"record": f"panel{number}", "expr": text} for number, text in enumerate(asked)]
    file = tmp_path / "rules.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    ask("check", "rules", file)
