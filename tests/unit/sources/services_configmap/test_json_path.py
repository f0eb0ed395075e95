"""Against what client-go's own documentation and tests say of these paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.documents import Value
from agent.sources.services_configmap.json_path import JsonPath, NoPath, NotThere

DATA = Path(__file__).parents[3] / "data" / "services_configmap"
NODE = json.loads((DATA / "node.json").read_text())
NODE["status"]["daemonEndpoints"]["ports"] = [1, 2.5, None, True, "four"]
NAME = "ip-10-0-61-7.ec2.internal"
SUBNET = "10.132.2.0/24"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("{.metadata.name}", NAME),
        ("{$.metadata.name}", NAME),
        ("{@.metadata.name}", NAME),
        ("{ .metadata.name }", NAME),
        ("{.metadata['name']}", NAME),
        ("{['metadata.name']}", NAME),
        ("{['metadata']['name']}", NAME),
        (r"{.metadata.annotations.k8s\.ovn\.org/hybrid-overlay-node-subnet}", SUBNET),
        (r"{.metadata.annotations['k8s\.ovn\.org/hybrid-overlay-node-subnet']}", SUBNET),
        (r"{.metadata.labels.kubernetes\.io/os}", "windows"),
        ("{.status.addresses[0].address}", "10.0.61.7"),
        ("{.status.addresses[].address}", "10.0.61.7"),
        ("{.status.addresses[-1].type}", "Hostname"),
        ("{.status.addresses[-2].type}", "InternalIP"),
        ("{.status.addresses[0:1].type}", "InternalIP"),
        ("{.status.addresses[-1:].type}", "Hostname"),
        ("{.status.addresses[::2].type}", "InternalIP"),
        ("{.spec.taints[*].key}", "os"),
        ("{.spec.taints.*.key}", "os"),
        ('{.status.addresses[?(@.type=="InternalIP")].address}', "10.0.61.7"),
        ("{.status.addresses[?(@.type=='Hostname')].address}", NAME),
        ('{.status.addresses[?(@.type!="Hostname")].address}', "10.0.61.7"),
        ('{.status.addresses[?(@.type>"I")].address}', "10.0.61.7"),
        ("{.spec.taints[?(@.key)].value}", "Windows"),
        ('{.status.conditions[?(@.type=="Ready")].status}', "True"),
        ("{..podCIDR}", SUBNET),
        ("{...podCIDR}", SUBNET),
        ("{.metadata.name..}", NAME),
        ("{.metadata.* 'text'}", "text"),
        ("{..taints[0].effect}", "NoSchedule"),
        ("{.metadata['name', 'nothing'][0:0]}{", None),
        ("{.spec['podCIDR']}", SUBNET),
        (r"C:\k\kubeconfig", r"C:\k\kubeconfig"),
        ("0", "0"),
        ("metadata.name", "metadata.name"),
        ('{"a \\"quoted\\" text\\n"}', 'a "quoted" text\n'),
        ("{'single'}", "single"),
    ],
)
def test_a_path_leads_to_one_text(path: str, text: str | None) -> None:
    if text is None:
        with pytest.raises(NoPath):
            JsonPath(path)
    else:
        assert JsonPath(path).text(NODE) == text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "it is empty"),
        ("{}", "what is there is no text"),
        ("{.metadata.name", "its brace is not closed"),
        ("{.a}{.b}", "it has several parts, where one text is to come of it; keep a single {...}"),
        (
            "name: {.metadata.name}",
            "it has several parts, where one text is to come of it; keep a single {...}",
        ),
        ("{range .items[*]}", '"range" has no meaning there; a field begins with a dot'),
        ("{metadata.name}", '"metadata" has no meaning there; a field begins with a dot'),
        ("{....a}", ".. stands there twice in a row"),
        ("{.a[}", "a bracket is not closed"),
        ("{.a[x]}", "what stands in brackets is no index, no range and no key in single quotes"),
        ('{.a["x"]}', "what stands in brackets is no index, no range and no key in single quotes"),
        ("{.a[-]}", "what stands in brackets is no index"),
        ("{.a[99999999999]}", "what stands in brackets is no index"),
        ("{.a[0:1:0]}", "a range has to step forward"),
        ("{.a[0:1:-1]}", "a range has to step forward"),
        ("{.a[?(@.b]}", "a filter is not closed"),
        ("{.a[?(@.b) ]}", "a filter is closed by )]"),
        ("{.a[?(@.b<>1)]}", '"<>" compares nothing; use one of == != < <= > >='),
        ('{"a}', "a quote is not closed"),
        ('{"\\q"}', "a backslash stands in quotes before a letter that it gives no meaning"),
        ("{#}", '"#" has no meaning there'),
        ("{1.2.3}", "a number in it is none"),
        ("{-}", "a number in it is none"),
        ("{['a}b']}", "a brace stands inside of brackets"),
        ("{." + "a" * 1000 + "}", "it is longer than 1,000 characters"),
    ],
)
def test_what_is_no_path_is_said_at_once(path: str, why: str) -> None:
    with pytest.raises((NoPath, NotThere)) as raised:
        JsonPath(path).text(NODE)
    assert str(raised.value) == why
    assert isinstance(raised.value, NotThere) == (path == "{}")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{.metadata.nothing}", 'there is no "nothing"'),
        ("{.metadata.name.more}", 'there is no "more"'),
        ("{.metadata}", "what is there is no text"),
        ("{.status.daemonEndpoints.kubeletEndpoint.Port}", "what is there is no text"),
        ("{.spec.unschedulable}", "what is there is no text"),
        ("{.status.addresses[2].type}", "an index is beyond the end of its list"),
        ("{.status.addresses[-3].type}", "an index is beyond the end of its list"),
        ("{.status.addresses[1:0].type}", "an index is beyond the end of its list"),
        ("{.status.addresses[0:0].type}", "no values where there has to be one"),
        ("{.status.addresses[*].type}", "2 values where there has to be one"),
        ("{.status.addresses[0,1].type}", "2 values where there has to be one"),
        ("{.metadata[0]}", "what an index is for is no list"),
        ("{.metadata[?(@.name)]}", "what a filter is for is no list"),
        ('{.status.addresses[?(@.type=="None")].address}', "no values where there has to be one"),
        ('{.status.addresses[?(@.nothing=="a")].address}', 'there is no "nothing"'),
        ("{.status.addresses[?(@.nothing)].address}", "no values where there has to be one"),
        ("{.status.addresses[?(@.type==1)].address}", "a filter compares what cannot be compared"),
        ("{.status.conditions[?(@.*==1)]}", "a filter compares more than one value"),
        ("{.status.daemonEndpoints.ports[?(@<true)]}", "a filter compares what cannot be compared"),
        ("{.status.daemonEndpoints.ports[2].a}", 'there is no "a"'),
    ],
)
def test_what_the_node_does_not_have_is_told(path: str, why: str) -> None:
    with pytest.raises(NotThere) as raised:
        JsonPath(path).text(NODE)
    assert str(raised.value) == why


@pytest.mark.parametrize("path", ["{" + "[0,0]" * 40 + "}", "{[0,0]" + "..[0,0]" * 40 + "}"])
def test_a_path_that_leads_everywhere_ends_soon(path: str) -> None:
    node: Value = [1]
    for _ in range(45):
        node = [node]
    with pytest.raises(NotThere, match="it leads to too many values"):
        JsonPath(path).text(node)


@pytest.mark.parametrize(("path", "count"), [("[?(@<2)]", 1), ("[?(@<=2.5)]", 2), ("[?(@==1)]", 1)])
def test_a_filter_compares_numbers(path: str, count: int) -> None:
    with pytest.raises(NotThere, match="is no text" if count == 1 else f"{count} values"):
        JsonPath(f"{{.numbers{path}}}").text({"numbers": [1, 2.5]})


_values: st.SearchStrategy[Value] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)


@given(st.text(r"""{}[]()?@$.,:*'"\ab01-=<! """, max_size=25), _values)
def test_any_text_is_a_path_or_none_and_nothing_else_happens(inside: str, node: Value) -> None:
    for path in (inside, f"{{{inside}}}"):
        try:
            assert isinstance(JsonPath(path).text(node), str)
        except (NoPath, NotThere) as fault:
            assert str(fault).isprintable()
