"""Which service's words a trace is in, and who reads them.

A dialect turns entries into facts, and shows each message as an event for the tables. OpenAI's has
no memory: each of its events says everything itself. Letta's messages name neither what they
continue nor where in their run they stand, so that its dialect remembers what came before: it is
folded along with the ledger, one for each fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from steer_nb.ledger.letta import LettaDialect
from steer_nb.ledger.letta_events import letta_event_of
from steer_nb.ledger.messages import event_of
from steer_nb.ledger.responses import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steer_nb.ledger import facts as f
    from steer_nb.trace.entries import Entry
    from steer_nb.wire import Event

__all__ = ["Dialect", "dialect_named"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """How the entries of one trace are read.

    Attributes
    ----------
    name : str
        As `Header.dialect` has it.
    read : callable
        From an entry, and its event where that is known, to facts. Entries have to come in order.
    event_of : callable
        From an entry to its message as an event.
    plain : bool
        Of an entry without `data` that is all that `steer_nb.wire.decode` gives.
    steers : bool
        Whether the service takes input for a response that it writes; else it is kept here.
    forks : bool
        Whether a conversation can be continued from any of its responses, in another lane.
    cancels : bool
        Whether the service can be asked to stop what it writes.
    between : str
        What stands between the texts of a response's messages, where these are read as one. The
        official client of the Responses API puts nothing there (`output_text`); the messages of an
        agent's run stand for themselves, and are read as paragraphs.
    """

    name: str
    read: Callable[[Entry, Event | None], Sequence[f.Fact]]
    event_of: Callable[[Entry], Event]
    plain: bool = True
    steers: bool = True
    forks: bool = True
    cancels: bool = False
    between: str = ""


_RESPONSES = Dialect("responses", read, event_of)


def dialect_named(name: str) -> Dialect:
    """Give the dialect of a trace, with nothing read yet; that of the Responses API for all others.

    Parameters
    ----------
    name : str
        `Header.dialect` of the trace.

    Examples
    --------
    >>> dialect_named("letta").name, dialect_named("codex").name
    ('letta', 'responses')
    """
    if name == "letta":
        letta = LettaDialect()
        return Dialect(
            "letta",
            letta.read,
            letta_event_of,
            plain=False,
            steers=False,
            forks=False,
            cancels=True,
            between="\n\n",
        )
    return _RESPONSES
