"""The sessions there are, by name."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from steer_nb.errors import UnknownSession

if TYPE_CHECKING:
    from steer_nb.client.session import Session

__all__ = ["current_session", "keep", "sessions"]

_sessions: dict[str, Session] = {}  # the one connected last stands last
_lock = threading.Lock()


def keep(session: Session) -> None:
    """Know an open session by its name; one that had it before is closed."""
    with _lock:
        old = _sessions.pop(session.name, None)
        _sessions[session.name] = session
    if old is not None:
        old.close()


def sessions() -> dict[str, Session]:
    """Return the sessions of this process, by name, the one connected last at the end."""
    return dict(_sessions)


def current_session(name: str | None = None) -> Session:
    """Return the session of that name, or the one connected last.

    Raises
    ------
    UnknownSession
        If there is none, with the names there are.
    """
    known = sessions()
    if name is None:
        if known:
            return next(reversed(known.values()))
        msg = "There is no session yet: connect first, with steer_nb.connect() or %steer connect."
        raise UnknownSession(msg)
    if name not in known:
        msg = f"There is no session {name!r}. There is: {', '.join(known) or 'none'}."
        raise UnknownSession(msg)
    return known[name]
