"""What a run of a tool leaves besides its result: what it printed, and where it failed.

A tool runs on a thread of its own. What such a thread prints goes to whatever cell runs at that
moment; here it stays with the call it belongs to.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import traceback
from collections import deque
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["PRINTED_LIMIT", "Printed", "own_traceback", "printed"]

PRINTED_LIMIT: Final = 32 * 1024
"""How many characters of what a run printed are kept: the last ones."""

_FRAMES: Final = 20
_TRACEBACK_LIMIT: Final = 16 * 1024


class Printed:
    """What one run printed, to stdout and stderr as it came; only the end of it where it is long.

    Examples
    --------
    >>> kept = Printed()
    >>> kept.write("one "), kept.write("two")
    (4, 3)
    >>> kept.text
    'one two'
    """

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._length = 0
        self._left_out = 0
        self._lock = threading.Lock()  # a tool may have threads that share its context

    def write(self, text: str) -> int:
        """Keep `text`, and let go of what is too old."""
        piece = text[-PRINTED_LIMIT:]
        with self._lock:
            self._pieces.append(piece)
            self._length += len(piece)
            self._left_out += len(text) - len(piece)
            while self._length - len(self._pieces[0]) >= PRINTED_LIMIT:
                gone = len(self._pieces.popleft())
                self._length -= gone
                self._left_out += gone
        return len(text)

    @property
    def text(self) -> str:
        """What was printed; a first line says how much of it is not kept."""
        with self._lock:
            whole = "".join(self._pieces)
            left_out = self._left_out + max(len(whole) - PRINTED_LIMIT, 0)
        kept = whole[-PRINTED_LIMIT:]
        return f"… ({left_out:,} characters before this are not kept)\n{kept}" if left_out else kept


_run: ContextVar[Printed | None] = ContextVar("steer_nb_run", default=None)


class _Divided:
    """A stream that keeps a run's own text with the run, and passes on everybody else's.

    It stands in `sys.stdout` only while a tool runs. Whose text it is, the context says: other
    threads have none, code that the tool awaits or sends to `asyncio.to_thread` has the same.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        # A kernel's stream has a cell that it writes to, and here that would be any cell. A
        # terminal has not: what a script's tool prints is seen there as ever.
        self._passes_on = not hasattr(stream, "set_parent")

    def write(self, text: str) -> int:
        run = _run.get()
        if run is not None:
            run.write(text)
            if not self._passes_on:
                return len(text)
        written: int = self._stream.write(text)
        return written

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_dividing = threading.Lock()
_runs = 0


@contextmanager
def printed() -> Iterator[Printed]:
    r"""Keep what is printed in this context, and in no other, until the block ends.

    Threads that the tool starts itself print where they would have printed without this: nothing
    says whose they are, short of replacing `threading.Thread` for everybody. Code that carries the
    context along (`asyncio.to_thread`, ``contextvars.copy_context().run``) is the tool's own.

    Examples
    --------
    >>> with printed() as kept:
    ...     print("Lisbon")
    Lisbon
    >>> kept.text
    'Lisbon\n'
    """
    kept = Printed()
    token = _run.set(kept)
    _divide(+1)
    try:
        yield kept
    finally:
        _divide(-1)
        _run.reset(token)


def _divide(change: int) -> None:
    global _runs  # `sys.stdout` is one for the process, and so are its users
    with _dividing:
        _runs += change
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if _runs and stream is not None and not isinstance(stream, _Divided):
                setattr(sys, name, _Divided(stream))
            elif not _runs and isinstance(stream, _Divided):
                setattr(sys, name, stream._stream)
            # Whoever put a stream of his own there meanwhile takes it away again himself.


_CLIENT: Final = Path(__file__).parent
_OURS: Final = (str(_CLIENT), str(_CLIENT.parent / "wire"), str(Path(asyncio.__file__).parent))


def own_traceback(error: BaseException | None) -> str | None:
    """Write out where a tool failed: the last frames of the person's code, without those before it.

    Parameters
    ----------
    error : BaseException or None
        What the function raised.

    Returns
    -------
    str or None
        As Python prints it, lines of code and no values; None where no frame is the person's.

    Examples
    --------
    >>> def sky():
    ...     raise ValueError("no sky")
    >>> try:
    ...     sky()
    ... except ValueError as error:
    ...     own_traceback(error).splitlines()[-1]
    'ValueError: no sky'
    """
    frames = None if error is None else error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename.startswith(_OURS):
        frames = frames.tb_next
    if error is None or frames is None:
        return None
    try:
        lines = traceback.format_exception(type(error), error, frames, limit=-_FRAMES)
    except Exception:  # noqa: BLE001 - what cannot even be written out; the call still needs its end
        return None
    text = "".join(lines).rstrip("\n")
    return text if len(text) <= _TRACEBACK_LIMIT else "…" + text[-_TRACEBACK_LIMIT:]
