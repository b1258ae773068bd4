"""How a trace holds its entries: as objects, or as the lines of the recording they stand in.

Nearly all that a long recording holds are pieces of texts. An object for each, with a text of its
own, takes half as much again as the file; they are looked at once, when they are folded, and hardly
ever again. So they stay what they were read as, and are made entries when somebody asks.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import MutableSequence
from dataclasses import dataclass
from itertools import accumulate, repeat
from operator import index as whole_number
from typing import TYPE_CHECKING, Any, Final, Protocol, overload

from steer_nb.trace.entries import Entry
from steer_nb.wire.sizes import utf8_length

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import SupportsIndex

__all__ = ["Batch", "Entries", "Lines", "Some"]

_AT_ONCE: Final = 1 << 11
"""Entries that are looked at together where all are gone through: bounds what lives meanwhile."""


class Some(Protocol):
    """Some entries in a row, of which one can be had at a time."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Entry]: ...
    def __getitem__(self, index: int, /) -> Entry: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Batch:
    """Some entries in a row as columns, so that none has to be made that nobody looks at.

    Attributes
    ----------
    entries : sequence
        They themselves; where they are held as lines, made one by one.
    seqs, at, t, raws : sequence
        Their fields of these names.
    sizes : sequence of int or None
        How many bytes each message has on the wire; None for notes.
    bare : bool
        Whether all are events of one connection, of which nothing is known but the message.
    """

    entries: Some
    seqs: Sequence[int]
    at: Sequence[float | None]
    t: Sequence[float | None]
    raws: Sequence[Any]
    sizes: Sequence[int | None]
    bare: bool = False


def _batch(entries: list[Entry]) -> Batch:
    raws = [entry.raw for entry in entries]
    sizes = [
        (None if entry.kind == "note" else 0)
        if raw is None
        else len(raw)
        if raw.isascii()
        else utf8_length(raw)
        for entry, raw in zip(entries, raws, strict=True)
    ]
    at, t = [entry.at for entry in entries], [entry.t for entry in entries]
    return Batch(entries, [entry.seq for entry in entries], at, t, raws, sizes)


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

    def batch(self, start: int, stop: int) -> Batch:
        """Give what the entries from `start` to before `stop` say, without making them."""
        lines = self._lines.split(b"\n")[start:stop]
        sizes, raws = list(map(len, lines)), list(map(bytes.decode, lines))
        kept: dict[int, Entry] = {}
        for place, entry in self._kept.items():
            if start <= place < stop:
                raw = entry.raw or ""
                kept[place - start] = entry
                raws[place - start], sizes[place - start] = raw, utf8_length(raw)
        first, nothing = self._seq + start, [None] * len(lines)
        made = _Made(first, self._connection, raws, kept)
        seqs = range(first, first + len(lines))
        return Batch(made, seqs, nothing, nothing, raws, sizes, bare=True)

    def _entry(self, place: int, line: bytes) -> Entry:
        return Entry(self._seq + place, None, None, "in", self._connection, line.decode())

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Entry: ...
    @overload
    def __getitem__(self, place: slice) -> list[Entry]: ...
    def __getitem__(self, place: int | slice) -> Entry | list[Entry]:
        if isinstance(place, slice):
            return self._several(place)
        kept = self._kept.get(place)
        if kept is not None:
            return kept
        ends = self._ends
        if ends is None:  # only who asks for single ones needs to know
            lengths = map(len, self._lines.split(b"\n"))
            ends = self._ends = array("Q", accumulate(length + 1 for length in lengths))
        start = ends[place - 1] if place else 0
        return self._entry(place, self._lines[start : ends[place] - 1])

    def _several(self, chosen: slice) -> list[Entry]:
        places = range(self._length)[chosen]
        numbers = range(self._seq, self._seq + self._length)[chosen]
        nothing, kind, connection = repeat(None), repeat("in"), repeat(self._connection)
        raws = map(bytes.decode, self._lines.split(b"\n")[chosen])
        found = list(map(Entry, numbers, nothing, nothing, kind, connection, raws))
        for place, entry in self._kept.items():
            if place in places:
                found[places.index(place)] = entry
        return found


class _Made:
    """Entries that are made when they are looked at."""

    __slots__ = ("_connection", "_kept", "_raws", "_seq")

    def __init__(self, seq: int, connection: int, raws: list[str], kept: dict[int, Entry]) -> None:
        self._seq = seq
        self._connection = connection
        self._raws = raws
        self._kept = kept

    def __len__(self) -> int:
        return len(self._raws)

    def __iter__(self) -> Iterator[Entry]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, place: int) -> Entry:
        return self._kept.get(place) or Entry(
            self._seq + place, None, None, "in", self._connection, self._raws[place]
        )


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
        """Give the entries from `start` to before `stop`, some at a time."""
        for at in range(start, stop, _AT_ONCE):
            yield self[at : min(stop, at + _AT_ONCE)]

    def batches(self, start: int, stop: int) -> Iterator[Batch]:
        """Give what the entries from `start` to before `stop` say, some at a time."""
        for part, begin, end in self._parts_of(start, stop):
            if isinstance(part, Lines):
                yield part.batch(begin, end)
            else:
                for at in range(begin, end, _AT_ONCE):
                    yield _batch(part[at : min(end, at + _AT_ONCE)])

    def _parts_of(self, start: int, stop: int) -> Iterator[tuple[Lines | list[Entry], int, int]]:
        """Which part each stretch of entries is in, from where to where."""
        number = bisect_right(self._starts, start) - 1
        while start < min(stop, self._before):
            part, begins = self._parts[number], self._starts[number]
            end = min(stop - begins, len(part))
            yield part, start - begins, end
            start = begins + end
            number += 1
        if start < stop:
            yield self._last, start - self._before, stop - self._before

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
            yield from part[:]
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
        found: list[Entry] = []
        for part, begin, end in self._parts_of(start, stop):
            found += part[begin:end]
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
        starts = range(0, len(self), _AT_ONCE)
        return all(self[at : at + _AT_ONCE] == other[at : at + _AT_ONCE] for at in starts)

    def __add__(self, other: Sequence[Entry]) -> list[Entry]:
        return [*self, *other]

    def __radd__(self, other: Sequence[Entry]) -> list[Entry]:
        return [*other, *self]

    def __repr__(self) -> str:
        return repr(self[:])
