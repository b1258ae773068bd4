"""All forms that wait for a person, as one thing to display."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from steer_nb.errors import UnknownLane
from steer_nb.widgets.forms.facts import FormFacts, lanes_too_late, parents_waiting
from steer_nb.widgets.forms.static import forms_html, forms_text
from steer_nb.widgets.painter import Picture
from steer_nb.widgets.render import frame
from steer_nb.widgets.text import clip, esc

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
        self._pictures: tuple[Picture, ...] = ()
        self._widget = _stack(forms)
        for form in forms:
            form.when_done.append(self._form_done)

    def __len__(self) -> int:
        return len(self.forms)

    def _facts(self) -> list[FormFacts]:
        # Read anew: a fallback that is made now says what is true now.
        return [replace(form.read(), drafts=form.drafts()) for form in self.forms]

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:  # noqa: ARG002
        from steer_nb.widgets.controls import view_bundle

        facts = self._facts()
        bundle = {"text/html": forms_html(facts), "text/plain": forms_text(facts)}
        if all(_is_over(fact) for fact in facts):
            return bundle  # nothing is left to do here: what was asked and answered is enough
        return {**view_bundle(self._widget), **bundle}

    def _ipython_display_(self) -> None:
        picture = Picture()
        picture.show(self._repr_mimebundle_())
        self._pictures = (*self._pictures, picture)

    def _form_done(self, _: ContinuationForm) -> None:
        # Once all is over the saved notebook gets the last word as HTML.
        if all(form.done for form in self.forms):
            bundle = self._repr_mimebundle_()
            for picture in self._pictures:
                picture.update(bundle)

    def __repr__(self) -> str:
        return forms_text(self._facts())


def _is_over(facts: FormFacts) -> bool:
    """Whether nothing is left to do in a form, nor to be read from its half typed fields."""
    return facts.phase == "committed" or (facts.phase == "closed" and not facts.drafts)


def _stack(forms: tuple[ContinuationForm, ...]) -> Any:
    import ipywidgets as w

    from steer_nb.widgets.controls import box

    return box(w.VBox, [form.widget for form in forms], css="snb-forms")


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
