"""What stands between the nodes and the API server: it counts, and it can be a bad network.

It passes bytes on and looks into none of them, so that certificates are those of the API server and of the
client.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

from lab.cluster import peers

Result = TypeVar("Result")
_CHUNK = 1 << 16


class Way(Enum):
    OPEN = "everything passes"
    SILENT = "nothing passes, and nobody is told"
    CLOSED = "connections are ended and refused"


@dataclass(frozen=True)
class Traffic:
    """What went through, seen from the client."""

    connections: int = 0
    """That were begun; what was sent by older ones counts as well."""
    sent: int = 0
    received: int = 0


@dataclass(eq=False)
class _Connection:
    writer: asyncio.StreamWriter
    is_new: bool = True
    """It came since the counts were last set to nothing."""
    client: str = peers.UNKNOWN
    sent: int = 0
    received: int = 0
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def traffic(self) -> Traffic:
        return Traffic(int(self.is_new), self.sent, self.received)


class Proxy:
    """Listens on one address and connects to another. It is used from any thread; its work is done in its
    own.
    """

    def __init__(self, listen: tuple[str, int], target: tuple[str, int]) -> None:
        self.address = listen
        self._target = target
        self._latency = 0.0
        self._connections: set[_Connection] = set()
        self._ended: defaultdict[str, list[Traffic]] = defaultdict(list)
        self._loop = asyncio.new_event_loop()
        self._passing = asyncio.Event()
        self._server: asyncio.Server | None = None
        threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True).start()

    # What the network is like

    def open(self) -> None:
        """Everything passes, also what was held back."""
        self._call(self._become(Way.OPEN))

    def close(self) -> None:
        """Connections are reset and refused, as when nobody listens."""
        self._call(self._become(Way.CLOSED))

    def silence(self) -> None:
        """Nothing passes and nobody is told, as when a cable is cut."""
        self._call(self._become(Way.SILENT))

    def delay(self, seconds: float) -> None:
        """Everything arrives later by this, in each direction."""
        self._latency = seconds

    @contextmanager
    def refusing(self) -> Iterator[None]:
        self.close()
        try:
            yield
        finally:
            self.open()

    @contextmanager
    def cut_off(self) -> Iterator[None]:
        self.silence()
        try:
            yield
        finally:
            self.open()

    @contextmanager
    def slow(self, seconds: float) -> Iterator[None]:
        self.delay(seconds)
        try:
            yield
        finally:
            self.delay(0)

    @contextmanager
    def leading_to(self, elsewhere: tuple[str, int]) -> Iterator[None]:
        """Who connects meanwhile gets to another server, at the same address."""
        target, self._target = self._target, elsewhere
        self.drop_connections()
        try:
            yield
        finally:
            self._target = target
            self.drop_connections()

    def drop_connections(self) -> None:
        """Resets what is connected; new connections are welcome."""
        self._call(self._drop())

    # What went through

    def traffic(self) -> dict[str, Traffic]:
        """By the name of the program at the other end, since the counts were last set to nothing."""
        return self._call(self._count())

    def forget(self) -> None:
        """Sets the counts to nothing."""
        self._call(self._forget())

    # In the loop's thread from here on

    def _call(self, what: Coroutine[None, None, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(30)

    async def _become(self, way: Way) -> None:
        if way is Way.CLOSED:
            self._passing.clear()
            if self._server is not None:
                self._server.close()
                self._server = None
            await self._drop()
            return
        if self._server is None:
            self._server = await asyncio.start_server(
                self._serve, sock=socket.create_server(self.address, backlog=1024)
            )
        if way is Way.OPEN:
            self._passing.set()
        else:
            self._passing.clear()

    async def _drop(self) -> None:
        for connection in list(self._connections):
            _reset(connection.writer)
            for task in connection.tasks:
                task.cancel()

    async def _count(self) -> dict[str, Traffic]:
        by_client = defaultdict(list, {client: list(entries) for client, entries in self._ended.items()})
        for connection in self._connections:
            by_client[connection.client].append(connection.traffic)
        return {
            client: Traffic(
                sum(entry.connections for entry in entries),
                sum(entry.sent for entry in entries),
                sum(entry.received for entry in entries),
            )
            for client, entries in by_client.items()
            if any(entry != Traffic() for entry in entries)
        }

    async def _forget(self) -> None:
        self._ended.clear()
        for connection in self._connections:
            connection.is_new, connection.sent, connection.received = False, 0, 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # asyncio does so itself where the socket says that it is TCP; one that was accepted does not.
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = _Connection(writer)
        self._connections.add(connection)
        task = asyncio.current_task()
        assert task is not None
        connection.tasks.append(task)
        try:
            connection.client = await self._identify(writer)
            if connection.client == peers.UNKNOWN:
                connection.tasks.append(asyncio.create_task(self._identify_later(connection)))
            await self._passing.wait()
            await self._connect(connection, reader)
        except (OSError, asyncio.CancelledError):
            _reset(writer)
        finally:
            self._connections.discard(connection)
            self._ended[connection.client].append(connection.traffic)

    async def _identify(self, writer: asyncio.StreamWriter) -> str:
        """Looks through all processes, in a thread of its own since that takes some milliseconds."""
        ends = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        return await self._loop.run_in_executor(None, peers.program_at, *ends)

    async def _identify_later(self, connection: _Connection) -> None:
        """A Windows program's socket is the wineserver's alone until the program has used it."""
        for pause in (0.02, 0.1, 0.5, 2):
            await asyncio.sleep(pause)
            connection.client = await self._identify(connection.writer)
            if connection.client != peers.UNKNOWN:
                return

    async def _connect(self, connection: _Connection, reader: asyncio.StreamReader) -> None:
        their_reader, their_writer = await asyncio.open_connection(*self._target)

        def sent(count: int) -> None:
            connection.sent += count

        def received(count: int) -> None:
            connection.received += count

        pumps = [
            asyncio.create_task(self._pump(reader, their_writer, sent)),
            asyncio.create_task(self._pump(their_reader, connection.writer, received)),
        ]
        connection.tasks += pumps
        try:
            await asyncio.gather(*pumps)
            their_writer.close()
            connection.writer.close()
        finally:
            for pump in pumps:
                pump.cancel()
            if not their_writer.is_closing():
                _reset(their_writer)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, count: Callable[[int], None]
    ) -> None:
        """Passes on what one side sends until it ends."""
        under_way: asyncio.Queue[tuple[float, bytes | None]] = asyncio.Queue(maxsize=256)
        reading = asyncio.create_task(self._read_ahead(reader, under_way))
        try:
            while True:
                due, data = await under_way.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                await self._passing.wait()
                if data is None:
                    raise ConnectionResetError
                if not data:
                    writer.write_eof()
                    return
                count(len(data))
                writer.write(data)
                await writer.drain()
        finally:
            reading.cancel()

    async def _read_ahead(
        self, reader: asyncio.StreamReader, under_way: asyncio.Queue[tuple[float, bytes | None]]
    ) -> None:
        """Reads on while earlier bytes wait for their time: a delay is no narrow band."""
        data: bytes | None = b"-"
        while data:
            try:
                data = await reader.read(_CHUNK)
            except OSError:
                data = None
            await under_way.put((self._loop.time() + self._latency, data))


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection as an error and not in good order, which is what a lingering time of 0 means."""
    connected: socket.socket = writer.get_extra_info("socket")
    if connected.fileno() != -1:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
