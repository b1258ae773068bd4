"""The box below a lane: one line of text and a button that says what it will do with it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as w

from steer_nb.client import Steer
from steer_nb.errors import SteerError
from steer_nb.widgets.controls import button, control, line, static, styled, view_bundle
from steer_nb.widgets.painter import NOTHING, Picture
from steer_nb.widgets.text import clip, esc, plain
from steer_nb.widgets.ticker import in_background, ticker

if TYPE_CHECKING:
    from steer_nb.client import Lane

__all__ = ["SayBox"]

# The Enter key's message overtakes the text's: the page sends the text when the key is released.
_ENTER_S: Final = 0.3


class SayBox:
    """Sends what a person types to a lane: a steer while it writes, else its next turn.

    The text travels when a person leaves the field or presses Enter, not at each key: a page holds
    text back while the kernel is busy, and a click that came before it would send half a sentence.

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
            continuous_update=False,
            placeholder=f"Say something to {name} …",
        )
        self.button = button("Send", f"Send to {name}", css="snb-go")
        self.status = static(css="snb-status")
        self.widget = styled([line([self.text, self.button]), self.status], css="snb-say")
        self._pictures: list[Picture] = []
        self._verb = "Send"
        self._entered = False
        self._sending = threading.Lock()
        self.button.on_click(self._clicked)
        self.text.on_msg(self._message)
        self.text.observe(self._typed, names="value")

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

    def refresh(self, verb: str) -> None:
        """Say what the button would do now: `verb` is Send or Steer. Any thread may call this."""
        if verb == self._verb:
            return
        self._verb = verb
        self.button.description = verb
        name = plain(clip(self._lane.name, 60))
        start = "Steer" if verb == "Steer" else "Say something to"
        self.text.placeholder = f"{start} {name} …"

    def _clicked(self, _: object) -> None:
        self._submit()

    def _message(self, _: object, content: Any, __: object) -> None:
        if isinstance(content, dict) and content.get("event") == "submit":
            self._entered = True
            ticker.later(("enter", self), _ENTER_S, self._enter_again)

    def _typed(self, _: object) -> None:
        if self._entered:
            self._entered = False
            self._submit()

    def _enter_again(self) -> None:
        # Enter on a text that had been sent to the kernel before: no change follows.
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
        try:
            sent = self._lane.send(text)
        except SteerError as error:
            self._say(str(error), "snb-bad")
        except BaseException:
            self._say("Not sent: something went wrong here; see the kernel's log.", "snb-bad")
            raise
        else:
            if self.text.value == text:
                self.text.value = ""
            steered = isinstance(sent, Steer)
            self._say("Sent as a steer." if steered else "Sent as the next turn.", "snb-hint")
        finally:
            self.button.disabled = False
            self._sending.release()

    def _say(self, message: str, css: str) -> None:
        self.status.value = f'<div class="{css}" role="status">{esc(message)}</div>'
