"""The form for one response that waits: a section for each answer, one button to send them.

What a person types is never lost and the continuation is never doubled:

- Each change is validated at once, and costs nothing else. What is shown is saved after 0.4 s
  without another change, and in any case before sending or closing: saving at each key would write
  a line to the journal for every letter, saving only at the end would lose a long answer with the
  kernel. A valid answer fills its required input; what is not complete is kept as a draft, and an
  answer that was saved before is taken back: what is saved is what is shown.
- The first click on Send takes a lock and disables the button; it is given back only when the
  service, or the session, refuses. From how many displays or forms ever the clicks come, the
  session itself lets one continuation out for each response.
- A page holds typed text back while the kernel is busy, and a click overtakes it. So the click is
  acted upon only after a moment in which no text arrives. Where the page is left before that, the
  row of the button tells what it showed.

Callbacks come on the main thread or on a subshell's, notices on the I/O thread; none of them waits.
They hand over to the ticker or to a thread of their own. No lock is held that the I/O thread takes.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from steer_nb.client import Inject
from steer_nb.errors import SteerError
from steer_nb.widgets.controls import box, static, styled
from steer_nb.widgets.forms.facts import FormFacts, form_facts
from steer_nb.widgets.forms.kinds import make_section
from steer_nb.widgets.forms.results import ResultSection
from steer_nb.widgets.forms.saving import Saving
from steer_nb.widgets.press import Press, PressButton
from steer_nb.widgets.render import head_html
from steer_nb.widgets.text import clip, count, esc, esc_strict, plain, shortened
from steer_nb.widgets.ticker import in_background, ticker

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, Session
    from steer_nb.widgets.forms.section import Section

__all__ = ["ContinuationForm"]

SETTLE_S: Final = 0.25
"""How long a click waits for text that it overtook."""

_REFRESH_S: Final = 0.1


class ContinuationForm:
    """Answers for one response, and the one button that sends them.

    Parameters
    ----------
    session : Session
        The session.
    lane : Lane
        The lane of the response.
    parent_id : str
        The response that waits.

    Attributes
    ----------
    widget : ipywidgets.VBox
        What is displayed; displayed twice, both show the same.
    facts : FormFacts
        What the form shows of the ledger, as it was last read.
    """

    def __init__(self, session: Session, lane: Lane, parent_id: str) -> None:
        self.session = session
        self.lane = lane
        self.parent_id = parent_id
        self.facts = self.read()
        self.sections: dict[str, Section] = {}
        self.when_changed: list[Callable[[], object]] = []
        """Called, on a helper thread, when what the session knows of these answers changed."""
        self.when_done: list[Callable[[ContinuationForm], object]] = []
        """Called, on a helper thread, when nothing can be answered here any more."""
        self._submitting = threading.Lock()
        self._settling = False
        self._in_flight: str | None = None
        self._saving = Saving(lane, parent_id, closed=lambda: self._quiet, gone=self._refresh_soon)
        self._showing = threading.Lock()
        self._quiet = False
        self._head = static()
        self._body = box(w.VBox, [], css="snb-stubs")
        self._status = static(css="snb-status")
        self.send = PressButton(
            "Send continuation", "Send all answers, once", self._send_clicked, css="snb-go"
        )
        self.reveal = PressButton(
            "Show message",
            "Show the exact message that will be sent",
            self._reveal_clicked,
            value=False,
        )
        self.cancel = PressButton(
            "Answer all as cancelled",
            "Fill what is still open with “cancelled by the user”",
            self._cancel_clicked,
        )
        self.foot = Press(self.send, self.reveal, self.cancel, css="snb-foot", follows=".snb-form")
        self._message = static(css="snb-message")
        self.widget = styled(
            [self._head, self._body, self.foot, self._status, self._message], css="snb-form"
        )
        self._show(self.facts)
        self._unsubscribe: Callable[[], None] = session.subscribe(self._noticed)
        self._forget = session.before_close(self._saving.now)
        self._refresh_soon()

    @property
    def done(self) -> bool:
        """Whether nothing can be answered here any more."""
        return self.facts.phase in ("committed", "closed")

    def _all(self) -> list[Section]:
        # A copy: the helper thread may add a section while a callback looks at them.
        return list(self.sections.values())

    # -- what the session says ----------------------------------------------------------------

    def read(self) -> FormFacts:
        """Read the ledger's newest word on this response."""
        ended = self.session.closed
        return self.session.read(lambda ledger: form_facts(ledger, self.parent_id, ended=ended))

    def _noticed(self) -> None:
        # On the I/O thread, after each batch of events. Only what is more than text matters here.
        version = self.session.read(lambda ledger: ledger.version)
        if version != self.facts.version or self.session.closed:
            self._refresh_soon()

    def _refresh_soon(self) -> None:
        ticker.later(("refresh", self), _REFRESH_S, self.refresh)

    def refresh(self) -> None:
        """Read the ledger again and show what changed. Not on the I/O thread."""
        # From the ticker and from threads that send: what is read last must be what is shown last.
        with self._showing:
            self._show(self.read())
            changed = tuple(self.when_changed)
            callbacks: list[Callable[[ContinuationForm], object]] = []
            if self.done:
                unsubscribe, self._unsubscribe = self._unsubscribe, _nothing
                unsubscribe()
                self._forget()
                callbacks, self.when_done = self.when_done, []
        for change in changed:
            change()
        for callback in callbacks:
            callback(self)

    def _show(self, facts: FormFacts) -> None:
        for asked in facts.asked:
            section = self.sections.get(asked.key)
            if section is None:
                self.sections[asked.key] = make_section(asked, self.lane, self._changed)
                self._prepare(self.sections[asked.key])
            else:
                self._saving.refresh(section, asked, facts.version)
        self.facts = facts
        widgets = tuple(section.widget for section in self._all())
        if self._body.children != widgets:
            self._body.children = widgets
        self.foot.keep(control for section in self._all() for control in section.controls())
        _put(self._head, head_html(facts.lane, facts.chip, facts.meta))
        opened = facts.phase == "open"
        if opened and self._in_flight is not None and facts.refused == self._in_flight:
            self._in_flight = None
            self._submitting.release()  # the answers may be changed and sent again
        for section in self._all():
            section.enable(opened and section.asked.state in ("open", "filled"))
        self._quiet = not opened
        self._name_send()
        self._name_cancel()
        self.cancel.disabled = self._quiet
        self.reveal.disabled = self._quiet and not self.reveal.value  # what it shows, it can hide
        self._show_send()
        if facts.note:
            css = {"open": "snb-bad", "closed": "snb-bad"}.get(facts.phase, "snb-ok")
            self._say(shortened(facts.note), css)
        if self.reveal.value:
            self._reveal()

    def _name_send(self) -> None:
        """Say on the button what it does now: inject while the response is written."""
        injects = self.facts.injects
        self.send.description = "Inject" if injects else "Send continuation"
        self.send.tooltip = (
            "Send these answers into the running response, once"
            if injects
            else "Send all answers, once"
        )

    @property
    def _denies(self) -> bool:
        """Whether a call that is not to be run is denied here, and not answered."""
        return any(asked.type.startswith("letta_") for asked in self.facts.asked)

    def _name_cancel(self) -> None:
        """Say on the button what it does: an agent's calls can be denied."""
        denies = self._denies
        self.cancel.description = "Deny all" if denies else "Answer all as cancelled"
        self.cancel.tooltip = (
            "Fill what is still open with a denial: that releases the agent"
            if denies
            else "Fill what is still open with “cancelled by the user”"
        )

    def _show_send(self) -> None:
        """Enable Send where everything needed is valid, and say in words what is missing."""
        facts = self.facts
        needed = [self.sections[asked.key] for asked in facts.needed]
        chosen = needed or self._all()
        valid = sum(section.valid for section in chosen)
        # Each agent goes on with its own answers: what is there can be injected.
        ready = valid == len(chosen) if needed and not facts.injects else valid > 0
        held = self._submitting.locked()
        self.send.disabled = not ready or self._quiet or held or bool(facts.hold)
        parts = [f"{valid} of {len(chosen)} answered"]
        if facts.hold:
            parts.append(facts.hold)
        elif facts.queued and facts.phase == "open":
            steers = count(facts.queued, "queued steer")
            parts.append(f"{steers} will go in front of it")
        elif facts.kept and facts.phase == "open":
            parts.append(f"{count(facts.kept, 'text')} queued here will go behind it")
        self.foot.show(hint=plain(" · ".join(parts)))

    def _say(self, message: str, css: str) -> None:
        html = f'<div class="{css}" role="status" dir="auto">{esc(clip(message, 1000))}</div>'
        _put(self._status, html)

    # -- drafts -------------------------------------------------------------------------------

    def drafts(self) -> dict[str, str]:
        """What is half typed here, by key, with what is missing."""
        return {
            section.key: section.missing
            for section in self._all()
            if section.kept is not None and not section.valid
        }

    def _prepare(self, section: Section) -> None:
        self._saving.add(section)
        if isinstance(section, ResultSection) and section.run_button is not None:
            section.run_button.act = lambda: self._run_clicked(section)

    def _changed(self, section: Section) -> None:
        self._show_send()
        self._saving.touched(section)
        if self._settling:
            # Text that a click overtook: the click waits until no more of it comes.
            ticker.later(("send", self), SETTLE_S, self._send_settled, restart=True)

    # -- buttons --------------------------------------------------------------------------------

    def _send_clicked(self) -> None:
        if not self._submitting.acquire(blocking=False):
            if not self._quiet:
                self._say("It is being sent already; there is one continuation.", "snb-hint")
            return
        self._settling = True
        self.send.disabled = True
        self._say("sending …", "snb-hint")
        ticker.later(("send", self), SETTLE_S, self._send_settled, restart=True)

    def _send_settled(self) -> None:
        self._settling = False
        in_background(self._submit, "send")

    def _submit(self) -> None:
        try:
            for section in self._all():
                if not self._saving.save(section):
                    self._back("Not sent: an answer could not be saved; see there.")
                    return
            waiting = {asked.key for asked in self.facts.needed}
            missing = [s for s in self._all() if not s.valid and s.key in waiting]
            if missing and not self.facts.injects:
                self._back(f"Not sent: {count(len(missing), 'answer')} still missing or not valid.")
                return
            if not any(self._saving.still_asked(section.key) for section in self._all()):
                self._back(f"Not sent: {self.parent_id} does not wait for these answers any more.")
                return
            sent = self.lane.send_continuation()
            if isinstance(sent, Inject):
                self._submitting.release()  # other agents may still ask for something
                self._say("Injected: the agents that waited for it go on.", "snb-ok")
            else:
                self._in_flight = sent.key
        except SteerError as error:
            self._back(str(error))
        except BaseException:
            self._back("Not sent: something went wrong here; see the kernel's log.")
            raise
        else:
            self._refresh_soon()

    def _back(self, message: str) -> None:
        """Nothing was sent: say why, and let it be tried again if it still can."""
        if self._submitting.locked():
            self._submitting.release()
        self.refresh()
        if not self.facts.note:
            self._say(message, "snb-bad")

    def _cancel_clicked(self) -> None:
        self.cancel.disabled = True
        in_background(self._cancel_all, "cancel")

    def _cancel_all(self) -> None:
        try:
            for section in self._all():
                if section.valid:
                    self._saving.save(section)
                else:
                    self._saving.let_go(section)
            if any(self._saving.still_asked(section.key) for section in self._all()):
                self.lane.cancel_all()
            word = "denied" if self._denies else "cancelled"
            self._say(f"Filled as {word}; look it over, then send.", "snb-hint")
        except SteerError as error:
            self._say(str(error), "snb-bad")
        finally:
            self.refresh()

    def _run_clicked(self, section: ResultSection) -> None:
        # Two quick clicks come before the page hears that the button is disabled.
        if section.running.acquire(blocking=False):
            assert section.run_button is not None
            section.run_button.disabled = True
            in_background(lambda: self._run(section), "tool")

    def _run(self, section: ResultSection) -> None:
        try:
            self._saving.let_go(section)
            section.complain(f"{section.asked.name} is running …")
            self.lane.run_tool(section.key)
        except SteerError as error:
            self.refresh()
            section.complain(str(error))
            if section.asked.tool is None:
                section.running.release()  # it never began
        else:
            self.refresh()

    def _reveal_clicked(self) -> None:
        self.reveal.value = not self.reveal.value
        self._reveal()

    def _reveal(self) -> None:
        if not self.reveal.value:
            _put(self._message, "")
            return
        in_background(self._preview, "preview")

    def _preview(self) -> None:
        try:
            text = self.lane.preview_continuation()
        except SteerError as error:
            inner = f'<div class="snb-hint">{esc(str(error))}</div>'
        else:
            inner = f'<div class="snb-call" tabindex="0" dir="ltr">{esc_strict(text)}</div>'
        if self.reveal.value and not self._quiet:
            _put(self._message, inner)

    def __repr__(self) -> str:
        return f"<ContinuationForm for {self.parent_id} on {self.lane.name}: {self.facts.head}>"


def _nothing() -> None:
    """Stands for a subscription that ended."""


def _put(target: w.HTML, html: str) -> None:
    if target.value != html:
        target.value = html
