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
from steer_nb.trace.origin import origin_of

if TYPE_CHECKING:
    from os import PathLike

    from filelock import BaseFileLock

    from steer_nb.trace.entries import Entry, Header
    from steer_nb.trace.log import Trace

__all__ = ["Journal", "journal_path", "newest_journal", "write_trace"]

_encoder = msgspec.json.Encoder()
_FLAGS = os.O_WRONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


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
        self._prepare(path)
        self._bytes += _encoder.encode(header) + b"\n"
        try:
            _private_directory(self.path.parent)
            self._lock_file()
            self._file = os.open(self.path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            self._unlock()
            msg = (
                f"The journal {self.path} cannot be made ({error.strerror}). Choose another "
                "directory with journal=..., or go without one with journal=False."
            )
            raise TraceError(msg, path=str(self.path)) from error
        self.sync()
        _sync_directory(self.path.parent)

    def _prepare(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.torn = b""
        """What was cut off a journal that was taken up again: the half of a last line."""
        self._waiting: list[Entry] = []
        self._bytes = bytearray()
        self._file = -1
        self._lock: BaseFileLock | None = None

    @classmethod
    def take_up(cls, path: str | PathLike[str]) -> Journal:
        """Go on with a journal that its process left: what comes is written behind what is there.

        A torn last line, as a power cut leaves it, is cut off and kept as `torn`.

        Raises
        ------
        TraceError
            If there is no such file, or a living process still writes it.
        """
        journal = cls.__new__(cls)
        journal._prepare(path)
        try:
            journal._lock_file()
            journal._file = os.open(journal.path, _FLAGS | os.O_APPEND)
            content = journal.path.read_bytes()
            whole = content.rfind(b"\n") + 1
            journal.torn = content[whole:]
            if journal.torn:
                os.truncate(journal.path, whole)
        except OSError as error:
            journal._unlock()
            msg = f"The journal {journal.path} cannot be taken up ({error.strerror})."
            raise TraceError(msg, path=str(journal.path)) from error
        return journal

    def _lock_file(self) -> None:
        # Two kernels that write one journal would mix up two sessions. The lock goes with the
        # process that holds it, however that ends.
        from filelock import FileLock, Timeout

        lock = FileLock(f"{self.path}.lock", timeout=0, thread_local=False, mode=0o600)
        try:
            lock.acquire()
        except Timeout as error:
            msg = (
                f"The journal {self.path} is being written by another process: that session is "
                "still open there. Close it, or restart that kernel."
            )
            raise TraceError(msg, path=str(self.path)) from error
        self._lock = lock

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

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
            self._unlock()


def newest_journal(directory: str | PathLike[str]) -> Path:
    """The journal in a directory that was written to last.

    Raises
    ------
    TraceError
        If there is none.
    """
    found = list(Path(directory).glob("*.jsonl"))
    if not found:
        msg = (
            f"There is no journal in {directory}. Name the file, or the directory, that a session "
            "wrote its journal to."
        )
        raise TraceError(msg, path=str(directory))
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def write_trace(trace: Trace, path: str | PathLike[str]) -> str:
    """Write a whole trace beside `path`, then put it in its place in one step."""
    target = Path(path)
    end = len(trace.entries)
    origin = origin_of(trace)
    try:
        handle, temporary = tempfile.mkstemp(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part"
        )
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_encoder.encode(trace.header) + b"\n")
                if origin is not None:
                    file.write(_encoder.encode(origin) + b"\n")
                for batch in trace.entries.between(0, end):
                    file.write(_encoder.encode_lines(batch))
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
