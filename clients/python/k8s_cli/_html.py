"""What notebooks show."""

import importlib
from datetime import datetime, timezone
from html import escape
from typing import Any, Callable, List, Optional, Tuple

from .models import GroupStatus, TaskStatus

MAX_LIVE = 6 * 3600.0  # seconds after which a view is no longer updated
FIRST_PAUSE, MAX_PAUSE, SLOWDOWN = 1.0, 10.0, 1.3  # seconds between two requests for a view
MAX_VIEWS = 32  # views that are updated at the same time

_MARKS = {"pending": "◌", "running": "▶", "completed": "✓", "failed": "✗", "stopped": "■"}
_COLOURS = {"pending": "#8a6d00", "running": "#0b5cad", "completed": "#1a7f37", "failed": "#b3261e", "stopped": "#57606a"}
_views = 0  # views that are updated at present


class Handle:
    """A view of a notebook, which can be updated."""

    def __init__(self, display: Any, html: str) -> None:
        self._display, self._html = display, html

    def update(self, html: str) -> None:
        self._html = html
        self._display.update({"text/html": html}, raw=True)

    def note(self, text: str) -> None:
        """Shows why the view is no longer updated."""
        self.update(self._html + f"<div><small>{escape(text)}</small></div>")

    def close(self) -> None:
        global _views
        _views -= 1


def show(html: Callable[[], str], text: str) -> Optional[Handle]:
    """Shows a view in the notebook. Returns None if the view cannot be updated."""
    global _views
    try:
        display = importlib.import_module("IPython.display").display
    except ImportError:
        print(text)
        return None
    shown = display({"text/html": html(), "text/plain": text}, raw=True, display_id=True)
    if shown is None or _views >= MAX_VIEWS:
        return None
    _views += 1
    return Handle(shown, html())


def _table(caption: str, rows: List[Tuple[str, str]]) -> str:
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{value}</td></tr>'
        for name, value in rows
        if value
    )
    return f'<table><caption style="text-align:left"><b>{escape(caption)}</b></caption>{cells}</table>'


def _status(status: str) -> str:
    """The status as a word with a mark, so that colour is never the only sign."""
    colour = _COLOURS.get(status, "inherit")
    return f'<b style="color:{colour}">{_MARKS.get(status, "·")} {escape(status)}</b>'


def _time(at: Optional[datetime]) -> str:
    return escape(at.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")) if at else ""


def job(id: str, name: str, status: Optional[TaskStatus]) -> str:
    """The view of a task."""
    if status is None:
        return _table(f"Task {id}", [("Name", escape(name)), ("Status", "not read yet")])
    m = status.metadata
    of = f"{m.succeeded_nodes} completed, {m.running_nodes} running, {m.pending_nodes} pending, {m.failed_nodes} failed"
    output = "".join(f"<pre>{escape(n.output)}</pre>" for n in m.nodes if n.output and n.status == "failed")
    return _table(
        f"Task {id}",
        [
            ("Name", escape(status.name)),
            ("Status", _status(status.status)),
            ("Reason", escape(": ".join(filter(None, [m.reason, m.message])))),
            ("Hint", escape(m.hint)),
            ("Group", escape(m.group)),
            ("Nodes", escape(f"{m.num_nodes} ({of})") if m.num_nodes > 1 else ""),
            ("Restarts", str(m.restarts) if m.restarts else ""),
            ("Submitted", _time(status.created_at)),
            ("Updated", _time(status.updated_at)),
            ("Output", output),
        ],
    )


def group(name: str, status: Optional[GroupStatus]) -> str:
    """The view of a group."""
    if status is None:
        return _table(f"Group {name}", [("Status", "not read yet")])
    counts = ", ".join(f"{_status(s)} {n}" for s, n in sorted(status.by_status.items()) if n)
    first = status.first_failure
    failure = f"{first.task_id}: {first.message or first.reason}" if first else ""
    bar = f'<progress max="1" value="{float(status.progress):.4f}"></progress> {status.progress:.0%}'
    return _table(
        f"Group {name}",
        [
            ("Status", _status(status.status)),
            ("Tasks", f"{int(status.total)} ({counts})"),
            ("Progress", bar),
            ("First failure", escape(failure)),
            ("Submitted", _time(status.submitted_at)),
            ("Ended", _time(status.ended_at)),
            ("Expected end", "" if status.ended_at else _time(status.estimated_at)),
        ],
    )
