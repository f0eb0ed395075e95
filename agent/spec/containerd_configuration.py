"""What containerd's configuration file has to say. All else in it is others'."""

from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class ContainerdConfiguration(Want):
    """Where nothing is given, what the file says stays as it is."""

    kind = "containerd_configuration"

    path: PureWindowsPath
    version: int
    """Of its schema, where there is no file yet: 2 or 3."""
    cni_programs: str = ""
    """The folder that CNI plug-ins lie in."""
    cni_configurations: str = ""
    """The folder that says which of them make a pod's network."""
    sandbox_image: str = ""
    registries: str = ""
    """The folder with a hosts.toml for each registry that has mirrors."""
    address: str = ""
    r"""The pipe that it serves: \\.\pipe\NAME."""
    without_systemd_cgroup: bool = False
    """No runtime is told of systemd: its configuration was copied from Linux."""

    @property
    def key(self) -> Key:
        return Key(self.kind, str(self.path))

    @property
    def file(self) -> PureWindowsPath | None:
        return self.path

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("directory", str(self.path.parent)),)
