"""The box below a lane: a text, a button that says what it will do with it, decisions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steer_nb.client import Steer
from steer_nb.client.drafts import keep_text
from steer_nb.errors import LaneBusy, SteerError
from steer_nb.widgets.box import Box
from steer_nb.widgets.cells import cells
from steer_nb.widgets.controls import styled, view_bundle
from steer_nb.widgets.decidebox import QUEUED, DecideBox, handle_of, sent_words
from steer_nb.widgets.drafting import Keeper
from steer_nb.widgets.painter import NOTHING, Picture
from steer_nb.widgets.style import NO_MATH
from steer_nb.widgets.text import clip, esc, esc_strict, plain, shortened
from steer_nb.widgets.ticker import in_background, ticker
from steer_nb.widgets.words import input_text
from steer_nb.wire.naming import short_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane
    from steer_nb.ledger.state import LaneState
    from steer_nb.widgets.decisions import Decisions, Undecided

__all__ = ["SayBox"]

# A steer's text is put back only into a field that is known to be empty: what is being typed while
# a cell runs may not have reached the kernel yet.
_QUIET_S: Final = 0.5
_LOOK_AGAIN_S: Final = 0.3

_OUR_FAULT: Final = "Not done: something went wrong here; see the kernel's log."


class SayBox:
    """Sends what a person types to a lane: a steer while it writes, else its next turn.

    What is half typed is kept in the trace as the lane's draft, and stands in the field again when
    it is shown later, by another kernel too. The text of a steer that failed comes back into the
    field, where that is empty, and stands beside it otherwise. What is to decide after a lost
    connection stands above it.

    Parameters
    ----------
    lane : Lane
        Where to.
    stop : callable, optional
        Stops the picture above it.
    show : callable, optional
        Shows a fork below the showing of that number, and returns whether it could.
    said : str
        What it says at first.
    """

    def __init__(
        self,
        lane: Lane,
        stop: Callable[[], object] | None = None,
        show: Callable[[Lane, int], bool] | None = None,
        *,
        said: str = "",
    ) -> None:
        self._lane = lane
        self._stop = self.close if stop is None else stop
        self._show_fork = show
        name = plain(clip(lane.name, 60))
        forks = lane.session.read(lambda ledger: ledger.dialect.forks)
        self.field = Box(name, self._act, value=lane.draft, said=said, forks=forks)
        self.decide = DecideBox(lane, self._say)
        self.widget = styled([self.decide.widget, self.field], css="snb-say")
        self._pictures: list[Picture] = []
        self._verb = "Send"
        self._decisions: Decisions | None = None
        self._failed: dict[str, Undecided] = {}
        self._tried: set[str] = set()
        self._held: Undecided | None = None
        """What failed and whose text was put back into the field."""
        self._given: str | None = None
        """That text, as long as nobody changed it."""
        self._queued: Steer | None = None
        """What was queued here last, as long as the box says so."""
        self._outgoing: str | None = None
        """What is being sent: it is on the disk already."""
        self._draft = self._shown = self.field.value
        """The lane's draft as it was told last, and as it stood in the field last."""
        self._keeper = Keeper(self._keep)
        self._forget = lane.session.before_close(self._keeper.now)
        self.field.observe(self._typed, names="value")
        cells.watch()

    def show(self, beside: Picture | None = None) -> Picture:
        """Show it in the running cell, or in that of another picture; return where it stands."""
        picture = Picture()
        picture.show({**view_bundle(self.widget), **self._without_a_page()}, beside=beside)
        self._pictures.append(picture)
        return picture

    def _without_a_page(self) -> dict[str, Any]:
        """What stands in a saved notebook: a field that nobody hears is of no use there."""
        stream_id = self._lane.stream_id
        said = self._lane.session.read(lambda ledger: last_said(ledger.lanes.get(stream_id)))
        if not said:
            return NOTHING
        name, said = clip(self._lane.name, 60), clip(" ".join(said.split()), 300)
        html = (
            f'<p class="snb-note" dir="auto">Last said to <bdi>{esc_strict(name)}</bdi> when this '
            f"was shown: <bdi>“{esc(said)}”</bdi></p>"
        )
        text = plain(f"Last said to {name} when this was shown: “{said}”")
        # The card above, in the same cell, has the style sheet; it reads well without one, too.
        return {
            "text/html": f'<div class="steer-nb {NO_MATH}">{html}</div>',
            "text/plain": text,
        }

    def hold(self, other: SayBox) -> None:
        """Show another box below this one, in each page that shows this: its widgets' own way."""
        if other.widget not in self.widget.children:
            self.widget.children = (*self.widget.children, other.widget)

    def close(self) -> None:
        """Take it away: there is nobody left to talk to."""
        self.field.carrier.end()
        for picture in self._pictures:
            picture.update(NOTHING)
        self._forget()

    def refresh(
        self,
        verb: str,
        decisions: Decisions | None = None,
        draft: str | None = None,
        *,
        cancels: bool = False,
    ) -> None:
        """Say what the button would do now, and what is to decide. Any thread may call this.

        Parameters
        ----------
        verb : str
            Send or Steer.
        decisions : Decisions, optional
            What the ledger says is to decide.
        draft : str, optional
            What the ledger says is half typed.
        cancels : bool
            Whether there is something that a cancel stops, or releases.
        """
        if cancels != self.field.cancels:
            self.field.show(cancels=cancels)
        if draft is not None and draft != self._draft:
            self._draft = draft
            ticker.later(("follow", self), 0.0, self._follow)
        if decisions != self._decisions:
            self._decisions = decisions
            self.decide.later(self._decide)
        if verb != self._verb:
            self._verb = verb
            self._show_verb()
        if self._queued is not None:
            ticker.later(("queued", self), 0.0, self._went)

    def _went(self) -> None:
        """Take back that something is queued here, once it is no more. On the helper thread."""
        queued = self._queued
        if queued is None or queued.state == "queued_here":
            return
        self._queued = None
        if self.field.said == QUEUED:
            self.field.show(said="")

    def _show_verb(self) -> None:
        held = self._held
        unchanged = held is not None and self.field.value == held.text
        verb = held.verb if held is not None and unchanged and self._verb == "Send" else self._verb
        if self.field.verb != verb:
            self.field.show(verb=verb)

    # -- drafts ----------------------------------------------------------------------------------

    def _own(self) -> str:
        """What a person typed here: not a failed steer's text that stands there as it was."""
        text, held = self.field.value, self._held
        return "" if held is not None and text == held.text else text

    def _keep(self) -> int:
        own = self._own()
        if own == self._outgoing:
            return 0
        try:
            keep_text(self._lane, own)
        except SteerError as error:
            self._say(str(error), "snb-bad")
            return 0
        self._shown = own
        return len(own)

    def _follow(self) -> None:
        """Show what was typed, or sent, in another display of the lane, unless one types here."""
        # Read anew, and nothing is kept meanwhile: older text must never replace newer.
        with self._keeper.lock:
            draft, own = self._lane.draft, self._own()
            if draft == own:
                self._shown = draft
            elif self._keeper.pending or not cells.quiet(_QUIET_S):
                ticker.later(("follow", self), _LOOK_AGAIN_S, self._follow)
            elif own == self._shown and self._outgoing is None:
                self._shown, self._held = draft, None  # what failed stands beside it now
                self.field.show(value=draft)
                self.decide.later(self._decide)

    # -- steers that failed ----------------------------------------------------------------------

    def _decide(self) -> None:
        """Show what is to decide, and give failed steers back. Runs on the helper thread."""
        decisions = self._decisions
        returned = () if decisions is None else decisions.returned
        undecided = {message.key for message in returned}
        for message in returned:
            if message.fresh or message.key in self._failed:
                self._failed[message.key] = message
        self._failed = {key: one for key, one in self._failed.items() if key in undecided}
        if self._held is not None:
            # None where it was decided elsewhere; what stands in the field stays.
            self._held = self._failed.get(self._held.key)
        waits = self._put_back()
        beside = [one for one in self._failed.values() if one != self._held]
        self.decide.show(decisions, tuple(beside))
        self._show_verb()
        if waits:
            ticker.later(("decide", self.decide), _LOOK_AGAIN_S, self._decide)

    def _put_back(self) -> bool:
        """Put a failed steer's text into the field; True where it may be possible later."""
        new = [one for one in self._failed.values() if one.whole and one.key not in self._tried]
        held = self._held
        if held is None and (same := [one for one in new if one.text == self.field.value]):
            # It could not be sent, and was never taken out of the field.
            self._held, self._given = same[-1], same[-1].text
            self._tried.add(same[-1].key)
            return False
        # What failed earlier makes room, unless a person changed it: it stands beside the field.
        replaced = self.field.value == self._given and (held is None or not held.fresh)
        if not new or (self.field.value and not replaced):
            self._tried.update(one.key for one in new if self.field.value)
            return False
        if not cells.quiet(_QUIET_S):
            return True
        message = new[-1] if replaced else new[0]
        self._tried.add(message.key)
        self._held, self._given = message, message.text
        self.field.show(value=message.text)
        self._say(f"Your {message.what} failed, and is back in the box. {message.why}", "snb-bad")
        return False

    # -- what a person does ----------------------------------------------------------------------

    def _typed(self, _: object) -> None:
        self._keeper.touched()
        if self.field.value != self._given:
            self._given = None
        if self._held is not None:
            if not self.field.value:
                self._held = None  # taken out of the field: from now on it stands beside it
            self.decide.later(self._decide)

    def _act(self, action: str, name: str, number: int) -> None:
        act: Callable[[], None]
        if action == "say":
            text = self.field.value
            act = partial(self._send, text)
        elif action == "cancel":
            act = self._cancel
        else:
            act = partial(self._fork, name, number) if action == "fork" else self._stop_watching
        in_background(partial(self._answered, act), action)

    def _answered(self, act: Callable[[], None]) -> None:
        """Do something for the box, which waits for it; runs on a thread of its own."""
        try:
            act()
        except SteerError as error:
            self.field.answer(_one_line(shortened(str(error))), bad=True)
        except BaseException:
            self.field.answer(
                "Not done: something went wrong here; see the kernel's log.", bad=True
            )
            raise

    def _send(self, text: str) -> None:
        if not text.strip():
            self.field.answer("Type something first.")
            return
        held = self._held
        self._keeper.now()  # until it is on its way it can still be refused, or the kernel die
        self._outgoing = text  # what is held is left to `_decide`, which may run meanwhile
        try:
            if held is not None and text == held.text:
                sent = handle_of(self._lane, held).send_again()
            else:
                sent = self._lane.send(text)
                if held is not None:
                    self._let_go(held)
        except BaseException:
            self._keeper.touched()  # it stands in the field as before
            raise
        else:
            said = sent_words(sent)
            self.field.answer(said, sent=text)
            self._queued = sent if said == QUEUED and isinstance(sent, Steer) else None
            ticker.later(("queued", self), 0.0, self._went)  # it may have gone meanwhile
        finally:
            self._outgoing = None
            ticker.later(("follow", self), 0.0, self._follow)
            self._show_verb()

    def _let_go(self, held: Undecided) -> None:
        """What a person made of a failed steer's text went out: the old text is not offered."""
        try:
            handle_of(self._lane, held).drop()
        except LaneBusy:
            self._failed.pop(held.key, None)  # decided elsewhere in the meantime

    def _fork(self, name: str, number: int) -> None:
        if not name.strip():
            self.field.answer("Give the new lane a name first.", bad=True)
            return
        lane = self._lane.fork(name.strip())
        new = lane.name
        # Not every front end shows what comes late for a cell: both ways are said.
        if self._show_fork is not None and self._show_fork(lane, number):
            said = f"Lane {new} goes on from here: see below, or %steer show {new}."
        else:
            said = f"Lane {new} goes on from here. %steer show {new} shows it."
        self.field.answer(said)

    def _cancel(self) -> None:
        response = self._lane.cancel()
        self.field.answer(f"Asked the server to cancel {short_id(response.id or response.key)}.")

    def _stop_watching(self) -> None:
        self.field.answer("No longer watched.")
        self._stop()

    def _say(self, message: str, css: str) -> None:
        self.field.show(said=_one_line(message), bad=css == "snb-bad")


def _one_line(message: str) -> str:
    return plain(clip(message, 1000))


def last_said(lane: LaneState | None) -> str:
    """Return the text of the newest request or steer of a lane; empty where it has none."""
    if lane is None:
        return ""
    steers = [steer for response in lane.responses for steer in response.steers]
    said = [(one.sent.seq, one.input) for one in steers if one.sent is not None]
    said += [(one.sent.seq, one.own_input) for one in lane.requests]
    return input_text(max(said, key=lambda one: one[0])[1]) if said else ""
