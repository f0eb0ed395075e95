"""How the commands are found in a page, and that none is in the pages that nobody runs without saying why."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from documentation import blocks
from documentation.blocks import COMMANDS_OF_A_SYSTEM, ROOT, Command, Place, Unclear, Written

PAGE = r"""
Text with `$ no command`.

```console
$ first --option
shown
...
$ second \
    goes on
$ cat > node.yaml <<'END'
a: b
END
```

<!-- run on: windows -->
```console
C:\> third.exe C:\here\
C:\shown
```

<!-- file: C:\node.yaml -->
```yaml
kind: NodeConfiguration
```

<!-- not run: it would take a day -->
```sh
fourth
```
"""


def test_the_commands_of_a_page() -> None:
    page = blocks.blocks("page.md", PAGE)
    file = Written(r"C:\node.yaml", "kind: NodeConfiguration\n")
    assert blocks.steps(page, Place.HERE) == [
        Command("page.md:5", "$", "first --option", ("shown", "...")),
        Command("page.md:8", "$", "second \\\n    goes on", ()),
        Command("page.md:10", "$", "cat > node.yaml <<'END'\na: b\nEND", ()),
        file,
    ]
    assert blocks.steps(page, Place.WINDOWS) == [
        Command("page.md:17", "C:\\>", "third.exe C:\\here\\", ("C:\\shown",)),
        file,
    ]
    assert blocks.steps(page, Place.CLUSTER) == [file]
    assert [each.why_not for each in page if each.place is Place.NOWHERE] == ["it would take a day"]


UNCLEAR = {
    "no end of a block": ("```console\n$ true\n", "page.md:1: the block has no end"),
    "no prompt": ("```console\ntrue\n```\n", "page.md:1: it begins with no prompt, $ or C:\\>"),
    "no end of a command": ("```console\n$ true \\\n```\n", "page.md:2: the command has no end"),
    "a mark above nothing": (
        "<!-- not run: why -->\n\n```sh\ntrue\n```\n",
        "page.md:2: no block stands below <!-- not run: why -->",
    ),
}


@pytest.mark.parametrize(("text", "told"), UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_unclear_is_an_error(text: str, told: str) -> None:
    with pytest.raises(Unclear) as caught:
        for block in blocks.blocks("page.md", text):
            list(blocks.commands(block))
    assert str(caught.value) == told


@pytest.mark.parametrize("page", blocks.pages())
def test_no_command_is_in_a_block_that_nobody_looks_at(page: str) -> None:
    unseen = [
        block.where
        for block in blocks.of_page(page)
        if block.language in COMMANDS_OF_A_SYSTEM - {"console"} and block.place is not Place.NOWHERE
    ]
    assert unseen == [], "make it ```console, or say above it <!-- not run: REASON -->"


@pytest.mark.parametrize("page", blocks.pages())
def test_no_line_that_looks_like_a_command_is_lost(page: str) -> None:
    """Counted by another way than the one that runs them."""
    text = (ROOT / page).read_text("utf-8")
    found = [
        each
        for block in blocks.of_page(page)
        if block.language == "console"
        for each in blocks.commands(block)
    ]
    assert len(found) == len(re.findall(r"^ *(?:\$|C:\\>) \S", text, re.MULTILINE))
    indented = re.findall(r"\n\n {4}(?![-*\d ]).*", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S))
    assert indented == [], "a block without a fence"


COUNTS: dict[str, dict[str, int]] = {
    "README.md": {"here": 7, "windows": 5, "cluster": 6},
    "docs/building.md": {"here": 3},
    "docs/guides/air-gap.md": {"here": 10},
    "docs/guides/cluster-api.md": {"cluster": 4},
    "docs/guides/config-map.md": {"here": 16, "cluster": 7},
    "docs/guides/images.md": {"here": 8},
    "docs/guides/kubeadm.md": {"here": 4, "cluster": 16},
    "docs/guides/node-configuration.md": {"here": 2},
    "docs/how-it-works.md": {"here": 4},
    "docs/migration.md": {"windows": 3, "cluster": 3},
    "docs/security.md": {"here": 2},
    "docs/troubleshooting.md": {"here": 5},
    "packaging/ansible/README.md": {"control host": 6},
    "packaging/manifests/README.md": {"cluster": 24},
    "packaging/profiles/README.md": {"here": 1},
    "packaging/release/README.md": {"windows": 4},
    "docs/guides/openshift.md": {"here": 2, "windows": 5, "cluster": 9},
}
"""Of each page that has any, how many commands are run where."""


@pytest.mark.parametrize("page", blocks.pages())
def test_so_many_commands_are_run(page: str) -> None:
    placed = Counter(
        block.place.value
        for block in blocks.of_page(page)
        if block.language == "console"
        for _ in blocks.commands(block)
    )
    assert dict(placed) == COUNTS.get(page, {})
    assert COUNTS.keys() <= set(blocks.pages())


@pytest.mark.parametrize("page", blocks.pages_for(Place.WINDOWS))
def test_the_next_command_waits_for_an_installer(page: str) -> None:
    """A prompt waits for no program with windows, and two of them at a time end with 1618."""
    steps = blocks.steps(blocks.of_page(page), Place.WINDOWS)
    calls = [each.text for each in steps if isinstance(each, Command) and "msiexec" in each.text]
    assert [call for call in calls if not call.startswith("start /wait msiexec ")] == []


NOT_RUN = {
    "README.md": ["the first is run below, the second by CI, as a test sees"],
    "docs/building.md": [
        "CI runs these, as a test sees: they build and test the whole, that test included",
        "it measures for minutes and judges nothing; a test sees that all it calls is there",
        "public CI's workflow has these lines, as a test sees, and runs them on Windows Server 2022 and 2025",
    ],
    "packaging/image/README.md": [
        "it takes Windows' medium and a hypervisor; tests have Packer judge them and take some steps",
    ],
}
"""All that the pages show and nobody runs, with the reason."""


def test_what_is_not_run_is_listed() -> None:
    told = {page: [each.why_not for each in blocks.of_page(page) if each.why_not] for page in blocks.pages()}
    assert {page: reasons for page, reasons in told.items() if reasons} == NOT_RUN
