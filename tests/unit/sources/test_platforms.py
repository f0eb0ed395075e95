from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.platforms import BadAnswer, Identity, Machine, UnknownPlatform, identity

_MACHINE = Machine("WIN-ABC123")
_SERVICE = "http://169.254.169.254"
_GCP = f"{_SERVICE}/computeMetadata/v1/instance/hostname"

Headers = tuple[tuple[str, str], ...]


class Service:
    """Answers from a table, and only to whoever asks as the real one wants to be asked."""

    def __init__(self, answers: dict[str, bytes]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def __call__(self, url: str, headers: Headers, method: str) -> bytes:
        self.asked.append(url)
        said = dict(headers)
        if url == f"{_SERVICE}/latest/api/token":
            assert method == "PUT"
            assert said == {"X-aws-ec2-metadata-token-ttl-seconds": "300"}
            return self.answers.get(url, b"a-token==\n")
        assert method == "GET"
        if url == _GCP:
            assert said == {"Metadata-Flavor": "Google"}
        else:
            assert said == {"X-aws-ec2-metadata-token": "a-token=="}
        return self.answers[url]


def _aws(name: bytes, zone: bytes = b"eu-central-1a", instance: bytes = b"i-0123456789abcdef0") -> Service:
    data = f"{_SERVICE}/latest/meta-data"
    return Service(
        {
            f"{data}/local-hostname": name,
            f"{data}/placement/availability-zone": zone,
            f"{data}/instance-id": instance,
        }
    )


@pytest.mark.parametrize("platform", ["aws", "AWS", " Aws "])
def test_aws(platform: str) -> None:
    found = identity(platform, _MACHINE, _aws(b"ip-10-0-1-2.eu-central-1.compute.internal"))
    assert found == Identity(
        "ip-10-0-1-2.eu-central-1.compute.internal", "aws:///eu-central-1a/i-0123456789abcdef0"
    )


def test_aws_with_names_in_several_domains() -> None:
    assert (
        identity("aws", _MACHINE, _aws(b"ip-10-0-1-2.a.test ip-10-0-1-2.b.test")).name == "ip-10-0-1-2.a.test"
    )


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (b"win1.c.project.internal", "win1.c.project.internal"),
        (b"Win1.c.Project.internal\n", "win1.c.project.internal"),
        (b"a" * 40 + b"." + b"b" * 22, "a" * 40 + "." + "b" * 22),
        (b"a" * 40 + b"." + b"b" * 23, "a" * 40),
        (b"a" * 63 + b".internal", "a" * 63),
        (b"a" * 64 + b".internal", "a" * 63),
        (b"a" * 70, "a" * 63),
    ],
)
def test_gcp(answer: bytes, name: str) -> None:
    assert identity("GCP", _MACHINE, Service({_GCP: answer})) == Identity(name)


@pytest.mark.parametrize(
    ("domain", "name"),
    [("", ""), ("example.test", "win-abc123.example.test"), ("AD.Test", "win-abc123.ad.test")],
)
def test_vsphere(domain: str, name: str) -> None:
    service = Service({})
    assert identity("VSphere", Machine("WIN-ABC123", domain), service) == Identity(name)
    assert not service.asked


@pytest.mark.parametrize("platform", ["azure", "Azure", "none", "None", "", "BareMetal", "OpenStack"])
def test_where_the_machines_own_name_is_right_nobody_is_asked(platform: str) -> None:
    service = Service({})
    assert identity(platform, Machine("WIN-ABC123", "example.test"), service) == Identity()
    assert not service.asked


@pytest.mark.parametrize(
    ("platform", "words"),
    [
        ("asw", '"asw" is no platform that is known; maybe aws is meant'),
        ("mainframe", "use one of alibabacloud, "),
        ("x" * 1000, "..."),
    ],
)
def test_unknown_platforms(platform: str, words: str) -> None:
    with pytest.raises(UnknownPlatform) as refusal:
        identity(platform, _MACHINE, Service({}))
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    "service",
    [
        pytest.param(_aws(b""), id="empty"),
        pytest.param(_aws(b"<html>\nnot found"), id="a page"),
        pytest.param(_aws(b"\xff"), id="no text"),
        pytest.param(_aws(b"a_b"), id="no name"),
        pytest.param(_aws(b"-a"), id="no name either"),
        pytest.param(_aws(b"a" * 300), id="a long name"),
        pytest.param(_aws(b"a", zone=b"x/y"), id="no zone"),
        pytest.param(_aws(b"a", instance=b"i 1"), id="no instance"),
        pytest.param(Service({f"{_SERVICE}/latest/api/token": b"a\r\nX: y"}), id="no token"),
    ],
)
def test_bad_answers(service: Service) -> None:
    with pytest.raises(BadAnswer):
        identity("aws", _MACHINE, service)


@given(st.text(), st.binary(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_any_answer(platform: str, answer: bytes, host_name: str, domain: str) -> None:
    for chosen in (platform, "aws", "gcp", "vsphere"):
        try:
            found = identity(chosen, Machine(host_name, domain), lambda *_: answer)
        except (BadAnswer, UnknownPlatform) as refusal:
            assert str(refusal).isprintable()
        else:
            assert found.name.isascii()
            assert found.name == found.name.lower()
