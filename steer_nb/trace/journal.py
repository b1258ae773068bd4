"""The trace on disk: the same entries, as JSON lines.

A journal is what survives a kernel. What a person typed, chose or computed is written to it and
flushed to the disk before it counts as sent; what the service sent is written soon after, in
batches.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from steer_nb.errors import TraceError

if TYPE_CHECKING:
    from os import PathLike

    from steer_nb.trace.entries import Entry, Header
    from steer_nb.trace.log import Trace

__all__ = ["Journal", "journal_path", "write_trace"]

_encoder = msgspec.json.Encoder()


def journal_path(
    directory: str | PathLike[str], name: str, trace_id: str, started_at: float
) -> Path:
    """Where a new session's journal goes: ``<directory>/<UTC time>-<name>-<id>.jsonl``.

    Parameters
    ----------
    directory : str or path-like
        Usually ``.steer`` beside the notebook.
    name : str
        The session's name; characters that a file name may not have become ``_``.
    trace_id : str
        The trace's id; its first eight digits make the name unique.
    started_at : float
        UTC seconds since 1970.
    """
    when = datetime.fromtimestamp(started_at, tz=UTC).strftime("%Y%m%d-%H%M%S")
    safe = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40] or "session"
    return Path(directory) / f"{when}-{safe}-{trace_id[:8]}.jsonl"


class Journal:
    """A trace file that is written while things happen.

    The file is readable by its owner only, and its directory gets a ``.gitignore`` of its own: it
    holds what was said.

    Parameters
    ----------
    path : str or path-like
        A file that must not exist yet.
    header : Header
        Its first line, on disk when the constructor returns.

    Raises
    ------
    TraceError
        If the file exists, or cannot be made.
    """

    def __init__(self, path: str | PathLike[str], header: Header) -> None:
        self.path = Path(path)
        self._waiting: list[Entry] = []
        self._bytes = bytearray(_encoder.encode(header) + b"\n")
        self._file = -1
        try:
            _private_directory(self.path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            self._file = os.open(self.path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            msg = (
                f"The journal {self.path} cannot be made ({error.strerror}). Choose another "
                "directory with journal=..., or go without one with journal=False."
            )
            raise TraceError(msg, path=str(self.path)) from error
        self.sync()
        _sync_directory(self.path.parent)

    @property
    def closed(self) -> bool:
        """Whether it takes no more entries."""
        return self._file < 0

    def write(self, entry: Entry) -> None:
        """Take an entry; it reaches the file with the next `flush` or `sync`."""
        self._waiting.append(entry)

    def flush(self) -> None:
        """Hand everything taken so far to the operating system.

        Raises
        ------
        TraceError
            If the disk refuses it. Nothing is lost: the next call tries the rest again.
        """
        if self.closed:
            return
        if self._waiting:
            self._bytes += _encoder.encode_lines(self._waiting)
            self._waiting = []  # only now: what cannot be encoded must not take others with it
        try:
            while self._bytes:
                written = os.write(self._file, self._bytes)
                del self._bytes[:written]
        except OSError as error:
            msg = f"The journal {self.path} cannot be written ({error.strerror}); free some space."
            raise TraceError(msg, path=str(self.path)) from error

    def sync(self) -> None:
        """Flush, and return once it is on the disk: what is synced survives a power cut."""
        self.flush()
        if self.closed:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            msg = f"The journal {self.path} cannot be flushed to the disk ({error.strerror})."
            raise TraceError(msg, path=str(self.path)) from error

    def close(self) -> None:
        """Write what is left and let go of the file. A second call does nothing."""
        if self.closed:
            return
        try:
            self.sync()
        finally:
            os.close(self._file)
            self._file = -1


def write_trace(trace: Trace, path: str | PathLike[str]) -> str:
    """Write a whole trace beside `path`, then put it in its place in one step."""
    target = Path(path)
    entries = trace.entries[: len(trace.entries)]
    try:
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_encoder.encode(trace.header) + b"\n")
                for start in range(0, len(entries), 4096):
                    file.write(_encoder.encode_lines(entries[start : start + 4096]))
            Path(temporary).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        msg = f"The trace cannot be saved to {target} ({error.strerror}); choose another path."
        raise TraceError(msg, path=str(target)) from error
    return str(target)


def _private_directory(directory: Path) -> None:
    made = not directory.exists()
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    ignore = directory / ".gitignore"
    # A directory that was there before is the person's own, unless it is the usual one.
    if (made or directory.name == ".steer") and not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError:  # some network file systems cannot sync a directory; the file itself is synced
        pass
    finally:
        os.close(handle)
