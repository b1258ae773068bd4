"""Words of a magic line to what they name: the session, one of its lanes, one of its messages."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from steer_nb.magics.parsing import refuse
from steer_nb.magics.reader import did_you_mean

if TYPE_CHECKING:
    from steer_nb.client import Inject, Lane, Response, Session, Steer
    from steer_nb.ledger import Ledger

__all__ = ["find_lane", "find_message", "find_session", "open_session", "undecided_keys"]


def open_session() -> Session | None:
    """Return the current session, if there is one; the client is not loaded for that."""
    client = sys.modules.get("steer_nb.client")
    if client is None or not client.sessions():
        return None
    session: Session = client.current_session()
    return session


def find_session() -> Session:
    """Return the current session.

    Raises
    ------
    Mistake
        Nothing is connected.
    """
    session = open_session()
    if session is None:
        refuse("Nothing is connected: begin with %steer connect, or %steer connect --simulate.")
    return session


def find_lane(name: str | None) -> Lane:
    """Find an open lane. Only the default lane opens by itself: a typing error must not.

    Raises
    ------
    Mistake
        No lane of that name is open.
    """
    from steer_nb.ledger import DEFAULT_LANE

    session = find_session()
    lanes = session.lanes
    if name is None or name == DEFAULT_LANE:
        return lanes[DEFAULT_LANE] if DEFAULT_LANE in lanes else session.lane()
    if name not in lanes:
        if session.closed:
            refuse(f"Session {session.name} is closed: %steer connect opens it again.", name)
        near = did_you_mean(name, lanes)
        known = f" Open are: {', '.join(lanes)}." if lanes and not near else ""
        refuse(f"No lane {name!r} is open.{near}{known} Open it with: %steer open {name}", name)
    return lanes[name]


def undecided_keys(session: Session) -> list[str]:
    """List the local keys of the messages that a person has to decide on."""
    return [what for what in session.status()["to_decide"] if not what.startswith("lane ")]


def find_message(key: str) -> Response | Steer | Inject:
    """Find a message by its local key, a steer by its id too.

    Raises
    ------
    Mistake
        There is no such message.
    """
    from steer_nb.client import Inject, Response, Steer

    session = find_session()

    def find(ledger: Ledger) -> tuple[str, type[Response | Steer | Inject]] | None:
        if key in ledger.steers:
            return key, Steer
        if key in ledger.requests:
            return key, Response
        if key in ledger.injects:
            return key, Inject
        return next(((s.key, Steer) for s in ledger.steers.values() if s.steer_id == key), None)

    found = session.read(find)
    if found is None:
        keys = undecided_keys(session)
        known = f" To decide: {', '.join(keys)}." if keys else " Nothing is to be decided."
        refuse(f"There is no message {key!r}.{did_you_mean(key, keys) or known}", key)
    return found[1](session, found[0])
