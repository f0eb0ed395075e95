"""What join.cmd of packaging/cloudbase-init asks EC2 for, with answers as Amazon gives them."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path

import yaml

from agent.sources.cloudconfig.template import instance_data, rendered

PACKAGING = Path(__file__).parents[2] / "packaging"
SCRIPT = (PACKAGING / "cloudbase-init" / "local-scripts" / "join.cmd").read_text("utf-8")
TOKEN = "AQAEAFsE-x_4w=="  # noqa: S105 - nobody's
WHOLE_NAME = "ip-10-0-1-2.eu-central-1.compute.internal"
HOST_NAME = WHOLE_NAME.partition(".")[0]

ANSWERS = {
    (
        "PUT",
        "http://169.254.169.254/latest/api/token",
        "X-aws-ec2-metadata-token-ttl-seconds: 60",
    ): TOKEN,
    (
        "GET",
        "http://169.254.169.254/latest/meta-data/local-hostname",
        f"X-aws-ec2-metadata-token: {TOKEN}",
    ): WHOLE_NAME,
}
"""Of the second version of its metadata service, which refuses all else where the first is switched off."""


def answered(command: str) -> str:
    words = shlex.split(command)
    options = dict(itertools.pairwise(words))
    return ANSWERS[options.get("--request", "GET"), words[-1], options["--header"]]


def noted_of_ec2() -> str:
    """What is in the file of metadata then."""
    address = re.findall(r'^set "EC2=(.*)"$', SCRIPT, re.MULTILINE)[0]
    (line,) = (each for each in SCRIPT.splitlines() if each.startswith('if "%META_DATA%"=="ec2" for '))
    line = line.replace("%EC2%", address)
    while asks := re.search(r"for /f (%%\w) in \('(.*?)'\) do ", line):
        line = line[asks.end() :].replace(asks[1], answered(asks[2]))
    noted = re.fullmatch(r'echo (.*)>"%VALUES%"', line)
    assert noted
    return noted[1]


def test_the_template_for_aws_gets_the_machines_whole_name() -> None:
    template = next(iter(yaml.safe_load_all((PACKAGING / "cluster-api" / "aws.yaml").read_text("utf-8"))))
    name = template["spec"]["template"]["spec"]["joinConfiguration"]["nodeRegistration"]["name"]
    metadata = {"local-hostname": HOST_NAME, "hostname": HOST_NAME, **json.loads(noted_of_ec2())}
    assert rendered(f"## template: jinja\n{name}", instance_data(metadata)) == WHOLE_NAME


def test_nothing_is_fetched_unless_somebody_has_set_it() -> None:
    assert re.findall(r'(?m)^(rem )?set "META_DATA=(.*)"', SCRIPT) == [
        ("", ""),
        ("rem ", "http://169.254.169.254/openstack/latest/meta_data.json"),
        ("rem ", "ec2"),
    ], "and what is set by taking away a rem counts"
