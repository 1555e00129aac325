"""When to send a request again, and how long to wait before."""

import random
import secrets
from typing import Optional

from .errors import ApiError, ConnectionFailed, Starting

FIRST_PAUSE = 0.1  # seconds after the first broken connection; doubles with each attempt
MAX_PAUSE = 2.0  # longest pause between two attempts to resume a log or to reach a server that restarts
BUSY_PAUSE = 1.0  # before a batch is sent again because the server was too busy for some tasks
LISTEN_PAUSE = 1.0  # before a broken event stream reconnects
STEADY = 5.0  # seconds; a connection that lasted longer resets the count of attempts, even without a line
MAX_BREAKS = 5  # broken connections in a row after which the client gives up


def new_key() -> str:
    """Returns an Idempotency-Key. An operation has one key for all attempts."""
    return secrets.token_urlsafe(18)


def pause_before_retry(err: Exception, attempt: int, reached: bool) -> Optional[float]:
    """Returns how long to wait before a safe request is sent again after err, or None if it is not sent again.

    reached tells that the server has answered before: then a server that cannot be reached is probably restarting. A
    client whose URL is wrong gets the error at once.
    """
    if isinstance(err, ApiError) and err.status in (429, 503) and err.retry_after > 0:
        return err.retry_after
    if isinstance(err, Starting) or isinstance(err, ConnectionFailed) and reached and not err.broke:
        return resume_pause(attempt)
    if isinstance(err, ConnectionFailed) and err.broke and attempt < MAX_BREAKS:
        return float(FIRST_PAUSE * 2**attempt)
    return None


def resume_pause(attempt: int) -> float:
    """Returns how long to wait before a log is resumed, or a server that restarts is asked again."""
    return float(min(FIRST_PAUSE * 2 ** min(attempt, 10), MAX_PAUSE))


def jittered(pause: float) -> float:
    """Returns the pause plus a random part of up to a half, which spreads the retries of many clients.

    The pause is never shorter than the server asked for.
    """
    return pause + random.random() * pause / 2
