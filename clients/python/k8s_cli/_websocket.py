"""The parts of WebSockets (RFC 6455) that perform no input or output, as far as sessions in tasks need them."""

import base64
import hashlib
import os
from typing import Dict, Tuple

PROTOCOL = "v1.session.k8s-cli"
STDOUT, STDERR, STATUS = 1, 2, 3  # channels of a session
CLOSE, PING, PONG = 8, 9, 10  # opcodes
FINAL, OPCODE = 128, 15  # bits of the first byte of a frame
LIMIT = 1 << 20  # largest payload of a frame in bytes; the server sends at most 32 KiB
SILENCE = 60.0  # seconds without a frame after which a session counts as broken; the server sends pings
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def handshake() -> Tuple[Dict[str, str], str]:
    """Returns the headers of a request for a session, and the value of Sec-WebSocket-Accept in the response."""
    key = base64.b64encode(os.urandom(16))
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    headers.update({"Sec-WebSocket-Key": key.decode(), "Sec-WebSocket-Protocol": PROTOCOL})
    return headers, base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()


def frame(opcode: int, payload: bytes) -> bytes:
    """Returns a frame of the client, whose payload has at most 125 bytes."""
    mask = os.urandom(4)
    masked = bytes(b ^ mask[i % 4] for i, b in enumerate(payload))
    return bytes([FINAL | opcode, 128 | len(payload)]) + mask + masked
