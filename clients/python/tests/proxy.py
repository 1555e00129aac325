"""A TCP proxy that breaks connections."""

import socket
import threading
from typing import List, Optional
from urllib.parse import urlsplit


class BreakingProxy:
    """A proxy that ends each connection after the server has sent a number of bytes.

    cuts has the number of bytes for each connection in turn; later connections do not break.
    """

    def __init__(self, url: str, cuts: List[int]) -> None:
        self.breaks = 0  # connections that the proxy has ended
        self._cuts = list(cuts)
        self.retarget(url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def retarget(self, url: str) -> None:
        """Leads later connections to another server."""
        parts = urlsplit(url)
        self._target = (parts.hostname, parts.port)

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            cut = self._cuts.pop(0) if self._cuts else None
            threading.Thread(target=self._carry, args=(client, cut), daemon=True).start()

    def _carry(self, client: socket.socket, cut: Optional[int]) -> None:
        try:
            server = socket.create_connection(self._target, timeout=10)
        except OSError:
            client.close()
            return
        server.settimeout(None)
        threading.Thread(target=_copy, args=(client, server), daemon=True).start()
        try:
            while cut is None or cut > 0:
                data = server.recv(1 << 16 if cut is None else min(cut, 1 << 16))
                if not data:
                    break
                client.sendall(data)
                cut = None if cut is None else cut - len(data)
            if cut == 0:
                self.breaks += 1
        except OSError:
            pass
        finally:
            for end in (server, client):
                _shut(end)


def _shut(end: socket.socket) -> None:
    """Ends a connection, also while another thread reads from it."""
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()


def _copy(source: socket.socket, target: socket.socket) -> None:
    try:
        while True:
            data = source.recv(1 << 16)
            if not data:
                break
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        target.close()
