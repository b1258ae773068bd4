"""Pictures in a notebook cell that are replaced while the kernel does something else.

The one way that works on every kernel (measured): the picture is shown once while its cell runs,
with a display id; afterwards ``update_display_data`` messages go straight to the kernel's iopub
socket with that cell's header as their parent. No stream is flushed, no global is set, so this is
safe and cheap on the I/O thread. `print`, `display` and `DisplayHandle.update` are none of these.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ALL_PER_SECOND",
    "CLOCK_S",
    "NOTHING",
    "PER_SECOND",
    "Pacer",
    "Picture",
    "find_kernel",
    "repeat_pictures",
]

PER_SECOND: Final = 10
"""Most messages in a second for one subject (a lane, the board), in all its pictures."""

ALL_PER_SECOND: Final = 50
"""Most messages in a second for all pictures together."""

_MARGIN: Final = 0.95
# Messages are a little early or late on their way: aimed a little lower, the limits hold where they
# count, in the page.

CLOCK_S: Final = 1.0
"""How often a picture is repainted that only its clock changes."""


NOTHING: Final[dict[str, Any]] = {"text/html": "", "text/plain": ""}
"""The bundle of a picture that is taken away."""


def find_kernel() -> Any | None:
    """Return the kernel that this code runs in; None in a script or in a console's IPython."""
    from IPython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    usable = kernel is not None and hasattr(kernel, "iopub_socket") and hasattr(kernel, "session")
    return kernel if usable else None


class Picture:
    """One output of one cell.

    `show` belongs into the running cell; `update` may be called from any thread, also long after.
    Without a kernel, showing is all that happens.
    """

    def __init__(self) -> None:
        self.display_id = f"steer-nb-{uuid.uuid4().hex[:16]}"
        self._kernel: Any | None = None
        self._parent: dict[str, Any] = {}
        self._last: dict[str, Any] | None = None
        self._key: object = None
        self._kept: dict[str, Any] | None = None
        self._lock = threading.Lock()

    def show(
        self, bundle: dict[str, Any], key: object = None, *, beside: Picture | None = None
    ) -> None:
        """Show `bundle` (content by MIME type) in the running cell; in a script, write its text.

        Parameters
        ----------
        bundle : dict
            Content by MIME type.
        key : object, optional
            See `update`.
        beside : Picture, optional
            It is shown in the cell of this one, however long ago that ended; on any thread.
        """
        from IPython import get_ipython
        from IPython.display import display

        if get_ipython() is None:
            sys.stdout.write(f"{bundle['text/plain']}\n")
            return
        self._kernel = find_kernel()
        if self._kernel is not None and beside is None:
            self._parent = _running_cell(self._kernel)
        self._last = self._kept = bundle
        self._key = key
        if beside is not None and beside.live:
            self._kernel, self._parent = beside._kernel, beside._parent
            self._send(self._kernel, bundle, self._parent, "display_data")
            return
        publish: Any = display  # typed in some versions of IPython, untyped in others
        publish(bundle, raw=True, display_id=self.display_id)

    @property
    def live(self) -> bool:
        """Whether `update` reaches anybody."""
        return self._kernel is not None

    def update(self, bundle: dict[str, Any], key: object = None) -> bool:
        """Replace what is shown; nothing is sent where it is the same already.

        Parameters
        ----------
        bundle : dict
            Content by MIME type.
        key : object, optional
            What decides whether it is the same, where that is not its content: the place of the
            progress sign is another in each paint.

        Returns
        -------
        bool
            Whether something was sent.
        """
        # The lock keeps an older picture, repeated on another thread, from being the last sent.
        with self._lock:
            same = bundle == self._last if key is None else key == self._key
            if self._kernel is None or same:
                return False
            self._last, self._key = bundle, key
            self._send(self._kernel, bundle, self._parent)
            _changed.add(self)
        return True

    def repeat(self) -> None:
        """Send the newest content once more, as an output of the cell that runs now.

        nbclient, and with it papermill and nbconvert, saves an update only from the cell that it
        executes at that moment; one that names the cell where the picture stands is dropped.
        """
        with self._lock:
            _changed.discard(self)
            if self._kernel is None or self._last is None or self._last == self._kept:
                return
            self._kept = self._last
            self._send(self._kernel, self._last, _running_cell(self._kernel))

    def _send(
        self,
        kernel: Any,
        bundle: dict[str, Any],
        parent: dict[str, Any],
        kind: str = "update_display_data",
    ) -> None:
        kernel.session.send(
            kernel.iopub_socket,
            kind,
            content={
                "data": bundle,
                "metadata": {},
                "transient": {"display_id": self.display_id},
            },
            parent=parent,
            ident=b"display_data",
        )


# Pictures whose newest content no running cell has repeated yet; they are kept alive for that.
_changed: set[Picture] = set()


def repeat_pictures() -> None:
    """Repeat every picture that changed since: to be called in each cell, at its end."""
    for picture in tuple(_changed):
        picture.repeat()


def _running_cell(kernel: Any) -> dict[str, Any]:
    # The header alone: the whole message would keep the cell's source alive.
    parent = kernel.get_parent("shell")
    return {"header": dict(parent.get("header") or {})}


class _Slots:
    """Moments for painting, shared by all pictures of the process, fair because first come."""

    def __init__(self, per_second: float) -> None:
        self._gap = 1 / per_second
        self._next = 0.0
        self._lock = threading.Lock()

    def take(self, earliest: float, messages: int) -> float:
        """Take the first free moment for so many, not before `earliest`, which is near."""
        with self._lock:
            moment = max(earliest, self._next)
            self._next = moment + self._gap * messages
            return moment


_slots = _Slots(ALL_PER_SECOND * _MARGIN)


class Pacer:
    """Calls ``paint()`` soon after each change, never too often, and always once more at the end.

    Everything here runs on one event loop's thread.

    Parameters
    ----------
    paint : callable
        Draws the newest state. Returns seconds after which to draw again although nothing changed
        (a running clock), or None.

    Attributes
    ----------
    messages : int
        How many messages one paint is expected to send: as many as the one before.
    """

    def __init__(self, paint: Callable[[], float | None]) -> None:
        self.messages = 1
        self._paint = paint
        self._timer: asyncio.TimerHandle | None = None
        self._clock: asyncio.TimerHandle | None = None
        self._earliest = 0.0
        self._stopped = False

    def wake(self) -> None:
        """Something changed: paint soon. Changes until then are drawn by the same paint."""
        if self._stopped or self._timer is not None:
            return
        now = time.monotonic()
        due = _slots.take(max(self._earliest, now), self.messages)
        self._timer = asyncio.get_running_loop().call_later(due - now, self._run)

    def sent(self, messages: int) -> None:
        """Count what a paint has sent: moments that it did not take before are taken now."""
        more = messages - self.messages
        if more > 0:
            _slots.take(time.monotonic(), more)
        self.messages = max(messages, 1)

    def stop(self) -> None:
        """Paint no more."""
        self._stopped = True
        for timer in (self._timer, self._clock):
            if timer is not None:
                timer.cancel()
        self._timer = self._clock = None

    def _run(self) -> None:
        self._timer = None
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None
        again = self._paint()
        # Counted from the end of the paint: one that takes long is done less often.
        self._earliest = time.monotonic() + self.messages / (PER_SECOND * _MARGIN)
        if again is not None and not self._stopped:
            self._clock = asyncio.get_running_loop().call_later(again, self.wake)
