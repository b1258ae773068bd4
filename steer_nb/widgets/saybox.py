"""The box below a lane: one line of text, a button that says what it will do with it, decisions."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as w

from steer_nb.client.drafts import keep_text
from steer_nb.errors import LaneBusy, SteerError
from steer_nb.widgets.cells import cells
from steer_nb.widgets.controls import button, control, line, static, styled, view_bundle
from steer_nb.widgets.decidebox import DecideBox, handle_of, sent_words
from steer_nb.widgets.drafting import Keeper
from steer_nb.widgets.painter import NOTHING, Picture
from steer_nb.widgets.text import clip, esc, plain
from steer_nb.widgets.ticker import in_background, ticker

if TYPE_CHECKING:
    from steer_nb.client import Lane
    from steer_nb.widgets.decisions import Decisions, Undecided

__all__ = ["SayBox"]

# A page holds typed text back while the kernel is busy, and a click or the Enter key overtakes it:
# they are acted upon when the rest of the text is there, or after this long without any.
_SETTLE_S: Final = 0.2

# A steer's text is put back only into a field that is known to be empty: what is being typed while
# a cell runs may not have reached the kernel yet.
_QUIET_S: Final = 0.5
_LOOK_AGAIN_S: Final = 0.3


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
    """

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        name = plain(clip(lane.name, 60))
        self.text = control(
            w.Text,
            f"What to say to {name}",
            wide=True,
            continuous_update=True,  # or each change of the placeholder would empty the field
            placeholder=f"Say something to {name} …",
            value=lane.draft,
        )
        self.button = button("Send", f"Send to {name}", css="snb-go")
        self.status = static(css="snb-status")
        self.decide = DecideBox(lane, self._say)
        self.widget = styled(
            [self.decide.widget, line([self.text, self.button]), self.status], css="snb-say"
        )
        self._pictures: list[Picture] = []
        self._verb = "Send"
        self._decisions: Decisions | None = None
        self._entered = False
        self._sending = threading.Lock()
        self._failed: dict[str, Undecided] = {}
        self._tried: set[str] = set()
        self._held: Undecided | None = None
        """What failed and whose text was put back into the field."""
        self._outgoing: str | None = None
        """What is being sent: it is on the disk already."""
        self._draft = self._shown = self.text.value
        """The lane's draft as it was told last, and as it stood in the field last."""
        self._keeper = Keeper(self._keep)
        self._forget = lane.session.before_close(self._keeper.now)
        self.button.on_click(self._submit_soon)
        self.text.on_msg(self._message)
        self.text.observe(self._typed, names="value")
        cells.watch()

    def show(self) -> Picture:
        """Show it in the running cell, and return where it stands."""
        picture = Picture()
        # Without a live page nothing is shown: a text box in a saved notebook is of no use.
        picture.show({**view_bundle(self.widget), **NOTHING})
        self._pictures.append(picture)
        return picture

    def close(self) -> None:
        """Take it away: there is nobody left to talk to."""
        for picture in self._pictures:
            picture.update(NOTHING)
        self._forget()

    def refresh(
        self, verb: str, decisions: Decisions | None = None, draft: str | None = None
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
        """
        if draft is not None and draft != self._draft:
            self._draft = draft
            ticker.later(("follow", self), 0.0, self._follow)
        if decisions != self._decisions:
            self._decisions = decisions
            self.decide.later(self._decide)
        if verb != self._verb:
            self._verb = verb
            self._show_verb()
            name = plain(clip(self._lane.name, 60))
            start = "Steer" if verb == "Steer" else "Say something to"
            self.text.placeholder = f"{start} {name} …"

    def _show_verb(self) -> None:
        held = self._held
        unchanged = held is not None and self.text.value == held.text
        verb = held.verb if held is not None and unchanged and self._verb == "Send" else self._verb
        if self.button.description != verb:
            self.button.description = verb

    # -- drafts ----------------------------------------------------------------------------------

    def _own(self) -> str:
        """What a person typed here: not a failed steer's text that stands there as it was."""
        text, held = self.text.value, self._held
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
                self.text.value = draft
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
        if self._held is not None and self._held.key not in undecided:
            self._held = None  # decided elsewhere; what stands in the field stays
        waits = self._put_back()
        beside = [one for one in self._failed.values() if one != self._held]
        self.decide.show(decisions, tuple(beside))
        self._show_verb()
        if waits:
            ticker.later(("decide", self.decide), _LOOK_AGAIN_S, self._decide)

    def _put_back(self) -> bool:
        """Put a failed steer's text into the field; True where it may be possible later."""
        new = [one for one in self._failed.values() if one.whole and one.key not in self._tried]
        if not new or self._held is not None or self.text.value:
            self._tried.update(one.key for one in new if self.text.value)
            return False
        if not cells.quiet(_QUIET_S):
            return True
        message = new[0]
        self._tried.add(message.key)
        self._held = message
        self.text.value = message.text
        self._say(f"Your {message.what} failed, and is back in the box. {message.why}", "snb-bad")
        return False

    # -- what a person does ----------------------------------------------------------------------

    def _message(self, _: object, content: Any, __: object) -> None:
        if isinstance(content, dict) and content.get("event") == "submit":
            self._submit_soon()

    def _submit_soon(self, _: object = None) -> None:
        self._entered = True
        ticker.later(("enter", self), _SETTLE_S, self._settled)

    def _typed(self, _: object) -> None:
        self._keeper.touched()
        if self._entered:
            self._settled()
        elif self._held is not None:
            if not self.text.value:
                self._held = None  # taken out of the field: from now on it stands beside it
            self.decide.later(self._decide)

    def _settled(self) -> None:
        if self._entered:
            self._entered = False
            self._submit()

    def _submit(self) -> None:
        text = self.text.value
        if not text.strip():
            self._say("Type something first.", "snb-hint")
        elif self._sending.acquire(blocking=False):
            self.button.disabled = True
            in_background(lambda: self._send(text), "say")

    def _send(self, text: str) -> None:
        held = self._held
        self._keeper.now()  # until it is on its way it can still be refused, or the kernel die
        self._held, self._outgoing = None, text
        try:
            if held is not None and text == held.text:
                said = sent_words(handle_of(self._lane, held).send_again())
            else:
                said = sent_words(self._lane.send(text))
                if held is not None:
                    self._let_go(held)
        except SteerError as error:
            self._held = held
            self._keeper.touched()  # it stands in the field as before
            self._say(str(error), "snb-bad")
        except BaseException:
            self._say("Not sent: something went wrong here; see the kernel's log.", "snb-bad")
            raise
        else:
            if self.text.value == text:
                self.text.value = ""
            self._say(said, "snb-hint")
        finally:
            self._outgoing = None
            ticker.later(("follow", self), 0.0, self._follow)
            self.button.disabled = False
            self._sending.release()
            self._show_verb()

    def _let_go(self, held: Undecided) -> None:
        """What a person made of a failed steer's text went out: the old text is not offered."""
        try:
            handle_of(self._lane, held).drop()
        except LaneBusy:
            self._failed.pop(held.key, None)  # decided elsewhere in the meantime

    def _say(self, message: str, css: str) -> None:
        html = f'<div class="{css}" role="status" dir="auto">{esc(clip(message, 1000))}</div>'
        self.status.value = html
