"""What there is to know about a lane: its words, texts, responses, and what it asks for."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from steer_nb.client.answers import askable
from steer_nb.client.handles import Response, Steer, response_key
from steer_nb.client.recovering import offer_of
from steer_nb.client.required import RequiredInput, snapshot
from steer_nb.client.settings import redacted
from steer_nb.client.settling import going_on, in_flight
from steer_nb.ledger import rules
from steer_nb.wire.naming import short_id, shortened

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    from steer_nb.client.session import Session
    from steer_nb.client.settings import LaneSettings
    from steer_nb.client.tools import Tool
    from steer_nb.ledger import LaneState, Ledger
    from steer_nb.ledger.recovery import Offer
    from steer_nb.ledger.state import LaneWord

    T = TypeVar("T")

__all__ = ["LaneFacts"]


class LaneFacts:
    """What can be asked of a lane at any time, from any thread; nothing is sent by it."""

    def __init__(self, session: Session, settings: LaneSettings) -> None:
        self._session = session
        self._settings = settings

    @property
    def session(self) -> Session:
        """The session it belongs to."""
        return self._session

    @property
    def stream_id(self) -> str | None:
        """Its name on the wire; None for the default lane."""
        return self._settings.stream_id

    @property
    def name(self) -> str:
        """What a person calls it; ``(default)`` for the default lane."""
        return self._settings.name

    @property
    def settings(self) -> dict[str, Any]:
        """The fields that each of its requests carries, credentials of MCP tools hidden."""
        return self._session.read(lambda _: copy.deepcopy(redacted(self._settings.fields)))

    @property
    def tools(self) -> dict[str, Tool]:
        """Its functions, by the name the model uses."""
        return self._session.read(lambda _: dict(self._settings.tools))

    def _of(self, read: Callable[[LaneState], T], default: T) -> T:
        def look(ledger: Ledger) -> T:
            state = ledger.lanes.get(self.stream_id)
            return default if state is None else read(state)

        return self._session.read(look)

    @property
    def state(self) -> LaneWord:
        """``idle``, ``queued``, ``running``, ``waiting_input``, ``detached`` or ``failed``."""
        return self._of(rules.lane_word, "idle")

    @property
    def text(self) -> str:
        """The text so far of its newest response."""
        return self._of(lambda s: s.responses[-1].text if s.responses else "", "")

    @property
    def draft(self) -> str:
        """What stands half typed in the box below it; empty where nothing does."""
        return self._of(lambda s: s.draft, "")

    @property
    def response(self) -> Response | None:
        """Its newest response or request, if there is any."""

        def look(state: LaneState) -> str | None:
            if state.queue:
                return state.queue[-1].key
            if state.requests and state.requests[-1].response_id is None:
                last = state.requests[-1]
                if not state.responses or state.responses[-1].started.seq < last.sent.seq:
                    return last.key
            return response_key(state.responses[-1]) if state.responses else None

        key = self._of(look, None)
        return None if key is None else Response(self._session, key)

    @property
    def responses(self) -> list[Response]:
        """All its responses that began, oldest first."""
        keys: list[str] = self._of(lambda s: [response_key(r) for r in s.responses], [])
        return [Response(self._session, key) for key in keys]

    @property
    def steers(self) -> list[Steer]:
        """All steers of its responses, oldest first."""
        keys: list[str] = self._of(lambda s: [t.key for r in s.responses for t in r.steers], [])
        return [Steer(self._session, key) for key in keys]

    @property
    def required_input(self) -> tuple[RequiredInput, ...]:
        """What its newest response asks for and no continuation carries yet, in order.

        It is known as soon as the call is complete, also while the response goes on, and whether
        or not a steer is queued.
        """
        return self._of(lambda s: tuple(snapshot(stub, s.name) for stub in askable(s)), ())

    def _required(self, key: str) -> RequiredInput:
        answers = self._session.core.answers
        return self._session.read(
            lambda _: snapshot(answers.find(self._settings, key)[1], self.name)
        )

    @property
    def recovery(self) -> Offer | None:
        """What is true of it after its connection was lost, and how it can go on.

        None where there is nothing to say. Nothing is done by itself: see `recover`.
        """
        return self._session.read(lambda _: offer_of(self._session.core, self._settings))

    @property
    def in_flight(self) -> list[str]:
        """What goes on, is unsent or is undecided on it, one phrase each: see before closing."""
        return self._session.read(lambda _: in_flight(self._session.core, self._settings))

    def _going_on(self) -> str:
        return self._session.read(lambda _: going_on(self._session.core, self._settings))

    def __repr__(self) -> str:
        settings = self.settings
        whose = f"model {settings.get('model')}"
        if "agent" in settings:
            whose = short_id(settings["agent"])
        count = len(self.responses)
        asked = [needed.name or needed.type for needed in self.required_input]
        wants = f" for {', '.join(asked[:3])}{' …' if len(asked) > 3 else ''}" if asked else ""
        return (
            f"<{shortened(self._going_on())}{wants}; {whose}, "
            f"{count} response{'' if count == 1 else 's'}"
            f"{', closed' if not self._settings.open else ''}>"
        )

    def _repr_html_(self) -> str:
        from steer_nb.widgets import html_for

        return html_for(self)
