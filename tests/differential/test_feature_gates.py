"""The table of feature gates beside Kubernetes' own lists of them."""

from __future__ import annotations

from agent.sources.kubelet.feature_gates import refusal
from agent.sources.kubelet.node import NEWEST
from lab import feature_gates


def test_the_data_module_is_what_the_lists_of_all_releases_give() -> None:
    assert feature_gates.DATA.read_text() == feature_gates.data()


def test_the_gates_of_client_go_are_known() -> None:
    gates = feature_gates.client_gates()
    assert "WatchListClient" in gates
    refused = {gate: refusal(gate, True, NEWEST) for gate in gates}
    assert {gate: why for gate, why in refused.items() if why} == {}
