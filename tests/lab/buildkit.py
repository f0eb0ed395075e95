"""BuildKit with buildx, and a registry for what they build: from the Go module proxy, each at one release.

buildkit-module/ requires them, with the hash of every module that goes in; `go mod tidy` has written it.
BuildKit wants a runc and gets one that fails: nothing is run for an image of ours.
"""

from __future__ import annotations

import http.client
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from lab import cache, toolchains
from lab.cluster.program import Program
from lab.repository import LOCKS
from lab.waiting import until

MODULE = Path(__file__).with_name("buildkit-module")
REGISTRY = "localhost:5000"

_PACKAGES = (
    "github.com/docker/buildx/cmd/buildx",
    "github.com/google/go-containerregistry/cmd/registry",
    "github.com/moby/buildkit/cmd/buildkitd",
)
_FLAGS = ("-ldflags=-s -w",)
_RUNC = "buildkit-runc"
_BUILDER = "tcp://127.0.0.1:5001"

_BASE = """\
FROM scratch
COPY Files /Files
COPY Hives /Hives
CMD ["c:\\\\windows\\\\system32\\\\cmd.exe"]
"""
_MIRROR = """\
[registry."{of}"]
mirrors = ["{registry}"]
[registry."{registry}"]
http = true
"""


def programs() -> Path:
    """The folder of buildx, buildkitd and registry."""

    def build(into: Path) -> None:
        toolchains.build_commands(MODULE, _PACKAGES, into, options=_FLAGS)
        (into / _RUNC).symlink_to("/bin/false")

    return cache.built("buildkit", cache.digest(LOCKS / "lab.txt", MODULE, *_PACKAGES, *_FLAGS, _RUNC), build)


class ImageBuilding:
    """BuildKit, and a registry that has nothing but a base image, one without registry hives."""

    called_here: Mapping[str, str] = {
        "docker buildx create": f"buildx create --driver remote {_BUILDER}",
        "docker buildx": "buildx",
        "registry.example.com": REGISTRY,
    }
    """What a page says of a reader's: Docker makes that one's builder, in a container."""

    def __init__(self, folder: Path, base: str) -> None:
        self._folder = folder
        there, _, self._base = base.partition("/")
        own = programs()
        settings = folder / "buildkitd.toml"
        settings.write_text(_MIRROR.format(of=there, registry=REGISTRY))
        self.environment = {"HOME": str(folder), "PATH": f"{own}{os.pathsep}{os.environ['PATH']}"}
        self._registry = Program(
            "the registry",
            [str(own / "registry"), f"-port={REGISTRY.partition(':')[2]}"],
            folder / "registry.log",
        )
        self._buildkit = Program(
            "BuildKit",
            [
                str(own / "buildkitd"),
                f"--config={settings}",
                f"--root={folder / 'buildkit'}",
                f"--addr={_BUILDER}",
                "--containerd-worker=false",
                "--oci-worker-snapshotter=native",
                "--oci-worker-net=host",
            ],
            folder / "buildkitd.log",
            self.environment,
        )

    def start(self) -> None:
        self._registry.start()
        self._buildkit.start()
        until(self._answers, "the registry answers", explain=self._registry.last_words)
        self._make_base()

    def stop(self) -> None:
        self._buildkit.stop()
        self._registry.stop()

    def read(self, image: str, place: str) -> bytes:
        """What the registry has of an image: `manifests/TAG`, `blobs/DIGEST`."""
        status, body = self._get(f"/v2/{image}/{place}")
        assert status == http.HTTPStatus.OK, body
        return body

    def _answers(self) -> bool:
        with suppress(OSError):
            return self._get("/v2/")[0] == http.HTTPStatus.OK
        return False

    def _get(self, path: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(REGISTRY, timeout=10)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _make_base(self) -> None:
        """Laid out as a layer for Windows is."""
        context = self._folder / "base"
        for name in ("Files/Windows/System32/config", "Hives"):
            (context / name).mkdir(parents=True)
        (context / "Dockerfile").write_text(_BASE)
        tag = f"--tag={REGISTRY}/{self._base}"
        self._buildx("create", "--driver=remote", "--use", _BUILDER)
        self._buildx("build", "--platform=windows/amd64", "--provenance=false", tag, "--push", str(context))

    def _buildx(self, *words: str) -> None:
        done = subprocess.run(
            ["buildx", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{done.stderr}\n{self._buildkit.last_words()}"
