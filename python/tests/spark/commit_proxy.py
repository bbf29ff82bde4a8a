"""A TCP proxy that keeps back the reply to one COMMIT: the server has done it, nobody knows."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

READY = b"Z\x00\x00\x00\x05I"  # ReadyForQuery, outside a transaction: the server has committed
SECONDS = 240


class Catch:
    """The next commit of a connection that sent a marker."""

    def __init__(self, marker: bytes) -> None:
        self.marker = marker
        self.client_port = 0
        self._is_taken = threading.Lock()
        self._committed = threading.Event()
        self._cut = threading.Event()

    def take(self, client_port: int) -> bool:
        """Whether this connection is the one; only the first is."""
        if not self._is_taken.acquire(blocking=False):
            return False
        self.client_port = client_port
        return True

    def committed(self) -> None:
        self._committed.set()
        self._cut.wait(SECONDS)

    def wait(self) -> int:
        """Returns the port of the client once the server has committed."""
        assert self._committed.wait(SECONDS), "nobody committed"
        return self.client_port

    def cut(self) -> None:
        """Ends the connection without the reply."""
        self._cut.set()


class Proxy:
    """Passes bytes on between clients and a server on the loopback."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._catch = Catch(b"")
        threading.Thread(target=self._accept, daemon=True).start()

    def catch(self, marker: bytes) -> Catch:
        """Lies in wait for the next commit of a connection that sent these bytes before."""
        self._catch = Catch(marker)
        return self._catch

    def close(self) -> None:
        self._catch.cut()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, (_, client_port) = self._listener.accept()
                server = socket.create_connection(self._server)
                caught: list[Catch] = []
                for work, arguments in (
                    (self._forward, (client, server, client_port, caught)),
                    (self._reply, (client, server, caught)),
                ):
                    threading.Thread(target=work, args=arguments, daemon=True).start()

    def _forward(
        self, client: socket.socket, server: socket.socket, client_port: int, caught: list[Catch]
    ) -> None:
        seen = False
        with suppress(OSError):
            while data := client.recv(65536):
                catch = self._catch
                seen = seen or bool(catch.marker and catch.marker in data)
                if seen and b"COMMIT" in data and catch.take(client_port):
                    caught.append(catch)
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    @staticmethod
    def _reply(client: socket.socket, server: socket.socket, caught: list[Catch]) -> None:
        kept = b""
        with suppress(OSError), client, server:
            while data := server.recv(65536):
                if not caught:
                    client.sendall(data)
                    continue
                kept += data
                if kept.endswith(READY):
                    caught[0].committed()
                    client.shutdown(socket.SHUT_RDWR)
                    return


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
