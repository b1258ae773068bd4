"""Live pictures in a cell: a lane as it streams, the board of all lanes.

Shown once while their cell runs, repainted from the I/O thread for as long as the lane or the
session is open; the newest picture of each stays in a saved notebook.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from steer_nb.ledger import rules
from steer_nb.ledger.state import LaneState
from steer_nb.widgets import render
from steer_nb.widgets.decisions import to_decide
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
    from steer_nb.widgets.decisions import Decisions
    from steer_nb.widgets.render import Piece
    from steer_nb.widgets.saybox import SayBox

__all__ = ["BoardView", "LaneView", "keep_pictures"]

MOST_PICTURES: Final = 3
"""How many showings of one lane are kept up to date; older ones say that it goes on elsewhere."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture of the present state, in the pieces that are sent apart from each other."""

    pieces: tuple[Piece, ...]
    text: str
    html: str = ""
    """All of it, where that is not made of the pieces."""
    again: float | None = None
    """After how many seconds it looks different although nothing happened."""
    ended: bool = False
    """Whether nothing more will come."""
    verb: str = ""
    """What a text box below it would do: Send or Steer."""
    decisions: Decisions | None = None
    """What is to decide on the lane."""
    draft: str = ""
    """What is half typed in the box below it."""

    def whole(self) -> str:
        """All of it as one HTML fragment."""
        if self.html:
            return self.html
        inner = "".join(piece.html for piece in self.pieces)
        return render.frame(f'<div class="snb-card">{inner}</div>', self.pieces[0].label)

    def bundles(self, show: int | None = None) -> list[tuple[dict[str, Any], object]]:
        """Content by MIME type of each piece, with what decides whether it is sent again."""
        if self.html:
            return [({"text/html": self.html, "text/plain": self.text}, None)]
        return [
            (
                {
                    "text/html": render.framed_piece(piece, css, show=show),
                    "text/plain": piece.text,
                },
                piece.key,
            )
            for piece, css in zip(self.pieces, ("snb-top", "snb-middle", "snb-end"), strict=True)
        ]


@dataclass(slots=True, eq=False)
class Showing:
    """The pictures of one showing, which make up one card, and the box below it."""

    number: int
    """Counted for each subject; the page tells by it in which showing a person did something."""
    pictures: tuple[Picture, ...]
    below: Picture | None = None

    def send(self, bundles: list[tuple[dict[str, Any], object]]) -> int:
        """Send each picture its part, and count those that were new; the left over are emptied."""
        rest = [(NOTHING, None)] * (len(self.pictures) - len(bundles))
        parts = zip(self.pictures, [*bundles, *rest], strict=True)
        return sum(picture.update(bundle, key) for picture, (bundle, key) in parts)

    def paint(self, drawing: Drawing) -> int:
        """Send it the present state, and count the pictures that are new."""
        return self.send(drawing.bundles(self.number))


class _Stage:
    """The showings of one subject, drawn once for all of them."""

    def __init__(
        self, session: Session, subject: object, name: str, draw: Callable[..., Drawing]
    ) -> None:
        self.session = session
        self.showings: tuple[Showing, ...] = ()
        self.box: SayBox | None = None
        self._numbers = itertools.count(1)
        self.key = (session, subject)
        self._name = name
        self._draw = draw
        self._pacer = Pacer(self._paint)
        self._unsubscribe: Callable[[], None] | None = None
        self._lock = threading.Lock()

    def drawing(self, left: str = "") -> Drawing:
        """Draw the present state; works on any thread."""
        now = self.session.now()
        return self.session.read(lambda ledger: self._draw(ledger, now, left=left))

    def show(self, beside: Picture | None = None) -> Drawing:
        """Show it in the running cell too, or in the cell of another picture."""
        drawing = self.drawing()
        if find_kernel() is None:  # nothing will change it: it is one picture
            Picture().show({"text/html": drawing.whole(), "text/plain": drawing.text})
            return drawing
        number = next(self._numbers)
        bundles = drawing.bundles(number)
        showing = Showing(number, tuple(Picture() for _ in bundles))
        for picture, (bundle, key) in zip(showing.pictures, bundles, strict=True):
            picture.show(bundle, key, beside=beside)
        if drawing.ended:
            return drawing
        with self._lock:
            kept = (*self.showings, showing)
            self.showings = kept[-MOST_PICTURES:]
            self._pacer.messages = sum(len(one.pictures) for one in self.showings)
            if self._unsubscribe is None:
                self._unsubscribe = self.session.subscribe(self._pacer.wake)
                _stages[self.key] = self
        for old in kept[:-MOST_PICTURES]:
            old.send([(_moved_on(self._name), None)])
            if old.below is not None:
                old.below.update(NOTHING)
        # What happened between the first picture and the subscription is drawn by this.
        self.session.read(lambda _: self._pacer.wake())
        return drawing

    def stop(self, left: str = "") -> None:
        """Leave the pictures as they are from now on. Runs on the I/O thread.

        Where `left` is given, a person wants that, and they say since when.
        """
        if left and self.showings:
            session, subject = self.key
            _left.setdefault(session, {})[subject] = left
            drawing = self.drawing(left)
            for showing in self.showings:
                showing.paint(drawing)
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
            drawing = _broken(self._name, error)
        self._pacer.sent(sum(showing.paint(drawing) for showing in self.showings))
        if self.box is not None:
            self.box.refresh(drawing.verb, drawing.decisions, drawing.draft)
        if drawing.ended:
            self.stop()
            return None
        return drawing.again


_stages: dict[tuple[Session, object], _Stage] = {}

# Since when nobody watches a subject, by a person's word.
_left: WeakKeyDictionary[Session, dict[object, str]] = WeakKeyDictionary()


def keep_pictures() -> None:
    """Bring every picture up to date in what is saved of the running cell; see `Picture.repeat`."""
    for stage in tuple(_stages.values()):
        stage.refresh()
    repeat_pictures()


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
        stage, left = self._stage, time.strftime("%H:%M:%S")
        stage.session.read(lambda _: stage.stop(left))

    def _ipython_display_(self) -> None:
        self.show()

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self._stage.drawing().text


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
            parts = render.lane_parts(ledger, state, now, reader=reader, whole=True, left=left)
            return Drawing(
                (parts.head, parts.done, parts.tail),
                render.lane_plain(ledger, state, now),
                again=CLOCK_S if working(state) else None,
                ended=session.closed or state.closed is not None,
                verb="Steer" if rules.may_steer(state) is None else "Send",
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

    def _show(self, beside: Picture | None = None) -> None:
        stage = self._stage
        drawing = stage.show(beside)
        left = _left.get(self.lane.session, {}).pop(stage.key[1], "")
        if not self.interactive or not stage.showings:
            return
        if stage.box is None:
            from steer_nb.widgets.saybox import SayBox

            said = f"Watched again; it was not since {left}." if left else ""
            stage.box = SayBox(self.lane, self.stop, self._show_fork, said=said)
        stage.box.refresh(drawing.verb, drawing.decisions, drawing.draft)
        stage.showings[-1].below = stage.box.show(beside)

    def _show_fork(self, fork: Lane, number: int) -> bool:
        """Show another lane below that showing of this one; whether there is such a place."""
        stage = self._stage
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
            return Drawing(
                (),
                render.board_plain(ledger, now),
                html=render.board(ledger, now, left=left),
                again=None if session.closed else render.board_again(ledger, now),
                ended=session.closed,
            )

        super().__init__(session, "board", "The board", draw)

    def __repr__(self) -> str:
        return f"<BoardView of {self._stage.session.name}>"
