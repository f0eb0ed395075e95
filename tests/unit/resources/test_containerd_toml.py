"""containerd's configuration, changed in any way: it is read and edited, or refused."""

from __future__ import annotations

import pathlib
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.resources import containerd_toml as toml

DATA = pathlib.Path(__file__).parents[2] / "data" / "containerd"
WRITTEN = [path.read_text() for path in sorted(DATA.iterdir())]
WANTED = {
    toml.CNI_PROGRAMS: r"C:\cni",
    toml.CNI_CONFIGURATIONS: r"C:\net.d",
    toml.SANDBOX_IMAGE: "registry.example/pause:3.10",
    toml.REGISTRIES: r"C:\certs.d",
    toml.ADDRESS: r"\\.\pipe\other",
    toml.SYSTEMD_CGROUP: None,
}
PARTS = (
    *("[", "]", "[[", "]]", "{", "}", "=", ".", "'", '"', "\n", ",", "\0", "#"),
    *("\na = " + "[" * 2_000, "\na = " + "9" * 5_000),
    *("[grpc]\n", "grpc = 1\n", "grpc.address = 1\n", "plugins = 1\n", "cni = 1\n", "bin_dir = []\n"),
    *("runtimes = 5\n", "runtimes = 'a'\n", "runtimes = [1]\n", "options = []\n", "SystemdCgroup = true\n"),
)
CHANGES = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(PARTS), st.integers(0, 9)), max_size=4)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(WRITTEN), CHANGES)
def test_any_text_is_edited_or_refused(text: str, changes: list[tuple[float, str, int]]) -> None:
    for where, part, left_out in changes:
        place = int(where * len(text))
        text = text[:place] + part + text[place + left_out :]
    with suppress(toml.NotReadable):
        document = toml.parsed(text)
        assert [toml.value(document, name) for name in WANTED]
        with suppress(toml.NotReadable):
            before = list(toml.written(text, list(WANTED)))
            toml.given_back(toml.edited(text, WANTED), list(WANTED), before)
