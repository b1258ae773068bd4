"""The recorder: gives each message and note its time, and passes it to trace, ledger and journal.

All of it runs on the I/O thread. `Recorder.receive` is the hot path: every event of every lane goes
through it.
"""

from __future__ import annotations

import json
import time
import uuid
from typing import TYPE_CHECKING, Any

import msgspec

from steer_nb._version import __version__
from steer_nb.errors import TraceError
from steer_nb.ledger import Ledger
from steer_nb.trace import SCHEMA, Entry, Header, Trace

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from steer_nb.trace import Journal

__all__ = ["FLUSH_SECONDS", "Recorder"]

FLUSH_SECONDS = 0.2
"""How long a piece of text from the server may wait before it is written to the journal."""


class Recorder:
    """One session's trace, the ledger folded from it, and its journal.

    Parameters
    ----------
    changed : callable
        Called once after each batch of entries, in the loop's next turn.
    trace : Trace, optional
        A trace to go on with.
    dialect : str
        Whose words a new trace is in.

    Attributes
    ----------
    trace : Trace
        Only this object appends to it.
    ledger : Ledger
        The live fold. Only the I/O thread may touch it.
    connection : int
        Number of the connection that messages belong to; 0 before the first.
    """

    def __init__(
        self,
        changed: Callable[[], None],
        trace: Trace | None = None,
        *,
        dialect: str = "responses",
    ) -> None:
        self._began = time.monotonic()
        if trace is None:
            trace = Trace(
                Header(
                    steer_nb=SCHEMA,
                    trace_id=uuid.uuid4().hex,
                    started_at=time.time(),
                    dialect=dialect,
                    version=__version__,
                )
            )
        self.trace = trace
        self.ledger = Ledger(trace, dialect=trace.header.dialect)
        self.connection = max(self.ledger.connections, default=0)
        self.journal: Journal | None = None
        self.dirty = False
        self._changed = changed
        self._loop: asyncio.AbstractEventLoop | None = None
        self._seq = 0
        if trace.entries:
            # The clock goes on from where the trace began; it never goes backwards, even where the
            # machine's own was set back meanwhile.
            last = trace.entries[-1]
            self._seq = last.seq + 1
            age = time.time() - (trace.header.started_at or time.time())
            self._began -= max(age, last.t or 0.0)
        self._flush_due = False
        self._flushed_version = self.ledger.version
        self._journal_fails = False
        self._append = self.trace.entries.append
        self._apply = self.ledger.apply
        self._write: Callable[[Entry], None] = _nowhere

    def start(self, loop: asyncio.AbstractEventLoop, journal: Journal | None) -> None:
        """Begin to record on `loop`, into `journal` too if there is one."""
        self._loop = loop
        self.journal = journal
        if journal is not None:
            self._write = journal.write

    def now(self) -> float:
        """Seconds since the trace started, on the clock of the entries' `t`."""
        return time.monotonic() - self._began

    def receive(self, raw: str | bytes) -> None:
        """Record one message from the server."""
        if type(raw) is bytes:
            self.note(
                "problem", kind="bad_json", detail=f"a binary message of {len(raw)} bytes came"
            )
            raw = raw.decode("utf-8", "replace")
        entry = Entry(
            self._seq,
            time.time(),
            time.monotonic() - self._began,
            "in",
            self.connection,
            raw,  # type: ignore[arg-type]
        )
        self._seq += 1
        self._append(entry)
        self._write(entry)
        if not self.dirty:
            self._mark()
        self._apply(entry)

    def note(self, note: str, **data: Any) -> Entry:
        """Record that something happened here; `data` is copied as the file will have it."""
        return self._record("note", note=note, data=_as_read_back(data))

    def take(self, raw: str, **data: Any) -> Entry:
        """Record a message from the server together with what it does not say itself."""
        return self._record("in", raw=raw, data=data)

    def out(
        self,
        raw: str,
        key: str,
        lane: str | None,
        again: str | None = None,
        repeated: int = 0,
        **more: Any,
    ) -> Entry:
        """Record a request that is about to be written; call `sync` before it is.

        `again` is the key of the earlier message that a person chose to send again in it,
        `repeated` the number of its input items that repeat an earlier conversation, and `more`
        what a service needs to have said beside its messages.
        """
        data: dict[str, Any] = {"key": key, "lane": lane, **more}
        if again is not None:
            data["again"] = again
        if repeated:
            data["repeated"] = repeated
        return self._record("out", raw=raw, data=data)

    def _record(
        self,
        kind: Any,
        *,
        raw: str | None = None,
        note: str | None = None,
        data: dict[str, Any] | None = None,
    ) -> Entry:
        entry = Entry(self._seq, time.time(), self.now(), kind, self.connection, raw, note, data)
        self._seq += 1
        self._append(entry)
        self._write(entry)
        if not self.dirty:
            self._mark()
        self._apply(entry)
        return entry

    def _mark(self) -> None:
        self.dirty = True
        if self._loop is not None:
            self._loop.call_soon(self._batch)

    def _batch(self) -> None:
        self.dirty = False
        if self.ledger.version != self._flushed_version:
            # More than text came: a process that is killed now must not forget it.
            self._flushed_version = self.ledger.version
            self._flush_now()
        elif not self._flush_due and self._loop is not None and self.journal is not None:
            self._flush_due = True
            self._loop.call_later(FLUSH_SECONDS, self._flush)
        self._changed()

    def _flush(self) -> None:
        self._flush_due = False
        self._flush_now()

    def _flush_now(self) -> None:
        if self.journal is None:
            return
        try:
            self.journal.flush()
        except TraceError as error:
            # What the server sends must not stop because a disk is full. It is said once; a
            # message that is to be sent raises instead, and the next flush tries again.
            if not self._journal_fails:
                self._journal_fails = True
                self.note("problem", kind="journal", detail=str(error))
        else:
            self._journal_fails = False

    def sync(self) -> None:
        """Return once everything recorded is on the disk; nothing is sent before.

        Raises
        ------
        TraceError
            If the disk refuses it.
        """
        if self.journal is not None:
            self.journal.sync()

    def close(self) -> None:
        """Write what is left and close the journal."""
        if self.journal is not None:
            journal, self.journal = self.journal, None
            self._write = _nowhere
            try:
                journal.close()
            except TraceError as error:
                self.note("problem", kind="journal", detail=str(error))


def _as_read_back(data: dict[str, Any]) -> dict[str, Any]:
    """`data` as JSON gives it back: a trace equals the one that is loaded from its file."""
    try:
        text = msgspec.json.encode(data)
    except (TypeError, ValueError):
        # Such as half a character in a file's name. A note is never worth a session: it is kept
        # with what can be written of it.
        text = json.dumps(data, ensure_ascii=False, default=repr).encode("utf-8", "replace")
    copy: dict[str, Any] = json.loads(text)
    return copy


def _nowhere(_: Entry) -> None:
    """Without a journal, nothing is written."""
