"""A program in HostProcess containers that tells Windows' Host Networking Service what that forgets."""

from dataclasses import dataclass

from agent.spec.want import NamedWant


@dataclass(frozen=True, slots=True)
class ContainerProgram(NamedWant):
    """Somebody else brings it. When what it told is lost its process is ended; its container starts anew."""

    kind = "container_program"

    name: str
    """Its file's: kube-proxy.exe."""
    makes: tuple[str, ...] = ()
    """Networks that it makes when it starts."""
    needs: tuple[str, ...] = ()
    """Networks that have to be there when it starts."""
