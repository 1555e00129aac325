"""A ring all-reduce over TCP.

Every node sends to the next node and receives from the one before. The vector is
cut into as many parts as there are nodes. In the first round of n-1 steps, each part
collects its sum on the way around the ring. In the second round, the sums travel on
until every node has all of them. So each node sends about twice its vector, however
many nodes there are.
"""

import array
import socket
import struct
import threading
import time

PORT = 29500


class Ring:
    def __init__(self, rank: int, addresses: list[str], patience: float = 120):
        self.rank, self.size = rank, len(addresses)
        if self.size == 1:
            return
        listener = socket.create_server(("", PORT))
        listener.settimeout(patience)
        self.next = connect(addresses[(rank + 1) % self.size], time.monotonic() + patience)
        self.previous, _ = listener.accept()
        listener.close()
        for connection in (self.next, self.previous):
            connection.settimeout(patience)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def all_reduce(self, vector: list[float]) -> list[float]:
        """Returns the sums over all nodes, the same on every node."""
        n, total = self.size, array.array("d", vector)
        bounds = [len(total) * i // n for i in range(n + 1)]

        def part(i: int) -> slice:
            return slice(bounds[i % n], bounds[i % n + 1])

        for step in range(n - 1):
            got = self.exchange(total[part(self.rank - step)])
            target = part(self.rank - step - 1)
            total[target] = array.array("d", (a + b for a, b in zip(total[target], got)))
        for step in range(n - 1):
            total[part(self.rank - step)] = self.exchange(total[part(self.rank - step + 1)])
        return total.tolist()

    def exchange(self, numbers: array.array) -> array.array:
        """Sends numbers to the next node while it receives from the one before."""
        data = numbers.tobytes()
        sender = threading.Thread(target=self.next.sendall, args=(struct.pack("!Q", len(data)) + data,))
        sender.start()
        (length,) = struct.unpack("!Q", receive(self.previous, 8))
        got = array.array("d", receive(self.previous, length))
        sender.join()
        return got


def connect(address: str, deadline: float) -> socket.socket:
    """Connects to a node that may not listen yet."""
    while True:
        try:
            return socket.create_connection((address, PORT), timeout=5)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def receive(connection: socket.socket, length: int) -> bytes:
    data = bytearray()
    while len(data) < length:
        piece = connection.recv(length - len(data))
        if not piece:
            raise ConnectionError("the previous node has closed the connection")
        data += piece
    return bytes(data)
