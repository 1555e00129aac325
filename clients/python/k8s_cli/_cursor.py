"""The position up to which a container log was read, and the lines that a resumed log repeats.

Kubernetes can resume a log only from a whole second, so a resumed log repeats lines. A cursor
remembers the newest lines and not only their times, so that it recognises repeated lines even if
several lines have the same time, lines are out of order, or the log was rotated.
"""

import calendar
import re
from collections import deque
from typing import Deque, Dict, Optional, Tuple

# The largest difference, in seconds, by which the times of lines may be out of order: the
# container runtime reads the two streams of a container independently.
MAX_SKEW = 1
MAX_LINES = 4096  # largest number of lines that a cursor remembers

Time = Tuple[int, int]  # second since 1970, and nanosecond

_TIME = re.compile(rb"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$")


class Clock:
    """Parses the times of lines. Most lines have the same second as the line before."""

    def __init__(self) -> None:
        self._text, self._second = b"", 0

    def parse(self, stamp: bytes) -> Optional[Time]:
        match = _TIME.match(stamp)
        if not match:
            return None
        fraction, sign, hours, minutes = match.group(7, 8, 9, 10)
        if stamp[:19] != self._text:
            year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
            self._text, self._second = stamp[:19], calendar.timegm((year, month, day, hour, minute, second))
        offset = (int(hours) * 60 + int(minutes)) * 60 if sign else 0
        whole = self._second + (offset if sign == b"-" else -offset)
        return whole, int((fraction or b"0").ljust(9, b"0"))


class Cursor:
    """A position in the log of one node."""

    def __init__(self) -> None:
        self._recent: Deque[Tuple[int, int]] = deque()  # second and hash of the newest lines
        self._newest = 0
        self._latest: Time = (0, 0)
        self._dropped = 0  # newest second of a line that was not remembered for lack of space
        self._empty = True

    def advance(self, at: Time, digest: int) -> None:
        """Moves the position after a line."""
        second = at[0]
        if self._empty:  # lines before the first line that arrives count as read
            self._empty, self._dropped = False, second + MAX_SKEW
        self._newest = max(self._newest, second)
        self._latest = max(self._latest, at)
        self._recent.append((second, digest))
        while self._recent[0][0] < self._from():
            self._recent.popleft()
        while len(self._recent) > MAX_LINES:
            self._dropped = max(self._dropped, self._recent.popleft()[0])

    def _from(self) -> int:
        return self._newest - MAX_SKEW

    def since(self) -> int:
        """The second from which to resume the log."""
        return self._from()

    def deduper(self) -> "Deduper":
        """Returns a deduper for a log that is resumed from since."""
        left: Dict[int, int] = {}
        for _, digest in self._recent:
            left[digest] = left.get(digest, 0) + 1
        return Deduper(left, self._from(), self._latest, self._dropped >= self._from())


class Deduper:
    """Recognises the repeated lines of a resumed log."""

    def __init__(self, left: Dict[int, int], since: int, latest: Time, lost: bool) -> None:
        self._left, self._from, self._latest = left, since, latest
        self._lost = lost  # older lines were not remembered; they come before the first remembered line

    def has(self, at: Time, digest: int) -> bool:
        """Reports whether a line is a repetition. The caller calls has once for each line, in order."""
        if not self._left:
            return False
        count = self._left.get(digest, 0)
        if count:
            if count == 1:
                del self._left[digest]
            else:
                self._left[digest] = count - 1
            self._lost = False
            return True
        if self._lost and at <= self._latest:
            return True
        self._lost = False
        if at[0] > self._from + 2 * MAX_SKEW + 1:
            self._left = {}  # lines that were not repeated by now will not be repeated
        return False
