"""Kubernetes, built from the Go module proxy at one release, with the lab's own Go.

The module in kubernetes-module/ requires it, with the hash of every module that goes in, so that the proxy
is trusted with nothing. What is built are the programs as released, and one more kubelet, with the few edits
that Wine needs.

    python -m lab.kubernetes          builds all of it, which takes minutes once
    python -m lab.kubernetes lock     writes kubernetes-module/ anew, for another release
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lab import cache, cni, crds, means, toolchains
from lab.repository import LOCKS, STANDINS

RELEASE = "1.36.3"
MODULE = Path(__file__).with_name("kubernetes-module")

LINUX = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubeadm", "kubectl")
WINDOWS = ("kubeadm", "kubelet", "kube-proxy")

_PACKAGE = "k8s.io/kubernetes/cmd/"
_LOG_RUNNER = "k8s.io/component-base/logs/kube-log-runner"
_MAJOR, _MINOR, _PATCH = RELEASE.split(".")
# Without these the programs say that they are v0.0.0, and kubeadm refuses a cluster as too new for itself.
_VERSION = {"gitVersion": f"v{RELEASE}", "gitMajor": _MAJOR, "gitMinor": _MINOR}
_STAMPS = " ".join(f"-X k8s.io/component-base/version.{name}={value}" for name, value in _VERSION.items())
_FLAGS = ("-trimpath", "-buildvcs=false", f"-ldflags=-s -w {_STAMPS}")


@dataclass(frozen=True)
class Edit:
    """A change to one file of a module, and why Wine needs it."""

    module: str
    file: str
    was: str
    becomes: str
    why: str
    times: int = 1


EDITS = (
    Edit(
        "k8s.io/kubernetes",
        "pkg/kubelet/cm/devicemanager/plugin/v1beta1/server.go",
        'net.Listen("unix", s.SocketPath())',
        'net.Listen("tcp", "127.0.0.1:0")',
        "Wine has no AF_UNIX sockets, and the kubelet does not start without its socket for device plugins",
    ),
    Edit(
        "k8s.io/kubernetes",
        "pkg/volume/util/atomic_writer.go",
        "\t// (2)\n\tdataDirPath := filepath.Join(w.targetDir, dataDirName)\n",
        '\tif runtime.GOOS == "windows" {\n\t\treturn w.writePayloadToDir(cleanPayload, w.targetDir)\n\t}\n'
        "\t// (2)\n\tdataDirPath := filepath.Join(w.targetDir, dataDirName)\n",
        "Wine has no symbolic links but says that it made one: a pod's ConfigMap would be an empty folder",
    ),
    Edit(
        "k8s.io/client-go",
        "util/certificate/certificate_store.go",
        "fi.Mode()&os.ModeSymlink != os.ModeSymlink",
        "!fi.Mode().IsRegular()",
        "the link to the certificate in use has to be a copy under Wine (see the next edit)",
        times=3,
    ),
    Edit(
        "k8s.io/client-go",
        "util/certificate/certificate_store.go",
        "\tif err := os.Symlink(filename, updatedPath); err != nil {\n",
        "\tpair, err := os.ReadFile(filename)\n\tif err != nil {\n\t\treturn err\n\t}\n"
        "\tif err := os.WriteFile(updatedPath, pair, 0600); err != nil {\n",
        "Wine has no symbolic links but says that it made one: the kubelet would have no certificate",
    ),
)


def prepare() -> tuple[Path, ...]:
    """All that a cluster with nodes needs, got or built where it is not there yet; there is no network
    inside.
    """
    means.ensure("etcd", "openssl")
    return linux(), windows(), kubelet(), log_runner(), container_runtime(), cni.plugins(), crds.cluster_api()


def linux() -> Path:
    """The folder of the control plane's programs, kubeadm and kubectl."""
    key = cache.digest(LOCKS / "lab.txt", MODULE, *LINUX, *_FLAGS)
    return cache.built("kubernetes-linux", key, lambda into: _build(MODULE, into, LINUX, "linux"))


def windows() -> Path:
    """The folder of the node's programs as released: kubelet.exe, kubeadm.exe, kube-proxy.exe."""
    key = cache.digest(LOCKS / "lab.txt", MODULE, *WINDOWS, *_FLAGS)
    return cache.built("kubernetes-windows", key, lambda into: _build(MODULE, into, WINDOWS, "windows"))


def kubelet() -> Path:
    """The kubelet that can run under Wine: as released, but for EDITS."""
    key = cache.digest(LOCKS / "lab.txt", MODULE, repr(EDITS), *_FLAGS)
    return cache.built("kubernetes-kubelet", key, _build_edited_kubelet) / "kubelet.exe"


def log_runner() -> Path:
    """kube-log-runner.exe, as released."""

    def build(into: Path) -> None:
        _go(MODULE, "build", *_FLAGS, "-o", f"{into}/", _LOG_RUNNER, system="windows")

    key = cache.digest(LOCKS / "lab.txt", MODULE, _LOG_RUNNER, *_FLAGS)
    return cache.built("kubernetes-log-runner", key, build) / "kube-log-runner.exe"


def container_runtime() -> Path:
    """The stand-in for containerd (standins/cri), which is tested before it is used."""
    source = STANDINS / "cri"

    def build(into: Path) -> None:
        _go(source, "test", "-count=1", "./...")
        _go(source, "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", f"{into}/", ".")

    return cache.built("container-runtime", cache.digest(LOCKS / "lab.txt", source), build) / "cri"


def _build(module: Path, into: Path, commands: Sequence[str], system: str) -> None:
    packages = [_PACKAGE + name for name in commands]
    _go(module, "build", *_FLAGS, "-o", f"{into}/", *packages, system=system)


def _build_edited_kubelet(into: Path) -> None:
    # Edited copies and `replace`, since Go's -overlay does not work for files in its module cache.
    with tempfile.TemporaryDirectory(prefix="wmcb-lab-") as place:
        module = Path(place) / "module"
        shutil.copytree(MODULE, module)
        for name in sorted({edit.module for edit in EDITS}):
            copy = Path(place) / Path(name).name
            _copy_module(name, copy)
            for edit in EDITS:
                if edit.module == name:
                    apply(edit, copy)
            _go(module, "mod", "edit", f"-replace={name}={copy}")
        _build(module, into, ["kubelet"], "windows")


def apply(edit: Edit, folder: Path) -> None:
    """Edits a file in a copy of a module; refuses where the release has other code there than this one."""
    file = folder / edit.file
    text = file.read_text()
    found = text.count(edit.was)
    if found != edit.times:
        raise means.Missing(
            f"{edit.module}/{edit.file} has {edit.was.strip()!r} {found} times, not {edit.times}: "
            "look at the edits in lab/kubernetes.py again"
        )
    file.write_text(text.replace(edit.was, edit.becomes))


def downloaded(name: str) -> Path:
    """Return the folder of a module of the release."""
    return Path(json.loads(_go(MODULE, "mod", "download", "-json", _release_of(name)))["Dir"])


def _copy_module(name: str, copy: Path) -> None:
    shutil.copytree(downloaded(name), copy)
    for path in [copy, *copy.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)  # Go keeps its modules read-only


def _release_of(module: str) -> str:
    """Kubernetes' own module is versioned by the release; those staged in its repository have v0 for v1."""
    major = _MAJOR if module == "k8s.io/kubernetes" else "0"
    return f"{module}@v{major}.{_MINOR}.{_PATCH}"


def lock() -> None:
    """Writes go.mod and go.sum for RELEASE.

    Kubernetes' go.mod is meant for its own repository: it requires the modules staged there as v0.0.0, and
    replaces them by folders, which nobody else has. They are published as well, under the release's number.
    """
    MODULE.mkdir(exist_ok=True)
    imports = "".join(f'\t_ "{_PACKAGE}{name}"\n' for name in sorted({*LINUX, *WINDOWS}))
    (MODULE / "commands.go").write_text(f"//go:build commands\n\npackage lab\n\nimport (\n{imports})\n")
    (MODULE / "go.mod").write_text("module lab\n")
    (MODULE / "go.sum").unlink(missing_ok=True)
    kubernetes = json.loads(_go(MODULE, "mod", "download", "-json", _release_of("k8s.io/kubernetes")))
    theirs = json.loads(_go(MODULE, "mod", "edit", "-json", kubernetes["GoMod"]))
    edits = [f"-go={theirs['Go']}", f"-require={_release_of('k8s.io/kubernetes')}"]
    for required in theirs["Require"]:
        path, version = required["Path"], required["Version"]
        if version == "v0.0.0":
            edits.append(f"-replace={path}={_release_of(path)}")
        edits.append(f"-require={path}@{version}")
    _go(MODULE, "mod", "edit", *edits)
    _go(MODULE, "mod", "tidy")


def _go(module: Path, *arguments: str, system: str = "linux") -> str:
    """Runs Go in a module's folder; its output."""
    done = subprocess.run(
        [str(toolchains.go()), *arguments],
        cwd=module,
        env=toolchains.go_environment({"GOOS": system, "GOARCH": "amd64", "CGO_ENABLED": "0"}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.stderr.write(done.stdout + done.stderr)
        raise means.Missing(f"go {arguments[0]} ended with {done.returncode} in {module.name}, see above")
    return done.stdout


if __name__ == "__main__":
    try:
        if sys.argv[1:] == ["lock"]:
            lock()
        else:
            for made in prepare():
                print(made)  # noqa: T201 - what this command is for
    except means.Missing as missing:
        sys.exit(f"lab: {missing}")
