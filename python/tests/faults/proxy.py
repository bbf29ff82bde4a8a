"""A small TCP proxy that can lose the reply to a call."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

READY = b"Z\x00\x00\x00\x05I"  # ReadyForQuery, outside a transaction: the server has committed


class Proxy:
    """Passes bytes on between clients and a server on the loopback."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lose = threading.Event()
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_next_reply(self) -> None:
        """The next reply of the server ends here, and so does its connection."""
        self._lose.set()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                for work in (self._forward, self._reply):
                    threading.Thread(target=work, args=(client, server), daemon=True).start()

    @staticmethod
    def _forward(client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)

    def _reply(self, client: socket.socket, server: socket.socket) -> None:
        swallowed = b""
        with suppress(OSError), client, server:
            while data := server.recv(65536):
                if not self._lose.is_set():
                    client.sendall(data)
                    continue
                swallowed += data
                if swallowed.endswith(READY):
                    self._lose.clear()
                    self.lost += 1
                    client.shutdown(socket.SHUT_RDWR)
                    return


@contextmanager
def proxy_to(port: int) -> Iterator[Proxy]:
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
