"""SSH into a node, as OpenSSH on Windows serves it: cmd.exe for commands, SFTP for files.

Whoever knows the key is let in, under any name, and is the administrator whom the node's programs run as.
"""

from __future__ import annotations

import asyncio
import ntpath
import os
import posixpath
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh
from asyncssh.packet import UInt32

from lab.namespace import ADDRESS
from lab.node import Node

HOME = r"C:\users\root"
_RESTARTS = ('"shutdown.exe" "/r"', "shutdown /r /f /t 0 ")
"""Ansible's, and Packer's, which asks by another of 60 seconds whether that is under way."""


@dataclass
class Door:
    """`commands` as they came."""

    port: int
    key: Path
    known_hosts: Path
    commands: list[str] = field(default_factory=list)


@contextmanager
def serving(node: Node, folder: Path) -> Iterator[Door]:
    """On a port of the lab's address. The key, and what the server is known by, lie in the folder."""
    ours, its = asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519")
    key, authorized, known = folder / "key", folder / "authorized_keys", folder / "known_hosts"
    ours.write_private_key(key)
    key.chmod(0o600)
    ours.write_public_key(authorized)
    door = Door(0, key, known)
    acceptors: list[asyncssh.SSHAcceptor] = []
    restarting: list[asyncio.Future[None]] = []

    async def run(process: asyncssh.SSHServerProcess[bytes]) -> None:
        command = (process.command or "").removesuffix("\n")  # with which Packer ends each
        door.commands.append(command)
        if command.startswith(_RESTARTS):
            process.exit(0)
            restarting.append(asyncio.ensure_future(restart(process)))
            return
        # As Windows' sshd does; cmd.exe takes the first quote and the last one away.
        line = f'cmd.exe /c "{command}"'
        ended = await asyncio.to_thread(node.run_line, line, folder=HOME)
        process.stdout.write(ended.stdout)
        process.stderr.write(ended.stderr)
        _end(process, ended.code)

    async def restart(process: asyncssh.SSHServerProcess[bytes]) -> None:
        """Wine's own shutdown.exe ends nothing."""
        connection = process.get_extra_info("connection")
        await process.wait_closed()  # whoever asked for it has been answered
        acceptors.pop().close()
        connection.close()
        await asyncio.to_thread(node.reboot)
        await listen()

    async def listen() -> None:
        acceptor = await asyncssh.listen(
            ADDRESS,
            door.port,
            server_host_keys=[its],
            authorized_client_keys=str(authorized),
            process_factory=run,
            sftp_factory=lambda channel: _Drive(channel, node),
            encoding=None,
            reuse_address=True,
        )
        acceptors.append(acceptor)
        door.port = acceptor.get_port()

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="ssh", daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(listen(), loop).result()
    public = its.export_public_key().decode().strip()
    known.write_text(f"[{ADDRESS}]:{door.port} {public}\n")
    try:
        yield door
    finally:
        asyncio.run_coroutine_threadsafe(_close(acceptors[0]), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def _end(process: asyncssh.SSHServerProcess[bytes], code: int) -> None:
    """As Windows' sshd does, with all of the code; asyncssh would pass on eight bits of it."""
    process.channel._send_request(b"exit-status", UInt32(code))
    process.close()


async def _close(acceptor: asyncssh.SSHAcceptor) -> None:
    acceptor.close()
    await acceptor.wait_closed()
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class _Drive(asyncssh.SFTPServer):
    """/C:/folder/file is the node's, and so is C:/folder/file; names found in any letters."""

    def __init__(self, channel: asyncssh.SSHServerChannel[bytes], node: Node) -> None:
        super().__init__(channel)
        self._node = node

    def realpath(self, path: bytes) -> bytes:
        if ntpath.splitdrive(path)[0]:
            path = b"/" + path
        home = "/" + HOME.replace("\\", "/")
        return posixpath.normpath(posixpath.join(os.fsencode(home), path))

    def map_path(self, path: bytes) -> bytes:
        windows = os.fsdecode(self.realpath(path)).lstrip("/").replace("/", "\\")
        return os.fsencode(self._node.path(ntpath.normpath(windows)))
