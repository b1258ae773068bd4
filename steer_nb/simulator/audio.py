"""A message that is spoken as well as written."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.citing import say_text
from steer_nb.simulator.place import Beat
from steer_nb.simulator.steps import Item, message

if TYPE_CHECKING:
    from collections.abc import Generator

    from steer_nb.simulator.place import Place

__all__ = ["Speak"]

_LETTER_BYTES = 48
"""A thousandth of a second for each letter, at 24 kHz and 16 bits: short, as it is only silence."""


@dataclass(frozen=True)
class Speak(Item):
    """A message that is spoken: its text, and with it `response.audio.*`.

    The audio events name no item, and no output item has a place for what they carry. So the words
    come as text, too, and the transcript's pieces beside those of the text.

    Parameters
    ----------
    text : str
        What is said.
    audio : str, optional
        How it sounds, in base64; silence where nothing is given.
    phase : str, optional
        ``commentary`` or ``final_answer``.

    Examples
    --------
    >>> Speak("Good morning.").audio is None
    True
    """

    text: str
    audio: str | None = None
    phase: str | None = None

    def play(self, place: Place) -> Generator[Beat, None, dict[str, Any]]:
        """Give the events of the item, and the finished item."""
        item = message(place.id("msg"), self.phase)
        yield self.added(place, {**item, "status": "in_progress", "content": []})
        part = yield from self._aloud(say_text(place, item["id"], 0, self.text))
        item = {**item, "status": "completed", "content": [part]}
        yield self.done(place, item)
        return item

    def _aloud(
        self, saying: Generator[Beat, None, dict[str, Any]]
    ) -> Generator[Beat, None, dict[str, Any]]:
        sound = bytes(_LETTER_BYTES * len(self.text))
        if self.audio is not None:
            sound = base64.b64decode(self.audio)
        written = played = 0
        while True:
            try:
                beat = next(saying)
            except StopIteration as end:
                part: dict[str, Any] = end.value
                return part
            kind, delta = beat.event["type"], str(beat.event.get("delta", ""))
            if kind == "response.output_text.done":
                yield Beat({"type": "response.audio.done"})
                yield Beat({"type": "response.audio.transcript.done"})
            yield beat._replace(seconds=0.0) if delta else beat
            if delta:
                written += len(delta)
                until = len(sound) * written // len(self.text)
                piece = base64.b64encode(sound[played:until]).decode("ascii")
                played = until
                yield Beat({"type": "response.audio.transcript.delta", "delta": delta})
                yield Beat({"type": "response.audio.delta", "delta": piece}, beat.seconds)
