"""One picture of the present state, and the showings of it that are kept up to date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.widgets import render
from steer_nb.widgets.painter import NOTHING, Picture

if TYPE_CHECKING:
    from steer_nb.widgets.decisions import Decisions
    from steer_nb.widgets.render import Piece

__all__ = ["Drawing", "Showing"]


@dataclass(frozen=True, slots=True)
class Drawing:
    """One picture of the present state, in the pieces that are sent apart from each other."""

    pieces: tuple[Piece, ...]
    text: str
    html: str = ""
    """All of it, where that is not made of the pieces."""
    key: object = None
    """What decides whether that is sent again, where it is not its content."""
    dated: Piece | None = None
    """The first piece with its time, for where no box below keeps it alive after a reload."""
    numbers: tuple[int, ...] = ()
    """Those of the pictures, by which a page tells which it sees."""
    card: str = ""
    """The name of the card that it is a picture of."""
    again: float | None = None
    """After how many seconds it looks different although nothing happened."""
    ended: bool = False
    """Whether nothing more will come."""
    verb: str = ""
    """What a text box below it would do: Send or Steer."""
    cancels: bool = False
    """Whether there is something that the service can be asked to cancel."""
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

    def looks(self) -> tuple[object, ...]:
        """What decides whether each of three pictures is another one."""
        if self.html:
            return (self.key or self.html, "", "")
        return tuple(piece.html if piece.key is None else piece.key for piece in self.pieces)

    def bundles(
        self, show: int | None = None, *, dated: bool = False
    ) -> list[tuple[dict[str, Any], object]]:
        """Content by MIME type of each piece, with what decides whether it is sent again."""
        if self.html:
            return [({"text/html": self.html, "text/plain": self.text}, self.key)]
        pieces = self.pieces
        if dated and self.dated is not None:
            pieces = (self.dated, *pieces[1:])
        return [
            ({"text/html": html, "text/plain": piece.text}, piece.key)
            for piece, html in zip(pieces, self._framed(pieces, show), strict=True)
        ]

    def carried(self) -> list[str]:
        """The three pictures for a page that no display reaches; it knows its showing itself."""
        return [self.html, "", ""] if self.html else self._framed(self.pieces, None)

    def _framed(self, pieces: tuple[Piece, ...], show: int | None) -> list[str]:
        kinds = ("snb-top", "snb-middle", "snb-end")
        heads: tuple[dict[str, Any], ...] = ({"card": self.card, "show": show}, {}, {})
        return [
            render.framed_piece(piece, css, paint=number, **marks)
            for piece, css, number, marks in zip(pieces, kinds, self.numbers, heads, strict=True)
        ]


@dataclass(slots=True, eq=False)
class Showing:
    """The pictures of one showing, which make up one card, and the box below it."""

    number: int
    """Counted for each subject; the page tells by it in which showing a person did something."""
    pictures: tuple[Picture, ...]
    dated: bool = False
    """Whether it says from when it is."""
    below: Picture | None = None

    def send(self, bundles: list[tuple[dict[str, Any], object]]) -> int:
        """Send each picture its part, and count those that were new; the left over are emptied."""
        if not self.pictures:  # the box itself carries them
            return 0
        rest = [(NOTHING, None)] * (len(self.pictures) - len(bundles))
        parts = zip(self.pictures, [*bundles, *rest], strict=True)
        return sum(picture.update(bundle, key) for picture, (bundle, key) in parts)

    def paint(self, drawing: Drawing) -> int:
        """Send it the present state, and count the pictures that are new."""
        return self.send(drawing.bundles(self.number, dated=self.dated))
