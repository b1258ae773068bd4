"""The box above a lane's text box, while something is to decide: one button for each way.

A button only hands over to the client, which sees to it that each thing is done once, from how many
displays ever it is clicked; what the client refuses is said below.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from steer_nb.client import Inject, Response, Steer
from steer_nb.errors import SteerError
from steer_nb.widgets.controls import box, line, static
from steer_nb.widgets.decisions import ASK_SAYS
from steer_nb.widgets.press import Press, PressButton
from steer_nb.widgets.text import clip, esc, plain, shortened
from steer_nb.widgets.ticker import in_background, ticker

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane
    from steer_nb.ledger.recovery import Choice
    from steer_nb.widgets.decisions import Decisions, Undecided

    Say = Callable[[str, str], None]

__all__ = ["QUEUED", "DecideBox", "handle_of", "sent_words"]

QUEUED: Final = "Queued here: it goes out next."
"""True for as long as it is."""

_SOON_S = 0.05

# What can be done stands in the card with what to type for it, and as buttons in the box below it:
# where those are, and work, they are enough. The output before the one with the box is the card's
# last; a cell before one with a card and its box is nothing of theirs.
_ONCE: Final = (
    '<style>:has(+* .snb-decide-box:not([style*="display: none"],.jupyter-widgets-disconnected))'
    ":not(:has(+* .snb-part)) .snb-decide .snb-way{display:none}</style>"
)


def handle_of(lane: Lane, message: Undecided) -> Steer | Response | Inject:
    """Give the handle of a message that is to be decided on."""
    kinds: dict[str, type[Steer | Response | Inject]] = {"steer": Steer, "inject": Inject}
    return kinds.get(message.what, Response)(lane.session, message.key)


def sent_words(sent: Steer | Response) -> str:
    """Say as what something went out."""
    if isinstance(sent, Steer) and sent.state == "queued_here":
        return QUEUED
    return "Sent as a steer." if isinstance(sent, Steer) else "Sent as the next turn."


class DecideBox:
    """Offers what can be done with a lane that lost its connection, and with unknown messages.

    Parameters
    ----------
    lane : Lane
        The lane.
    say : callable
        Shows a sentence below, with a CSS class.

    Attributes
    ----------
    widget : ipywidgets.VBox
        Nothing is seen of it while nothing is to decide.
    """

    def __init__(self, lane: Lane, say: Say) -> None:
        self._lane = lane
        self._say = say
        self.widget = box(w.VBox, [], css="snb-decide-box")
        self.widget.layout.display = "none"
        self._shown: tuple[object, ...] = ()
        self._rows: dict[object, w.Widget] = {}
        self._buttons: list[PressButton] = []
        self._acting = threading.Lock()
        self._building = threading.Lock()

    def show(self, decisions: Decisions | None, beside: tuple[Undecided, ...] = ()) -> None:
        """Offer this from now on. Not on the I/O thread.

        Parameters
        ----------
        decisions : Decisions or None
            What the ledger says.
        beside : tuple of Undecided
            Steers that failed and whose text is not in the text box.
        """
        choices = () if decisions is None else decisions.choices
        messages = (*(() if decisions is None else decisions.messages), *beside)
        ask = decisions is not None and decisions.ask
        wanted: tuple[object, ...] = (choices, messages, ask)
        with self._building:
            if wanted == self._shown:
                return
            self._shown = wanted
            rows: list[w.Widget] = []
            if ask:
                rows.append(self._row("ask", self._question))
            if choices:
                name = f"<bdi>{esc(clip(self._lane.name, 60))}</bdi>"
                rows.append(
                    self._row(name, partial(static, f"{_ONCE}<b>How does {name} go on?</b>"))
                )
                rows += [
                    self._row((choice, n), partial(self._choice, choice, first=n == 0))
                    for n, choice in enumerate(choices)
                ]
            rows += [self._row(one, partial(self._message, one)) for one in messages]
            self.widget.children = tuple(rows)
            self.widget.layout.display = None if rows else "none"

    def _row(self, key: object, make: Callable[[], w.Widget]) -> w.Widget:
        # Kept, and never closed: a click that is on its way finds its button, and one that comes
        # too late is answered by the client's refusal.
        if key not in self._rows:
            self._rows[key] = make()
        return self._rows[key]

    def _choice(self, choice: Choice, *, first: bool) -> w.Widget:
        says = clip(choice.says, 600)
        made = self._button(
            choice.word.capitalize(),
            plain(says),
            lambda: self._recover(choice),
            css="snb-choice snb-go" if first else "snb-choice",
        )
        seen = esc(shortened(says))
        return line([Press(made), static(f'<span dir="auto">{seen}</span>', wide=True)])

    def _question(self) -> w.Widget:
        made = self._button("Ask the service", ASK_SAYS, self._ask)
        return line([Press(made), static(f"<span>{esc(ASK_SAYS)}</span>", wide=True)])

    def _message(self, message: Undecided) -> w.Widget:
        said = (
            f"<div>{message.what.capitalize()}: <bdi>“{esc(message.shown)}”</bdi></div>"
            f'<div class="snb-hint" dir="auto">{esc(clip(message.why, 400))}</div>'
        )
        short = plain(clip(message.shown, 60))
        again = self._button(message.verb, f"{message.verb}: {short}", lambda: self._again(message))
        drop = self._button("Drop", f"Do without: {short}", lambda: self._drop(message))
        return line([static(said, wide=True), Press(again, drop)], css="snb-message-row")

    def _button(
        self, text: str, name: str, act: Callable[[], str], *, css: str = ""
    ) -> PressButton:
        made = PressButton(
            text, name, lambda: self._clicked(act), css=css, disabled=self._acting.locked()
        )
        self._buttons.append(made)
        return made

    # -- what a click does ---------------------------------------------------------------------

    def _clicked(self, act: Callable[[], str]) -> None:
        if self._acting.acquire(blocking=False):
            self._enable(enabled=False)
            in_background(lambda: self._act(act), "decide")

    def _act(self, act: Callable[[], str]) -> None:
        try:
            self._say(act(), "snb-hint")
        except SteerError as error:
            self._say(str(error), "snb-bad")
        except BaseException:
            self._say("Not done: something went wrong here; see the kernel's log.", "snb-bad")
            raise
        finally:
            self._acting.release()
            self._enable(enabled=True)

    def _enable(self, *, enabled: bool) -> None:
        for made in tuple(self._buttons):
            made.disabled = not enabled

    def _ask(self) -> str:
        found = self._lane.check()
        return " ".join([*found.settled, *found.unsettled]) or str(found)

    def _recover(self, choice: Choice) -> str:
        self._lane.recover(choice.word)
        return f"{choice.says[:1].upper()}{choice.says[1:]}."

    def _again(self, message: Undecided) -> str:
        return sent_words(handle_of(self._lane, message).send_again())

    def _drop(self, message: Undecided) -> str:
        handle_of(self._lane, message).drop()
        return f"{message.key} is dropped: it is not sent again."

    def later(self, build: Callable[[], None]) -> None:
        """Call ``build()`` soon on the helper thread; any thread may ask."""
        ticker.later(("decide", self), _SOON_S, build)
