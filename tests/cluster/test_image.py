"""The image of packaging/manifests/installing: as its page has it built, so the registry has it."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.release import RELEASE
from documentation import blocks, on_windows, output, shell
from documentation.blocks import Command, Place
from lab.buildkit import ImageBuilding
from windows.exe import SHIPPED
from windows.test_installing import POD, VARIABLE

NAME = "wmcb"


@pytest.fixture
def manifest(image_building: ImageBuilding, tmp_path: Path) -> dict[str, Any]:
    """Of what has been built and pushed."""
    home = shell.readers_folder(tmp_path / "repository", built=[SHIPPED])
    environment = {**image_building.environment, "HOME": str(home)}
    for step in blocks.steps(blocks.of_page("packaging/manifests/README.md"), Place.CLUSTER):
        if isinstance(step, Command) and step.text.startswith("docker "):
            text = output.put_in(step.text, image_building.called_here)
            code, printed = on_windows.there(text, environment)
            assert code == 0, output.complaint(step, code, printed)
    read: dict[str, Any] = json.loads(image_building.read(NAME, f"manifests/{RELEASE}"))
    return read


def files(layer: bytes) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=io.BytesIO(layer)) as packed:
        for entry in packed:
            if content := packed.extractfile(entry):
                yield entry.name, hashlib.sha256(content.read()).hexdigest()


def test_it_is_for_each_release_of_windows_and_has_the_exe_where_the_pod_looks_for_it(
    image_building: ImageBuilding, manifest: dict[str, Any]
) -> None:
    assert "manifests" not in manifest, "it is one image, with no attestation beside it"

    config = json.loads(image_building.read(NAME, f"blobs/{manifest['config']['digest']}"))
    assert (config["os"], config["architecture"], config.get("os.version")) == ("windows", "amd64", None)

    (container,) = POD["initContainers"]
    # In a layer for Windows the files are below Files.
    place = container["command"][0].replace(f"%{VARIABLE}%", "Files").replace("\\", "/")
    layers = [image_building.read(NAME, f"blobs/{layer['digest']}") for layer in manifest["layers"]]
    exe = hashlib.sha256(SHIPPED.read_bytes()).hexdigest()
    assert [file for layer in layers for file in files(layer)] == [(place, exe)], "the base here has none"
