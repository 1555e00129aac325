"""The beginnings of lists, reports and logs, in the forms of Python and of the server."""

import math
import re
import time
from datetime import date, datetime, timedelta, timezone
from typing import Union

from .errors import ArgumentInvalid
from .models import parse_time

Since = Union[str, float, timedelta, datetime]  # an age as a text (3h), in seconds or as a timedelta; or a time

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def moment(since: Since) -> str:
    """Returns the age or the time in RFC 3339 for a list."""
    if isinstance(since, datetime):
        return since.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    return since if isinstance(since, str) else f"{math.ceil(_seconds(since))}s"


def day(since: Union[Since, date]) -> str:
    """Returns the age in days or the date for a report."""
    if isinstance(since, datetime):
        return since.astimezone(timezone.utc).date().isoformat()
    if isinstance(since, date):
        return since.isoformat()
    return since if isinstance(since, str) else f"{max(math.ceil(_seconds(since) / _UNITS['d']), 1)}d"


def age(since: Since) -> float:
    """Returns the age in seconds for a log."""
    if isinstance(since, str):
        if since.isdecimal():
            return float(since)
        parts = re.findall(r"([0-9.]+)([smhdw])", since)
        if parts and "".join(n + unit for n, unit in parts) == since:
            return math.fsum(float(n) * _UNITS[unit] for n, unit in parts)
        try:
            since = parse_time(since)
        except ValueError:
            said = f"since: {since!r} is neither an age, for example 90s or 3h, nor a time in RFC 3339"
            raise ArgumentInvalid(said, "since") from None
    if isinstance(since, datetime):
        return max(time.time() - since.timestamp(), 0.001)
    return _seconds(since)


def _seconds(age: Union[float, timedelta]) -> float:
    return age.total_seconds() if isinstance(age, timedelta) else float(age)
