"""Live pictures in a cell: a lane as it streams, the board of all lanes.

Shown once while their cell runs, repainted from the I/O thread for as long as the lane or the
session is open; the newest picture of each stays in a saved notebook.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from steer_nb.ledger import rules
from steer_nb.ledger.state import LaneState
from steer_nb.widgets import render
from steer_nb.widgets.carry import Numbers
from steer_nb.widgets.decisions import to_decide
from steer_nb.widgets.drawing import Drawing, Showing
from steer_nb.widgets.painter import (
    CLOCK_S,
    NOTHING,
    Pacer,
    Picture,
    find_kernel,
    repeat_pictures,
)
from steer_nb.widgets.reading import Reader
from steer_nb.widgets.text import clip, esc, esc_strict
from steer_nb.widgets.words import working

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, Session
    from steer_nb.ledger import Ledger
    from steer_nb.widgets.saybox import SayBox

__all__ = ["BoardView", "LaneView", "keep_pictures"]

MOST_PICTURES: Final = 3
"""How many showings of one lane are kept up to date; older ones say that it goes on elsewhere."""


class _Stage:
    """The showings of one subject, drawn once for all of them."""

    def __init__(
        self, session: Session, subject: object, name: str, draw: Callable[..., Drawing]
    ) -> None:
        self.session = session
        self.showings: tuple[Showing, ...] = ()
        self.box: SayBox | None = None
        self._showing = itertools.count(1)
        self._numbers = Numbers()
        self.key = (session, subject)
        self._name = name
        self._draw = draw
        self._pacer = Pacer(self._paint)
        self._unsubscribe: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def drawing(self, left: str = "") -> Drawing:
        """Draw the present state; works on any thread."""
        now = self.session.now()
        return self.session.read(lambda ledger: self._numbered(self._draw(ledger, now, left=left)))

    def _numbered(self, drawing: Drawing) -> Drawing:
        numbers = self._numbers.count(drawing.looks())
        return replace(drawing, numbers=numbers, card=self._numbers.card)

    def show(
        self, beside: Picture | None = None, *, dated: bool = True, within: bool = False
    ) -> Drawing:
        """Show it in the running cell too, or in the cell of another picture.

        Where it is shown `within` a box, that carries its pictures; they are no displays.
        """
        drawing = self.drawing()
        if find_kernel() is None:  # nothing will change it: it is one picture
            Picture().show({"text/html": drawing.whole(), "text/plain": drawing.text})
            return drawing
        number = next(self._showing)
        bundles = [] if within else drawing.bundles(number, dated=dated)
        showing = Showing(number, tuple(Picture() for _ in bundles), dated)
        for picture, (bundle, key) in zip(showing.pictures, bundles, strict=True):
            picture.show(bundle, key, beside=beside)
        if drawing.ended:
            return drawing
        with self._lock:
            kept = (*self.showings, showing)
            self.showings = kept[-MOST_PICTURES:]
            self._pacer.messages = sum(len(one.pictures) for one in self.showings) or 1
            if self._unsubscribe is None:
                self._unsubscribe = self.session.subscribe(self._pacer.wake)
                _stages[self.key] = self
        for old in kept[:-MOST_PICTURES]:
            old.send([(_moved_on(self._name), None)])
            if old.below is not None:
                old.below.update(NOTHING)
        # What happened between the first picture and the subscription is drawn by this.
        self.wake()
        return drawing

    def wake(self) -> None:
        """Paint soon; any thread may call this."""
        self.session.read(lambda _: self._pacer.wake())

    def stop(self, left: str = "") -> None:
        """Leave the pictures as they are from now on. Runs on the I/O thread.

        Where `left` is given, a person wants that, and they say since when.
        """
        if left and self.showings:
            session, subject = self.key
            _left.setdefault(session, {})[subject] = left
            drawing = self.drawing(left)
            self._send(drawing)
        with self._lock:
            _stages.pop(self.key, None)
            unsubscribe, self._unsubscribe = self._unsubscribe, None
            self.showings = ()
            self._pacer.stop()
            self._pacer = Pacer(self._paint)  # it may be shown again
            box, self.box = self.box, None
        if unsubscribe is not None:
            unsubscribe()
        if box is not None:
            box.close()

    def refresh(self) -> None:
        """Paint now; on any thread, returns when it is done."""
        self.session.read(lambda _: self._paint())

    def _paint(self) -> float | None:
        """Send what is new. Runs on the I/O thread."""
        try:
            drawing = self.drawing()
        except Exception as error:  # noqa: BLE001 - shown where a person looks, not in a log
            drawing = self._numbered(_broken(self._name, error))
        self._pacer.sent(self._send(drawing))
        if self.box is not None:
            self.box.refresh(
                drawing.verb, drawing.decisions, drawing.draft, cancels=drawing.cancels
            )
        if drawing.ended:
            self.stop()
            return None
        return drawing.again

    def _send(self, drawing: Drawing) -> int:
        """Send what is new to each showing, and to pages that no display reaches; count it."""
        sent = sum(showing.paint(drawing) for showing in self.showings)
        if self.box is not None:
            sent += self.box.field.carrier.paint(drawing.numbers, drawing.carried)
        return sent


_stages: dict[tuple[Session, object], _Stage] = {}

# Since when nobody watches a subject, by a person's word.
_left: WeakKeyDictionary[Session, dict[object, str]] = WeakKeyDictionary()


def keep_pictures() -> None:
    """Bring every picture up to date in what is saved of the running cell; see `Picture.repeat`."""
    for stage in tuple(_stages.values()):
        stage.refresh()
    repeat_pictures()


def _clock() -> str:
    """The time on the clock, as pictures say it."""
    return time.strftime("%H:%M:%S")


def _moved_on(name: str) -> dict[str, Any]:
    text = f"{clip(name, 120)} is shown again further on; this picture no longer changes."
    inner = f'<p class="snb-note">{esc_strict(text)}</p>'
    return {"text/html": render.frame(inner, text), "text/plain": text}


def _broken(name: str, error: Exception) -> Drawing:
    text = f"This view of {name} cannot be drawn ({type(error).__name__}: {error})."
    html = render.frame(f'<div class="snb-error">{esc(text)}</div>', "A view that cannot be drawn")
    return Drawing((), text, html=html)


class _View:
    """What lane view and board have in common."""

    def __init__(
        self, session: Session, subject: object, name: str, draw: Callable[..., Drawing]
    ) -> None:
        self._own = _Stage(session, subject, name, draw)

    @property
    def _stage(self) -> _Stage:
        """The one on which its subject is shown now; its own, where it is not shown anywhere."""
        return _stages.get(self._own.key, self._own)

    @property
    def html(self) -> str:
        """The present picture as an HTML fragment."""
        return self._stage.drawing().whole()

    def show(self) -> None:
        """Show it in the running cell; in a kernel it goes on changing after the cell ended.

        After `stop` it is watched again, in this cell: what stands elsewhere stays as it is.
        """
        self._stage.show()

    def stop(self) -> None:
        """Stop watching: the pictures stay as they are, and say so. Nothing is closed."""
        stage, left = self._stage, _clock()
        stage.session.read(lambda _: stage.stop(left))

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self._stage.drawing().text


def _verb(ledger: Ledger, lane: LaneState) -> str:
    """What becomes of text that is said on a lane now."""
    if not ledger.dialect.steers:
        return "Send" if rules.lane_word(lane) in ("idle", "failed") else "Queue"
    return "Steer" if rules.may_steer(lane) is None else "Send"


def _cancels(ledger: Ledger, lane: LaneState) -> bool:
    """Whether a cancel stops what is written, or releases what waits: see `Lane.cancel`."""
    if not ledger.dialect.cancels:
        return False
    default = lane.settings.get("conversation") == "default"
    return lane.current is not None or (default and rules.parent_waiting(lane) is not None)


class LaneView(_View):
    """A lane in a cell: its state, what is being written, its steers, what it waits for.

    Parameters
    ----------
    session : Session
        The session of the lane.
    lane : Lane
        The lane.
    interactive : bool
        Whether a box to send and steer stands below it, in a kernel. The box also keeps what a
        reader unfolds, selects, scrolls and focuses in the card, when that is painted anew.

    Examples
    --------
    As the last line of a cell::

        LaneView(session, session.lane("planner"))
    """

    def __init__(self, session: Session, lane: Lane, *, interactive: bool = True) -> None:
        stream_id = lane.stream_id

        reader = Reader()

        def draw(ledger: Ledger, now: float, left: str = "") -> Drawing:
            state = ledger.lanes.get(stream_id) or LaneState(stream_id=stream_id)
            reader.turn()
            parts = render.lane_parts(
                ledger, state, now, reader=reader, whole=True, left=left, clock=_clock()
            )
            return Drawing(
                (parts.head, parts.done, parts.tail),
                render.lane_plain(ledger, state, now),
                dated=parts.dated,
                again=CLOCK_S if working(state) else None,
                ended=session.closed or state.closed is not None,
                verb=_verb(ledger, state),
                cancels=_cancels(ledger, state),
                decisions=to_decide(ledger, state),
                draft=state.draft,
            )

        super().__init__(session, ("lane", stream_id), lane.name, draw)
        self.lane = lane
        self.interactive = interactive

    def show(self) -> None:
        """Show it in the running cell; in a kernel it goes on changing after the cell ended.

        After `stop` it is watched again, in this cell, and the box says so: what stands elsewhere
        stays as it is.
        """
        self._show()

    def _show(self, beside: Picture | None = None, within: SayBox | None = None) -> None:
        stage = self._stage
        drawing = stage.show(beside, dated=not self.interactive, within=within is not None)
        left = _left.get(self.lane.session, {}).pop(stage.key[1], "")
        if not self.interactive or not stage.showings:
            return
        if stage.box is None:
            from steer_nb.widgets.saybox import SayBox

            said = f"Watched again; it was not since {left}." if left else ""
            box = SayBox(self.lane, self.stop, self._show_fork, said=said)
            box.field.show(card=drawing.card)
            box.field.carrier.wake = stage.wake
            box.field.carrier.paint(drawing.numbers, drawing.carried)
            stage.box = box
            stage.wake()  # what was painted meanwhile was painted without it
        stage.box.refresh(drawing.verb, drawing.decisions, drawing.draft, cancels=drawing.cancels)
        if within is not None:
            within.hold(stage.box)
        else:
            stage.showings[-1].below = stage.box.show(beside)

    def _show_fork(self, fork: Lane, number: int) -> bool:
        """Show another lane below that showing of this one; whether there is such a place.

        Number 0 is a page where no display is known to arrive, which would drop what comes late
        for a cell: there it stands within this one's box.
        """
        stage = self._stage
        if number == 0 and stage.box is not None:
            LaneView(fork.session, fork)._show(within=stage.box)
            return True
        found = [showing for showing in stage.showings if showing.number == number]
        for showing in (*found, *stage.showings[-1:])[:1]:
            LaneView(fork.session, fork)._show(showing.pictures[0])
            return True
        return False

    def __repr__(self) -> str:
        return f"<LaneView of {self.lane.name}>"


class BoardView(_View):
    """All lanes of a session at a glance, those first that need a person.

    Parameters
    ----------
    session : Session
        The session.
    """

    def __init__(self, session: Session) -> None:
        def draw(ledger: Ledger, now: float, left: str = "") -> Drawing:
            dated = "" if left else render.as_of(_clock())
            html = render.board(ledger, now, left=left, dated=dated)
            return Drawing(
                (),
                render.board_plain(ledger, now),
                html=html,
                key=html.replace(dated, "") if dated else None,
                again=None if session.closed else render.board_again(ledger, now),
                ended=session.closed,
            )

        super().__init__(session, "board", "The board", draw)

    def __repr__(self) -> str:
        return f"<BoardView of {self._stage.session.name}>"
