"""The cluster, by kubectl on the control host. What it is given reaches no output of Ansible's."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

_SECONDS = 60


class Unanswered(Exception):
    """kubectl failed. The text is the last line that it said."""


class Cluster:
    def __init__(self, kubectl: str, kubeconfig: str | None) -> None:
        self._command = [kubectl, *(["--kubeconfig", kubeconfig] if kubeconfig else [])]

    def find(self, kind: str, name: str, namespace: str | None = None) -> dict[str, Any] | None:
        """None where there is none."""
        told = self._ask("get", kind, name, *_in(namespace), "--ignore-not-found", "--output=json")
        found: dict[str, Any] | None = json.loads(told) if told.strip() else None
        return found

    def items(self, kind: str) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = json.loads(self._ask("get", kind, "--output=json"))["items"]
        return items

    def authorities(self) -> str:
        """By which kubectl knows the cluster, in base64; empty where it goes by those of this system."""
        words = ("config", "view", "--raw", "--minify", "--flatten", "--output=json")
        (found,) = json.loads(self._ask(*words))["clusters"]
        return str(found["cluster"].get("certificate-authority-data", ""))

    def raw(self, path: str) -> str:
        return self._ask("get", "--raw", path)

    def create(self, document: Mapping[str, Any]) -> None:
        self._ask("create", "--filename=-", given=document)

    def replace_raw(self, path: str, document: Mapping[str, Any]) -> None:
        """Refused by the cluster where it is not any more what it was when it was read."""
        self._ask("replace", "--raw", path, "--filename=-", given=document)

    def delete(self, kind: str, name: str, namespace: str) -> None:
        """If it is there."""
        self._ask("delete", kind, name, *_in(namespace), "--ignore-not-found")

    def _ask(self, *words: str, given: Mapping[str, Any] | None = None) -> str:
        try:
            done = subprocess.run(
                [*self._command, *words],
                input=json.dumps(given) if given is not None else "",
                capture_output=True,
                text=True,
                check=False,
                timeout=_SECONDS,
            )
        except FileNotFoundError:
            raise Unanswered(f"there is no {self._command[0]} on the control host (wmcb_kubectl)") from None
        except subprocess.TimeoutExpired:
            raise Unanswered(f"the cluster has not answered kubectl {words[0]} for {_SECONDS} s") from None
        if done.returncode:
            # What was given stays out of it.
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise Unanswered(f"kubectl {words[0]} {words[1]}: {said[-1]}")
        return done.stdout


def _in(namespace: str | None) -> Sequence[str]:
    return [f"--namespace={namespace}"] if namespace else []
