"""The kernel's half of the box below a lane: what a page tells it, and what it tells the page.

A page sends one message for each thing that a person does there, with the whole text in it, so that
nothing that is typed can be overtaken by it. What is done carries the number of its step: a step is
for one action, and whatever else was pressed in it, in how many displays and pages ever, is
refused. Nothing secret is part of the state: what is typed, the lane's name, what became of it.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import anywidget
from traitlets import Bool, Dict, Int, Unicode, validate

from steer_nb.widgets.carry import Carrier
from steer_nb.widgets.script import script

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Box"]

_ACTS: Final = ("say", "fork", "cancel", "stop")
_PAGES: Final = 16
"""Of so many views it is known what was heard from them: the newest."""

_TWICE: Final = "This was pressed in another display of the box at the same time. Press again."


class Box(anywidget.AnyWidget):
    """A form with a text, one button that says what it does, Fork, Cancel and Stop watching.

    Parameters
    ----------
    lane : str
        The lane's name, as it is shown.
    act : callable
        Does what a person asks for, with its name (``say``, ``fork``, ``cancel``, ``stop``), the
        name of the lane to be and the number of the showing where it was asked, 0 where no display
        is known to arrive; on the thread of the message, so it only begins it. The box is busy
        until `answer`.
    **traits
        `value`, `verb`, `said`, `forks` and `cancels`, where they are not empty, Send, True and
        False.

    Attributes
    ----------
    value : str
        The text in the field, as far as it was heard from the pages.
    verb : str
        What the button says.
    said : str
        What happened last.
    bad : bool
        Whether that was a failure.
    busy : bool
        Whether something is being done: nothing else is taken meanwhile.
    forks : bool
        Whether the lane can be forked.
    cancels : bool
        Whether there is something that the service can be asked to cancel.
    card : str
        The name of the card above it; empty where there is none.
    carrier : Carrier
        Sends that card to pages that its displays do not reach.

    Examples
    --------
    >>> box = Box("planner", lambda action, name, number: None, value="half a sen")
    >>> box.value
    'half a sen'
    >>> box.close()
    """

    _esm = script("common.js", "turn.js", "card.js", "carry.js", "box.js")

    lane = Unicode().tag(sync=True)
    card = Unicode().tag(sync=True)
    verb = Unicode("Send").tag(sync=True)
    forks = Bool(True).tag(sync=True)
    cancels = Bool(False).tag(sync=True)
    value = Unicode().tag(sync=True)
    said = Unicode().tag(sync=True)
    bad = Bool(False).tag(sync=True)
    busy = Bool(False).tag(sync=True)
    step = Int(0).tag(sync=True)
    heard = Dict().tag(sync=True)

    def __init__(self, lane: str, act: Callable[[str, str, int], None], **traits: Any) -> None:
        self._changing = threading.RLock()
        self._act = act
        self._sent: str | None = None
        super().__init__(lane=lane, **traits)
        self.carrier = Carrier(self.send)
        self.on_msg(self._message)

    @validate("lane", "verb", "value", "said")
    def _sendable(self, proposal: dict[str, Any]) -> str:
        # Half a surrogate pair, as a recording may hold it, passes through no comm.
        text: str = proposal["value"]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def show(self, **traits: Any) -> None:
        """Change something, in one message for all of it. Any thread may call this."""
        # The lock: two threads within `hold_sync` would lose what one of them holds.
        with self._changing, self.hold_sync():
            for name, value in traits.items():
                setattr(self, name, value)

    def answer(self, said: str, *, bad: bool = False, sent: str | None = None) -> None:
        """Say what became of what a person did, and be ready for the next.

        Parameters
        ----------
        said : str
            A sentence.
        bad : bool
            Whether it failed.
        sent : str, optional
            Text that went out: where it still stands in the field, it is taken away.
        """
        with self._changing:
            self._sent = sent
            value = "" if self.value == sent else self.value
            self.show(said=said, bad=bad, busy=False, value=value)

    def _message(self, _: object, content: Any, __: object) -> None:
        if not isinstance(content, dict):
            return
        event, page, number, text = (
            content.get(name) for name in ("event", "page", "number", "text")
        )
        if not isinstance(page, str) or self.carrier.hear(event, page, content.get("seen")):
            return
        if not isinstance(number, int) or not isinstance(text, str):
            return
        with self._changing:
            if number <= self.heard.get(page, 0):
                return  # heard already
            others = {key: heard for key, heard in self.heard.items() if key != page}
            heard = {**dict(list(others.items())[1 - _PAGES :]), page: number}
            acts = event in _ACTS
            taken = acts and not self.busy and content.get("step") == self.step
            told: dict[str, Any] = {"value": text}
            if taken:
                told |= {"step": self.step + 1, "busy": True, "said": "", "bad": False}
            elif acts and text in (self.value, self._sent):
                told = {}  # the same press again
            elif acts:
                told |= {"said": _TWICE, "bad": True}
            self.show(heard=heard, **told)
        if taken:
            name, show = content.get("name"), content.get("show")
            number = show if isinstance(show, int) else 0
            self._act(str(event), name if isinstance(name, str) else "", number)
