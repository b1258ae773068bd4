"""The tables of several traces together."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pandas as pd

from steer_nb.errors import UnknownLane
from steer_nb.frames.arrays import frame_of
from steer_nb.frames.base import Frames
from steer_nb.frames.joining import JOINED_TABLES, Joined
from steer_nb.frames.schema import SCHEMA_VERSION, TABLES, resolve, table_named
from steer_nb.frames.wide import wide_of
from steer_nb.ledger import DEFAULT_LANE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from steer_nb.frames.columns import Columns
    from steer_nb.trace import TraceSet

__all__ = ["SetFrames", "joined", "joined_all"]


class SetFrames(Frames):
    """The tables of a set of traces: those of each trace, one behind the other.

    `trace_id` says in each row which trace it is of; `traces` has the file of each. Columns and
    dtypes are those of one trace's tables. What several files of one Letta conversation show of
    one run stands in one row, that of the file in which it begins; `lanes` has a row for each file,
    with what is counted under its `lane_id`; see `steer_nb.frames.joining`.

    Parameters
    ----------
    traces : TraceSet
        The traces.
    together : bool, default True
        Whether files of one Letta conversation are read together.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace, TraceSet
    >>> frames = TraceSet([Trace(Header(1, name * 32)) for name in "ab"]).frames
    >>> frames.traces["trace_id"].str[:2].tolist()
    ['aa', 'bb']
    """

    def __init__(self, traces: TraceSet, *, together: bool = True) -> None:
        self._set = traces
        self._together = together
        self._joined: tuple[tuple[int, ...], Joined] | None = None
        self._lock = threading.RLock()

    def table(
        self,
        name: str,
        columns: Columns | str | Iterable[str] | None = None,
        *,
        lane: str | None = None,
    ) -> pd.DataFrame:
        """Give one table of all traces; see `Frames.table`.

        With `lane` it has the rows of every lane of that name: `lane_id` tells them apart.

        Raises
        ------
        UnknownFrame, UnknownColumn, UnknownLane
            No such table, column or lane; each names the ones there are.
        """
        table = table_named(name)
        chosen = resolve(table, columns)
        with self._lock:
            if name == "events":
                together = self._conversations()
                parts = [
                    together.events(number, trace.frames.table(name, chosen))
                    for number, trace in enumerate(self._set)
                ]
                frame = joined([part for part in parts if len(part)], frame_of(chosen.columns, {}))
            else:
                rows = self.rows(name)
                values = {c.name: [row.get(c.name) for row in rows] for c in chosen.columns}
                frame = frame_of(chosen.columns, values)
            if lane is not None:
                found = set(self.lane_ids(lane))
                if "lane_id" not in table.all:
                    msg = f"The frame {name!r} is not about lanes: ask for it without one."
                    raise UnknownLane(msg)
                where = frame if "lane_id" in chosen else self.table(name, ("lane_id",))
                frame = frame[where["lane_id"].isin(found).to_numpy(dtype=bool)]
                frame = frame.reset_index(drop=True)
            return self._handed_out(name, frame)

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Give the rows of a table other than `events`, trace by trace; to be read."""
        rows: list[dict[str, Any]] = []
        together = self._conversations().rows(name) if name in JOINED_TABLES else {}
        for number, trace in enumerate(self._set):
            rows += together[number] if number in together else trace.frames.rows(name)
        if name == "problems":
            fields = ("file", "line", "kind", "detail")
            own = [{f: getattr(one, f) for f in fields} for one in self._set.file_problems]
            return own + rows
        return rows

    def _conversations(self) -> Joined:
        sizes = tuple(map(len, self._set))
        if self._joined is None or self._joined[0] != sizes:
            self._joined = (sizes, Joined(self._set.traces if self._together else ()))
        return self._joined[1]

    def lane_ids(self, lane: str) -> list[str]:
        """Name a lane of that name in each trace that has one.

        Raises
        ------
        UnknownLane
            None has one.
        """
        found: list[str] = []
        for trace in self._set:
            with suppress(UnknownLane):
                found += trace.frames.lane_ids(lane)
        if not found:
            names = dict.fromkeys(n or DEFAULT_LANE for t in self._set for n in t.ledger.lanes)
            most = ", ".join(list(names)[:20]) or "none"
            msg = f"No trace of this set has a lane {lane!r}. Lanes: {most}."
            raise UnknownLane(msg)
        return found

    def wide(self) -> pd.DataFrame:
        """Give the events of all traces joined with what they belong to; see `Frames.wide`."""
        return self._handed_out("wide", wide_of(self.table, several=True))

    def _title(self) -> str:
        return f"Frames of {len(self._set)} traces"

    def _shapes(self) -> list[tuple[str, int, int]]:
        return [
            (
                name,
                sum(len(trace.frames.events) for trace in self._set)
                if name == "events"
                else len(self.rows(name)),
                len(table.default),
            )
            for name, table in TABLES.items()
        ]

    def _handed_out(self, name: str, frame: pd.DataFrame) -> pd.DataFrame:
        each = [trace.frames.traces.attrs for trace in self._set]
        attrs: dict[Any, Any] = {
            "table": name,
            "schema_version": SCHEMA_VERSION,
            "dropped": sum(attrs["dropped"] for attrs in each),
            "unknown": sum(attrs["unknown"] for attrs in each),
            "n_traces": len(self._set),
        }
        frame.attrs = attrs
        return frame


def joined(parts: list[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    """Put frames of the same columns one behind the other; words that only some have are kept."""
    if not parts:
        return empty
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    for name, dtype in parts[0].dtypes.items():
        if isinstance(dtype, pd.CategoricalDtype):
            _same_words(str(name), parts)
    for part in parts:
        part.attrs = {}
    return pd.concat(parts, ignore_index=True)


def joined_all(parts: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Put frames of the same columns one behind the other; also where all are empty."""
    return joined([part for part in parts if len(part)], parts[0])


def _same_words(name: str, parts: list[pd.DataFrame]) -> None:
    words = dict.fromkeys(word for part in parts for word in part[name].cat.categories)
    if any(len(part[name].cat.categories) < len(words) for part in parts):
        for place, part in enumerate(parts):
            parts[place] = part.assign(**{name: part[name].cat.set_categories(list(words))})
