"""What one view remembers of the texts that it draws, so that a paint costs what is new.

A text of any length is followed through a window: its end, of a bounded size, that begins at a
line's begin and moves seldom. What lies before it is counted, and looked at once, for fences.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from steer_nb.widgets.markdown import Blocks, fence_after, markdown

if TYPE_CHECKING:
    from steer_nb.ledger.contents import ItemState

__all__ = ["LINES", "Reader", "Window"]

LINES: Final = 500
"""Most lines of one message: short ones make a page of tens of thousands of pixels otherwise."""

_LOOKED_AT: Final = 1024 * 1024
"""So much of what lies before a window is looked at when it begins in the middle of a text."""

_LINE: Final = 2048
"""A line's begin is looked for within so many characters."""


@dataclass(slots=True)
class Window:
    """The end of a text that grows.

    Parameters
    ----------
    cap : int
        Most characters of it.
    """

    cap: int
    text: str = ""
    hidden: int = 0
    """How many characters come before it."""
    fence: str = ""
    """The line that opened the fence in which it begins."""
    html: str | None = None
    """What was drawn of it."""
    _seen: list[tuple[int, list[str], int]] = field(default_factory=list)

    def follow(self, item: ItemState, channel: str) -> None:
        """Take in what was written since; an item's texts are put together from pieces."""
        keys = sorted(key for key in item.parts if key[0] == channel)
        if not self._goes_on(item, keys):
            self._seen, self.text, self.hidden, self.fence, self.html = [], "", 0, "", None
        new: list[str] = []
        for place, key in enumerate(keys):
            pieces = item.parts[key]
            seen = self._seen[place][2] if place < len(self._seen) else 0
            if seen == 0 and place:
                new.append("\n\n")  # another part, with its own words
            new += pieces[seen:]
            self._seen[place : place + 1] = [(key[1], pieces, len(pieces))]
        if new:
            self.feed("".join(new))

    def _goes_on(self, item: ItemState, keys: list[tuple[str, int]]) -> bool:
        """Whether only the last text grew, or another began behind it."""
        if len(keys) < len(self._seen):
            return False
        last = len(self._seen) - 1
        for place, (number, pieces, count) in enumerate(self._seen):
            now = item.parts[keys[place]]
            same = keys[place][1] == number and now is pieces and len(now) >= count
            if not same or (place < last and len(now) != count):
                return False
        return True

    def feed(self, text: str) -> None:
        """Add `text` at the end, and let the oldest go where it is too much."""
        if not text:
            return
        self.html = None
        whole = self.text + text
        cut = cut_at(whole, self.cap)
        if cut:
            gone = whole[max(cut - _LOOKED_AT, 0) : cut]
            self.fence = fence_after(gone, self.fence)
            self.hidden += cut
        self.text = whole[cut:]


def cut_at(text: str, cap: int) -> int:
    r"""Where the end of `text` begins that is shown: 0 where all of it is.

    Examples
    --------
    >>> cut_at("one\ntwo\nthree\n", 100), cut_at("one\ntwo\nthree\n", 9)
    (0, 8)
    """
    many = text.count("\n") >= LINES
    if len(text) <= cap and not many:
        return 0
    # A quarter less than may be shown: the next cut is then far away, and what is drawn stays.
    cut = max(len(text) - cap * 3 // 4, 0)
    if many:
        place = len(text)
        for _ in range(LINES * 3 // 4):
            place = text.rfind("\n", 0, place)
            if place < 0:
                break
        cut = max(cut, place + 1)
    if cut and text[cut - 1] != "\n":
        line = text.find("\n", cut, cut + _LINE)
        cut = line + 1 if line >= 0 else cut
    return cut


@dataclass(slots=True)
class Reader:
    """Windows and drawn blocks of one view. `turn` begins a paint."""

    blocks: Blocks = field(default_factory=Blocks)
    _windows: dict[tuple[ItemState, str, int], Window] = field(default_factory=dict)
    _older: dict[tuple[ItemState, str, int], Window] = field(default_factory=dict)

    def turn(self) -> None:
        """Forget what the paint before did not need."""
        self._older, self._windows = self._windows, {}

    def window(self, item: ItemState, channel: str, cap: int) -> Window:
        """Return the end of one of an item's texts as it is now."""
        key = (item, channel, cap)
        window = self._windows.get(key) or self._older.get(key) or Window(cap)
        self._windows[key] = window
        window.follow(item, channel)
        return window

    def markdown(self, window: Window, cap: int) -> tuple[str, int]:
        """Draw a window, or as much of its end as `cap` allows, and count what is left out."""
        cut = cut_at(window.text, cap) if len(window.text) > cap else 0
        if cut:
            fence = fence_after(window.text[:cut], window.fence)
            return markdown(window.text[cut:], fence, self.blocks), window.hidden + cut
        if window.html is None:
            window.html = markdown(window.text, window.fence, self.blocks)
        return window.html, window.hidden
