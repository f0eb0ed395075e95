"""The worked examples in tests/data/kubelet: what a document writes, what is known of the node, the outcome.

Run as a program it writes each expected.json anew, to be read and judged before it is committed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent.sources.kubelet.node import RUNTIME_ENDPOINT, Kubelet, Node
from agent.sources.kubelet.translation import WindowsKubelet, on_windows
from agent.sources.systemd.service import gather, read_service

FOLDER = Path(__file__).parents[4] / "tests" / "data" / "kubelet"
UNIT = "kubelet.service"


def names() -> list[str]:
    return sorted(path.parent.name for path in FOLDER.glob("*/node.json"))


def carried(name: str) -> dict[str, bytes]:
    root = FOLDER / name / "root"
    files = [path for path in sorted(root.rglob("*")) if path.is_file()]
    # A checkout on Windows may have given them other line ends.
    return {
        f"/{path.relative_to(root).as_posix()}": path.read_bytes().replace(b"\r\n", b"\n") for path in files
    }


def translate(name: str, version: str = "", runtime_endpoint: str = RUNTIME_ENDPOINT) -> WindowsKubelet:
    """As the example says, or for another release of the kubelet."""
    files = carried(name)
    given = json.loads((FOLDER / name / "node.json").read_text(encoding="utf-8"))
    known: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in given["node"].items()
    }
    node = Node(**known, runtime_endpoint=runtime_endpoint)
    kubelet = Kubelet.of_version(version or given["kubelet"])
    assert kubelet is not None
    service, report = read_service(UNIT, gather(UNIT, None, {}, files), node.specifiers())
    assert not report.entries
    return on_windows(service, files, node, kubelet)


def shown(made: WindowsKubelet) -> dict[str, Any]:
    return {
        "arguments": list(made.arguments),
        "environment": dict(made.environment),
        "files": {path: json.loads(contents) for path, contents in made.files.items()},
        "references": {reference.by: reference.windows for reference in made.references},
        "report": [str(entry) for entry in made.report.entries],
        "decisions": [
            " ".join(
                filter(
                    None,
                    [
                        f"{decision.outcome.value} {decision.about.value} {decision.name}",
                        "(secret)" if decision.secret else f"[{decision.before}] -> [{decision.after}]",
                        f"because: {decision.reason}",
                    ],
                )
            )
            for decision in made.decisions
        ],
    }


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / name / "expected.json").read_text(encoding="utf-8"))
    return found


if __name__ == "__main__":
    for example in names():
        text = json.dumps(shown(translate(example)), indent=2, ensure_ascii=False)
        (FOLDER / example / "expected.json").write_text(text + "\n", encoding="utf-8")
