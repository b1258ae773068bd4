"""All forms that wait for a person, as one thing to display."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from steer_nb.errors import UnknownLane
from steer_nb.widgets.forms.facts import FormFacts, lanes_too_late, parents_waiting
from steer_nb.widgets.forms.static import forms_html, forms_text, record_html
from steer_nb.widgets.painter import NOTHING, Picture, find_kernel
from steer_nb.widgets.render import frame
from steer_nb.widgets.text import clip, esc
from steer_nb.widgets.ticker import ticker

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.client import Lane, Session
    from steer_nb.widgets.forms.form import ContinuationForm

__all__ = ["NothingPending", "PendingForms", "keep_forms", "pending_forms"]


class NothingPending:
    """What is shown where no lane waits for a person.

    Parameters
    ----------
    lane : str, optional
        The lane that was asked about; None: all of them.
    too_late : sequence of str
        Lanes that waited for a person when their connection ended.
    """

    forms: tuple[ContinuationForm, ...] = ()

    def __init__(self, lane: str | None = None, too_late: Sequence[str] = ()) -> None:
        self._text = (
            "No lane waits for an answer." if lane is None else f"Lane {lane} waits for no answer."
        )
        if too_late:
            names = ", ".join(clip(name, 60) for name in too_late[:8])
            self._text += (
                f" When the connection ended, an answer was due on {names}: nothing is sent by "
                "itself, and what you answered is kept. %steer recover takes the session up again "
                "from its journal."
            )

    def __len__(self) -> int:
        return 0

    def _repr_html_(self) -> str:
        return frame(f'<p class="snb-soft">○ {esc(self._text)}</p>', self._text)

    def __repr__(self) -> str:
        return self._text


class PendingForms:
    """One form for each response that waits.

    As a cell's result it is a live widget in a notebook; everywhere else, and in the saved
    notebook, HTML or text that says what was asked and answered. Displayed again, in another cell
    too, it shows the same forms.

    Attributes
    ----------
    forms : tuple of ContinuationForm
        Oldest first.
    """

    def __init__(self, forms: tuple[ContinuationForm, ...]) -> None:
        self.forms = forms
        self._pictures: tuple[tuple[Picture, Picture], ...] = ()
        self._mark = f"snb-kept-{uuid.uuid4().hex[:12]}"
        self._widget = _stack(forms, self._mark)
        self._size = 0
        self._renewing = threading.Lock()
        for form in forms:
            form.when_changed.append(self._later)
            form.when_done.append(self._form_done)

    def __len__(self) -> int:
        return len(self.forms)

    def _facts(self) -> list[FormFacts]:
        # Read anew: a fallback that is made now says what is true now.
        return [replace(form.read(), drafts=form.drafts()) for form in self.forms]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ARG002
        facts = self._facts()
        bundle = {"text/html": forms_html(facts), "text/plain": forms_text(facts)}
        if all(_is_over(fact) for fact in facts):
            return bundle  # nothing is left to do here: what was asked and answered is enough
        return {**self._view(), **bundle}

    def _view(self) -> dict[str, Any]:
        from steer_nb.widgets.controls import view_bundle

        return view_bundle(self._widget)

    def _ipython_display_(self) -> None:
        if find_kernel() is None:
            Picture().show(self._repr_mimebundle_())
            return
        # Two outputs: once its kernel is gone, a page shows nothing of a widget but that it found
        # none. The record in front of it is seen then, and only then.
        record, living = self._bundles()
        pictures = Picture(), Picture()
        pictures[0].show(record)
        pictures[1].show(living)
        self._pictures = (*self._pictures, pictures)
        if self not in _shown:
            _shown.append(self)

    def _bundles(self) -> tuple[dict[str, Any], dict[str, Any]]:
        facts = self._facts()
        text = forms_text(facts)
        if all(_is_over(fact) for fact in facts):
            return {"text/html": forms_html(facts), "text/plain": text}, NOTHING
        journal = self.forms[0].session.journal_path is not None
        html = record_html(facts, self._mark, journal=journal)
        self._size = len(html)
        return {"text/html": html, "text/plain": text}, {**self._view(), **NOTHING}

    def _later(self) -> None:
        """Something was saved: the record says so in a moment. Any thread may call this."""
        if self._pictures and self in _shown:
            delay = _RECORD_S + self._size / _PER_SECOND
            ticker.later(("record", self), delay, self.renew)

    def renew(self) -> None:
        """Bring the records up to date; nothing is sent where they are. Not on the I/O thread."""
        if not self._pictures:
            return
        with self._renewing:  # what was read first must not be sent last
            bundles = self._bundles()
            for pictures in self._pictures:
                for picture, bundle in zip(pictures, bundles, strict=True):
                    picture.update(bundle)

    def _form_done(self, _: ContinuationForm) -> None:
        # Once all is over the saved notebook gets the last word as HTML.
        if all(form.done for form in self.forms):
            self.renew()
            if self in _shown:
                _shown.remove(self)

    def __repr__(self) -> str:
        return forms_text(self._facts())


_RECORD_S: Final = 1.0
"""How long after something was saved the record in the notebook says so."""

_PER_SECOND: Final = 4_000_000
"""Characters of a record that are sent in a second at most: screenshots are long."""

_shown: deque[PendingForms] = deque(maxlen=8)
"""Whose records are kept up to date while forms are open: the newest. All get the last word."""


def _is_over(facts: FormFacts) -> bool:
    """Whether nothing is left to do in a form, nor to be read from its half typed fields."""
    return facts.phase == "committed" or (facts.phase == "closed" and not facts.drafts)


def _stack(forms: tuple[ContinuationForm, ...], mark: str) -> Any:
    import ipywidgets as w

    from steer_nb.widgets.controls import box

    return box(w.VBox, [form.widget for form in forms], css=f"snb-forms {mark}")


_forms: dict[tuple[int, str], ContinuationForm] = {}
_lock = threading.Lock()


def _form(session: Session, lane: Lane, parent_id: str) -> ContinuationForm:
    """Return the response's form, made when first asked for: drafts survive being shown again."""
    from steer_nb.widgets.forms.form import ContinuationForm

    key = (id(session), parent_id)
    with _lock:
        form = _forms.get(key)
        if form is None or form.session is not session:
            form = _forms[key] = ContinuationForm(session, lane, parent_id)
            form.when_done.append(lambda _: _forms.pop(key, None))
        return form


def keep_forms() -> None:
    """Bring every form up to date: what is saved of a session that was closed holds no widget."""
    for form in tuple(_forms.values()):
        form.refresh()
    for forms in tuple(_shown):
        forms.renew()


def pending_forms(session: Session, lane_name: str | None = None) -> PendingForms | NothingPending:
    """Return the forms for everything that waits for a person.

    Parameters
    ----------
    session : Session
        The session.
    lane_name : str, optional
        Only this lane's.

    Raises
    ------
    UnknownLane
        If no lane of that name is open.
    """
    lanes = {lane.stream_id: lane for lane in session.lanes.values()}
    if lane_name is not None and lane_name not in session.lanes:
        known = ", ".join(session.lanes) or "none"
        msg = f"Session {session.name} has no lane {lane_name!r}. Its lanes: {known}."
        raise UnknownLane(msg)
    over = session.closed
    waiting = session.read(lambda ledger: parents_waiting(ledger, lane_name, lost=not over))
    forms = tuple(
        _form(session, lanes[stream_id], parent_id)
        for stream_id, parent_id in waiting
        if stream_id in lanes
    )
    if forms:
        return PendingForms(forms)
    too_late = session.read(lambda ledger: lanes_too_late(ledger, lane_name))
    return NothingPending(lane_name, too_late)
