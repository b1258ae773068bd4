"""What is taken from one file, while it is read: entries, where each stood, and what was odd."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from steer_nb.trace.entries import SCHEMA, Entry, Header, Problem
from steer_nb.trace.holding import Entries, Lines
from steer_nb.trace.log import Trace
from steer_nb.trace.origin import Places
from steer_nb.trace.readers.packed import PACKED
from steer_nb.wire import decode
from steer_nb.wire.jsonio import shown

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from steer_nb.trace.entries import Kind
    from steer_nb.trace.origin import Origin
    from steer_nb.wire import Event

__all__ = ["Recording", "excerpt", "lane_name", "seconds_of"]

# What a line may be that is no message at all: it could only be kept as an event without a type.
_LOST: Final = frozenset({"bad_json", "not_object", "too_deep"})
_ENDINGS: Final = (".chunks", ".frames", ".meta")
_KEY: Final = re.compile(r"(?i)(?:\bsk-|\bbearer\s+|\bbasic\s+)[\w.~+/=-]{4,}")
_SHOWN: Final = 500


class Recording:
    """The trace that a file becomes.

    Parameters
    ----------
    path : Path
        The file.
    unit : {"line", "entry"}
        What its places count: lines of text, or entries of a list (a cassette's interactions).

    Attributes
    ----------
    lane : str
        How the file names its lanes.
    header : Header or None
        Set where the file has one of its own: then its lines are the entries themselves.
    origin : Origin or None
        Set where the file is a trace that was saved of another recording.
    source : str or None
        Set where what was recorded says more than how it was: the word for the frame `traces`.
    dialect : str
        Whose words its messages are in.
    """

    def __init__(self, path: Path, unit: str = "line") -> None:
        self.path = path
        self.unit = unit
        self.lane = lane_name(path)
        self.header: Header | None = None
        self.origin: Origin | None = None
        self.source: str | None = None
        self.dialect = "responses"
        self.entries = Entries()
        self.problems: list[Problem] = []
        self.connection = 1
        self.started_at: float | None = None
        self._places = Places(unit)
        self._connected = 0
        self._lanes: dict[str, dict[str, Any]] = {}

    def connected(self, url: str = "", at: float | None = None) -> None:
        """Open the connection that what follows came on."""
        self._connected = self.connection
        self._add("note", 0, at, None, note="connected", data={"url": url})

    def closed(
        self,
        reason: str,
        place: int,
        *,
        at: float | None = None,
        t: float | None = None,
        code: int | None = None,
    ) -> None:
        """End the connection: what was running on it is cut off, and the rest is on another."""
        data = {"code": code, "reason": reason, "by": "network"}
        self._add("note", place, at, t, note="closed", data=data)
        self.connection += 1

    def message(
        self,
        kind: Kind,
        raw: str,
        place: int,
        *,
        at: float | None = None,
        t: float | None = None,
        data: dict[str, Any] | None = None,
    ) -> None:
        """Take one message as it travelled."""
        if self._connected != self.connection:
            self.connected()
        self._add(kind, place, at, t, raw=raw, data=data)

    def events(self, lines: list[bytes], first: int, moments: Collection[int]) -> None:
        """Take events without times from lines in a row, as `message` takes one.

        `moments` says which of them folds hold on to.
        """
        if self._connected != self.connection:
            self.connected()
        self.entries.hold(Lines(len(self.entries), self.connection, lines, moments))
        self._places.add(first, len(lines))

    def line(self, line: bytes, place: int, *, torn: bool = False) -> tuple[str, Event] | None:
        """Decode one message from its bytes; None, and a problem, where it is none.

        Returns
        -------
        tuple of str and Event, or None
            The message verbatim, and decoded as an event.
        """
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            text = line.decode(errors="replace")
            if torn or decode(text).problem in _LOST:
                self.odd("truncated" if torn else "bad_json", f"not UTF-8: {error}", place, text)
                return None
            self.odd("encoding", f"not UTF-8, read with U+FFFD in its place: {error}", place, text)
        event = decode(text)
        if event.problem in _LOST:
            what = f"torn last line: {event.detail}" if torn else event.detail
            self.odd("truncated" if torn else str(event.problem), what, place, text)
            return None
        return text, event

    def odd(self, kind: str, detail: str, place: int | None, text: str | None = None) -> None:
        """Keep a note of something odd; `text` is what stands there, of which a piece is kept."""
        if text is not None:
            detail = f"{detail}; it reads {excerpt(text)}"
        if self.unit == "entry" and place:
            detail = f"entry {place}: {detail}"
        self.problems.append(Problem(kind=kind, detail=detail, line=place or None))

    def on_lane(self, name: str, **more: Any) -> dict[str, Any]:
        """What is known locally of a message: its lane; one object for all that share it."""
        if more:
            return {"lane": name, **more}
        return self._lanes.setdefault(name, {"lane": name})

    def trace(self, source: str, identity: str) -> Trace:
        """Finish: the trace of everything that was taken."""
        header = self.header
        if header is None:
            named = self.source or source
            header = Header(SCHEMA, identity, self.started_at, source=named, dialect=self.dialect)
        trace = Trace(header, self.entries)
        trace.file = str(self.path)
        trace.file_problems = tuple(self.problems)
        if self.header is None:
            trace.places = self._places
        if self.origin is not None:
            origin = self.origin
            trace.recording = origin.file
            trace.file_problems = (*origin.problems, *trace.file_problems)
            if origin.unit is not None:
                trace.places = Places(origin.unit, origin.runs, origin.length)
        return trace

    def _add(
        self, kind: Kind, place: int, at: float | None, t: float | None, **fields: Any
    ) -> None:
        if at is not None:
            if self.started_at is None:
                self.started_at = at - (t or 0.0)
            if t is None:
                t = max(0.0, at - self.started_at)
        self.entries.append(Entry(len(self.entries), at, t, kind, self.connection, **fields))
        self._places.add(place)


def lane_name(path: Path) -> str:
    """Name a lane after a file: what is left of its name where a lane may not hold the rest.

    Examples
    --------
    >>> from pathlib import Path
    >>> lane_name(Path("runs/first try.yaml.gz"))
    'first_try'
    """
    name = path.name
    for ending in PACKED:
        name = name.removesuffix(ending)
    name = name.rsplit(".", 1)[0] if "." in name[1:] else name
    for ending in _ENDINGS:
        name = name.removesuffix(ending)
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", name)[:200] or "lane"


def seconds_of(value: object) -> float | None:
    """Read a moment: text of ISO 8601, or seconds or milliseconds since 1970. None for others.

    Examples
    --------
    >>> seconds_of("1970-01-01T00:01:00Z"), seconds_of("yesterday")
    (60.0, None)
    """
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value)
        except ValueError:
            return None
        if found.tzinfo is None:
            found = found.replace(tzinfo=UTC)
        try:
            return found.timestamp()
        except (OverflowError, ValueError):
            return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        if 1e8 < value < 1e11:
            return float(value)
        if 1e11 <= value < 1e14:
            return value / 1000
    return None


def excerpt(text: str) -> str:
    """Show a piece of what could not be read, without what looks like a key.

    Examples
    --------
    >>> excerpt("api_key: sk-abcdefgh, broken")
    "'api_key: (hidden), broken'"
    """
    return shown(_KEY.sub("(hidden)", text[:_SHOWN]), 120)
