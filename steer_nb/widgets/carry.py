"""A card in pages that its displays do not reach, sent there through the box below it.

What is shown in a cell is updated in the page that ran it. After a reload, or in another tab, a
page shows what was saved last, while a widget lives again (measured in JupyterLab). So the box asks
for the card: a view that no display has reached tells which pictures it sees, and asks for newer
ones where it was told of some and they do not come. Nothing is sent to nobody. The page's half is
carry.js.
"""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from steer_nb.widgets.cells import cells
from steer_nb.widgets.ticker import ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LEASE_S", "Carrier", "Numbers"]

LEASE_S: Final = 20.0
"""A page that does not say for so long that it got what was sent is forgotten; it may ask again."""

_BUSY_LEASE_S: Final = 600.0
"""The same while cells run: what pages say may not be heard meanwhile."""

_QUIET_S: Final = 2.0

_PAGES: Final = 16
"""So many views are sent to, the newest; as many are told that there is something new."""


class Numbers:
    """Numbers the pictures of a card: each that looks different has a higher one than before.

    Attributes
    ----------
    card : str
        The card's own name, by which a box knows it.

    Examples
    --------
    >>> numbers = Numbers()
    >>> numbers.count(["head", "done", "tail"]), numbers.count(["head", "done", "tail 2"])
    ((1, 1, 1), (1, 1, 2))
    """

    def __init__(self) -> None:
        self.card = uuid.uuid4().hex[:12]
        self._newest: tuple[int, ...] = ()
        self._looks: tuple[object, ...] = ()

    def count(self, looks: Sequence[object]) -> tuple[int, ...]:
        """Give the numbers of pictures, by what decides whether they look the same.

        Everything here runs on one thread.
        """
        before = self._looks or (None,) * len(looks)
        old = self._newest or (0,) * len(looks)
        # One more than before, not than the other pictures': each is compared with itself only.
        self._newest = tuple(
            number + (look != was) for number, look, was in zip(old, looks, before, strict=True)
        )
        self._looks = tuple(looks)
        return self._newest


@dataclass(slots=True)
class _Page:
    """A view that asked for pictures."""

    seen: tuple[int, ...]
    unanswered: float | None = None
    """Since when it was sent something and said nothing."""


class Carrier:
    """Sends the pictures of one card to the views of its box that asked for them.

    Parameters
    ----------
    send : callable
        Sends a message to all views of the box; any thread may call it.

    Attributes
    ----------
    wake : callable
        Has the card painted soon, at the pace of all pictures.
    """

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self.wake: Callable[[], object] = lambda: None
        self._send = send
        self._numbers: tuple[int, ...] = ()
        self._draw: Callable[[], Sequence[str]] = tuple
        self._pages: dict[str, _Page] = {}
        self._idle: dict[str, None] = {}
        """Views that looked, and saw the newest."""
        self._over = False
        self._lock = threading.RLock()

    def hear(self, event: object, page: str, seen: object) -> bool:
        """Take what a view tells: whether it was about the card. Any thread may call this.

        Parameters
        ----------
        event : str
            ``look`` (it sees these), ``watch`` (send what is newer; it got these), or ``leave``.
        page : str
            The view.
        seen : list of int
            The numbers of the pictures that it shows; 0 for none.
        """
        if event not in ("look", "watch", "leave"):
            return False
        told = seen if isinstance(seen, list) else []
        sees = tuple(number for number in told if isinstance(number, int))
        with self._lock:
            if len(sees) != len(self._numbers):
                sees = (0,) * len(self._numbers)
            if event == "look":
                self._looks(page, sees)
            else:
                self._idle.pop(page, None)
                self._pages.pop(page, None)
                if event == "watch":
                    self._watches(page, sees)
        return True

    def _looks(self, page: str, sees: tuple[int, ...]) -> None:
        if self._over or any(old < new for old, new in zip(sees, self._numbers, strict=True)):
            self._tell([page])
        else:
            self._idle.pop(page, None)
            self._idle[page] = None
            for old in list(self._idle)[:-_PAGES]:
                del self._idle[old]

    def _watches(self, page: str, sees: tuple[int, ...]) -> None:
        if self._over:  # nobody paints any more
            self._tell([page], self._newer([sees]))
            return
        self._pages[page] = _Page(sees)
        for old in list(self._pages)[:-_PAGES]:
            del self._pages[old]
        if sees != self._numbers:
            ticker.later(("carry", self), 0.0, lambda: self.wake())

    def paint(self, numbers: tuple[int, ...], draw: Callable[[], Sequence[str]]) -> int:
        """Send what is new, in one message, and count the messages.

        Parameters
        ----------
        numbers : tuple of int
            The numbers of the pictures, see `Numbers`.
        draw : callable
            Gives them as HTML; called only where they are sent.
        """
        with self._lock:
            new = numbers != self._numbers
            self._numbers, self._draw = numbers, draw
            sent = 0
            if new and self._idle:
                self._tell(list(self._idle))
                self._idle.clear()
                sent += 1
            now = time.monotonic()
            self._forget(now)
            behind = [page for page in self._pages.values() if page.seen != numbers]
            if behind:
                self._tell(list(self._pages), self._newer([page.seen for page in behind]))
                sent += 1
            for page in behind:
                page.seen = numbers
                page.unanswered = now if page.unanswered is None else page.unanswered
            return sent

    def end(self) -> None:
        """Say that nothing more will come; who asks later is given what was drawn last."""
        with self._lock:
            if not self._over and (self._pages or self._idle):
                self._tell([*self._pages, *self._idle], over=True)
            self._over = True
            self._pages.clear()
            self._idle.clear()

    def _forget(self, now: float) -> None:
        lease = LEASE_S if cells.quiet(_QUIET_S) else _BUSY_LEASE_S
        for name, page in list(self._pages.items()):
            if page.unanswered is not None and now - page.unanswered > lease:
                del self._pages[name]

    def _newer(self, seen: list[tuple[int, ...]]) -> dict[str, str]:
        """Draw the pictures that one of these does not see."""
        drawn = self._draw()
        return {
            str(index): html
            for index, (number, html) in enumerate(zip(self._numbers, drawn, strict=True))
            if any(sees[index] != number for sees in seen if len(sees) == len(drawn))
        }

    def _tell(
        self, pages: list[str], pictures: dict[str, str] | None = None, *, over: bool = False
    ) -> None:
        self._send(
            {
                "pages": pages,
                "paint": list(self._numbers),
                "pictures": pictures,
                "over": over or self._over,
            }
        )
