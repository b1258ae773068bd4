"""How a trace holds its entries: as objects, or as the lines of the recording they stand in.

Nearly all that a long recording holds are pieces of texts. An object for each, with a text of its
own, takes half as much again as the file; they are looked at once, when they are folded, and hardly
ever again. So they stay what they were read as, and are made entries when somebody asks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import MutableSequence
from itertools import accumulate, repeat
from operator import index as whole_number
from typing import TYPE_CHECKING, overload

from steer_nb.trace.entries import Entry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import SupportsIndex

__all__ = ["BATCH", "Entries", "Lines"]

BATCH = 1 << 13
"""Entries that are made at once where all are gone through: bounds what lives meanwhile."""


class Lines:
    """Events without times, one behind the other on one connection, as the lines they stood in.

    Parameters
    ----------
    seq : int
        The number of the first.
    connection : int
        The connection that they came on.
    lines : list of bytes
        The messages: UTF-8, without a line feed in any of them.
    moments : collection of int
        Which of them are kept as entries, because folds hold on to them: those would live twice.

    Examples
    --------
    >>> lines = Lines(5, 1, [b'{"type":"error"}', b'{"delta":"a"}'], [0])
    >>> len(lines), lines[1].seq, lines[1].raw, lines[0] is lines[0]
    (2, 6, '{"delta":"a"}', True)
    """

    __slots__ = ("_connection", "_ends", "_kept", "_length", "_lines", "_seq")

    def __init__(
        self, seq: int, connection: int, lines: list[bytes], moments: Collection[int] = ()
    ) -> None:
        self._seq = seq
        self._connection = connection
        self._length = len(lines)
        self._kept = {place: self._entry(place, lines[place]) for place in moments}
        if moments:
            lines = lines[:]
            for place in moments:
                lines[place] = b""
        self._lines = b"\n".join(lines)
        self._ends: array[int] | None = None

    def between(self, start: int, stop: int) -> list[Entry]:
        """Make the entries from `start` to before `stop`, which lie within."""
        lines = self._lines.split(b"\n")
        if stop - start < len(lines):
            lines = lines[start:stop]
        numbers = range(self._seq + start, self._seq + stop)
        nothing, kind, connection = repeat(None), repeat("in"), repeat(self._connection)
        raws = map(bytes.decode, lines)
        found = list(map(Entry, numbers, nothing, nothing, kind, connection, raws))
        for place, entry in self._kept.items():
            if start <= place < stop:
                found[place - start] = entry
        return found

    def _entry(self, place: int, line: bytes) -> Entry:
        return Entry(self._seq + place, None, None, "in", self._connection, line.decode())

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> Entry:
        kept = self._kept.get(place)
        if kept is not None:
            return kept
        ends = self._ends
        if ends is None:  # only who asks for single ones needs to know
            lengths = map(len, self._lines.split(b"\n"))
            ends = self._ends = array("Q", accumulate(length + 1 for length in lengths))
        start = ends[place - 1] if place else 0
        return self._entry(place, self._lines[start : ends[place] - 1])


class Entries(MutableSequence[Entry]):
    """The entries of a trace: a list, but for what it takes to hold them.

    What is appended is held as it is. Events of a recording may be held as its `Lines`; an entry of
    those is made each time it is asked for: equal each time, but another object. Whoever changes
    anything but the end gets all of them as objects from then on.

    Parameters
    ----------
    entries : iterable of Entry, optional
        What is in it at first; of other `Entries`, what they hold is shared.

    Examples
    --------
    >>> entry = Entry(seq=0, at=0.0, t=0.0, kind="note", note="session")
    >>> entries = Entries([entry])
    >>> entries.hold(Lines(1, 1, [b"{}", b"{}"]))
    >>> [one.seq for one in entries], entries[-1].raw, entries[:1] == [entry]
    ([0, 1, 2], '{}', True)
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._parts: list[Lines | list[Entry]] = []
        self._starts: list[int] = []
        self._before = 0
        """How many the parts hold together."""
        self._last: list[Entry] = []
        """Those behind the parts: the only ones that become more."""
        if isinstance(entries, Entries):
            self._parts = entries._parts[:]
            self._starts = entries._starts[:]
            self._before = entries._before
            entries = entries._last
        self._last += entries

    def hold(self, lines: Lines) -> None:
        """Add events of a recording as its lines."""
        self._close(self._last)
        self._last = []
        self._close(lines)

    def _close(self, part: Lines | list[Entry]) -> None:
        if len(part):
            self._parts.append(part)
            self._starts.append(self._before)
            self._before += len(part)

    def between(self, start: int, stop: int) -> Iterator[list[Entry]]:
        """Give the entries from `start` to before `stop`, at most `BATCH` at once."""
        for at in range(start, stop, BATCH):
            yield self[at : min(stop, at + BATCH)]

    def copy(self) -> Entries:
        """Give the same entries apart from these: what is added to one is not in the other."""
        return Entries(self)

    def append(self, value: Entry) -> None:
        """Add one at the end."""
        self._last.append(value)

    def extend(self, values: Iterable[Entry]) -> None:
        """Add some at the end."""
        self._last += values[:] if isinstance(values, Entries) else values

    def insert(self, index: SupportsIndex, value: Entry) -> None:
        """Put one before the one at `index`."""
        self._unpacked().insert(index, value)

    def _unpacked(self) -> list[Entry]:
        """All of them as objects in one list."""
        if self._parts:
            self._last, self._before = self[:], 0
            self._parts, self._starts = [], []
        return self._last

    def __len__(self) -> int:
        return self._before + len(self._last)

    def __iter__(self) -> Iterator[Entry]:
        for part in self._parts:
            yield from part if isinstance(part, list) else part.between(0, len(part))
        yield from self._last

    @overload
    def __getitem__(self, index: SupportsIndex) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> list[Entry]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Entry | list[Entry]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return [self[place] for place in range(start, stop, step)]
            return self._slice(start, stop)
        place = whole_number(index)
        if place < 0:
            place += len(self)
        if not 0 <= place < len(self):
            msg = f"There are {len(self)} entries, and none at {whole_number(index)}."
            raise IndexError(msg)
        if place >= self._before:
            return self._last[place - self._before]
        part = bisect_right(self._starts, place) - 1
        return self._parts[part][place - self._starts[part]]

    def _slice(self, start: int, stop: int) -> list[Entry]:
        if start >= self._before:
            return self._last[start - self._before : max(stop, start) - self._before]
        found: list[Entry] = []
        number = bisect_right(self._starts, start) - 1
        while start < min(stop, self._before):
            part, begins = self._parts[number], self._starts[number]
            end = min(stop - begins, len(part))
            if isinstance(part, list):
                found += part[start - begins : end]
            else:
                found += part.between(start - begins, end)
            start = begins + end
            number += 1
        if stop > self._before:
            found += self._last[: stop - self._before]
        return found

    @overload
    def __setitem__(self, index: SupportsIndex, value: Entry) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Entry]) -> None: ...
    def __setitem__(self, index: SupportsIndex | slice, value: Entry | Iterable[Entry]) -> None:
        self._unpacked()[index] = value  # type: ignore[index, assignment]

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        del self._unpacked()[index]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entries | list):
            return NotImplemented
        if len(self) != len(other):
            return False
        # In batches, so that two long ones are not made at once.
        ends = range(0, len(self), BATCH)
        return all(self[at : at + BATCH] == other[at : at + BATCH] for at in ends)

    def __add__(self, other: Sequence[Entry]) -> list[Entry]:
        return [*self, *other]

    def __radd__(self, other: Sequence[Entry]) -> list[Entry]:
        return [*other, *self]

    def __repr__(self) -> str:
        return repr(self[:])
