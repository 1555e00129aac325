"""The parts of log and event streams that perform no input or output."""

import math
import re
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from ._cursor import Clock, Cursor, Deduper, Time
from .errors import WrongAnswer

RESUME = "X-Log-Resume"  # request header: position of each node in the log
RESUMABLE = "X-Log-Resumable"  # response header: "true" if each line begins with its time
# Request header: the server may send empty lines while the log is quiet. Response header: their distance in seconds.
PING = "X-Log-Ping"
_SILENT_PINGS = 3  # pings in a row whose absence means that the connection is broken
FIRST_SILENCE = 45.0  # seconds until a response begins; a ping, at the latest, begins it
_START = "start"  # value of RESUME at the beginning of the log
_MAX_TOKEN = 12 << 10  # largest value of RESUME in bytes: servers accept about 16 KB of headers
_MAX_EVENT = 1 << 20  # largest event in bytes

_HEAD = re.compile(rb"(?:node-(\d+) \| )?(\S+)(?: |$)")


class LogReader:
    """Tracks the position in the log of each node, and removes repeated lines.

    The server sends each line with its time, which the reader removes unless the caller wants it.
    """

    def __init__(self, timestamps: bool) -> None:
        self.resumable = False
        self.lines = 0
        self._timestamps = timestamps
        self._clock = Clock()
        self._cursors: Dict[int, Cursor] = {}  # by rank
        self._again: Dict[int, Deduper] = {}
        self._partial = b""

    def token(self) -> str:
        """Returns the position from which the server sends lines."""
        if not self._cursors:
            return _START
        return ",".join(f"{rank}@{c.since()}" for rank, c in sorted(self._cursors.items()))

    def can_resume(self) -> bool:
        """Reports whether the server can send the rest of the log."""
        return self.resumable and len(self.token()) <= _MAX_TOKEN

    def begin(self, header: Mapping[str, str]) -> float:
        """Begins a response. A partial line at the end of the response before comes again.

        header is the header of the response by lower-case name. begin returns the number of seconds without a byte
        after which the connection counts as broken; infinity if the server sends no pings.
        """
        self.resumable = header.get(RESUMABLE.lower()) == "true"
        self._partial = b""
        self._again = {rank: c.deduper() for rank, c in self._cursors.items()}
        ping = header.get(PING.lower(), "")
        return _SILENT_PINGS * int(ping) if self.resumable and ping.isdecimal() and int(ping) > 0 else math.inf

    def feed(self, data: bytes) -> List[bytes]:
        """Returns the new lines, each with its newline."""
        *whole, self._partial = (self._partial + data).split(b"\n")
        return [line for raw in whole for line in self._line(raw + b"\n")]

    def end(self) -> List[bytes]:
        """Returns the last line of a log that does not end with a newline."""
        raw, self._partial = self._partial, b""
        return list(self._line(raw)) if raw else []

    def _line(self, raw: bytes) -> Iterator[bytes]:
        if not self.resumable:
            self.lines += 1
            yield raw
            return
        if raw == b"\n":  # a ping
            return
        rank, start, rest, at = self._parse(raw)
        digest = hash(raw)
        again = self._again.get(rank)
        if again and again.has(at, digest):
            return
        self._cursors.setdefault(rank, Cursor()).advance(at, digest)
        self.lines += 1
        yield raw if self._timestamps else raw[:start] + raw[rest:]

    def _parse(self, raw: bytes) -> Tuple[int, int, int, Time]:
        """Returns the rank, where the time begins, where the text begins, and the time."""
        match = _HEAD.match(raw)
        at = self._clock.parse(match.group(2)) if match else None
        if not match or not at:
            raise WrongAnswer(f"the log has a line without its time: {raw[:80]!r}")
        return int(match.group(1) or 0), match.start(2), match.end(), at


class Message(NamedTuple):
    """A server-sent event."""

    id: str
    data: str


class EventReader:
    """Parses server-sent events by the rules of the HTML standard, section 9.2.6."""

    def __init__(self) -> None:
        self._partial = b""
        self._id = ""
        self._data: List[str] = []

    def feed(self, chunk: bytes) -> List[Message]:
        """Returns the events that are complete. Heartbeats have no data."""
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        if len(self._partial) + sum(map(len, self._data)) > _MAX_EVENT:
            raise WrongAnswer(f"an event is larger than {_MAX_EVENT} bytes")
        return [m for m in map(self._line, lines) if m]

    def _line(self, raw: bytes) -> Optional[Message]:
        text = raw.decode("utf-8", "replace").rstrip("\r")
        if not text:
            message = Message(self._id, "\n".join(self._data))
            self._id, self._data = "", []
            return message if message.id or message.data else None
        name, _, value = text.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "id":
            self._id = value
        elif name == "data":
            self._data.append(value)
        return None
