"""The tables of a trace as DataFrames."""

from __future__ import annotations

import html
import threading
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.errors import UnknownLane
from steer_nb.frames import calls, items, places, responses, steers
from steer_nb.frames.fold import Fold
from steer_nb.frames.keeping import KeptFrame
from steer_nb.frames.schema import SCHEMA_VERSION, TABLES, Table, resolve, table_named
from steer_nb.frames.schema_stream import EventCore
from steer_nb.frames.wide import wide_of
from steer_nb.ledger import DEFAULT_LANE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from steer_nb.frames.columns import Columns
    from steer_nb.trace import Trace

__all__ = ["Frames"]

_ROWS: Final[dict[str, Callable[[Fold], list[dict[str, Any]]]]] = {
    "responses": responses.response_rows,
    "items": items.item_rows,
    "tool_calls": calls.call_rows,
    "steers": steers.steer_rows,
    "required_inputs": steers.required_rows,
    "lanes": places.lane_rows,
    "connections": places.connection_rows,
    "usage": responses.usage_rows,
    "problems": places.problem_rows,
    "traces": places.trace_rows,
}

# What a reader says of a line that it had to leave out.
_LOST: Final = frozenset({"bad_json", "not_object", "too_deep", "truncated"})


class Frames:
    """The tables of a trace, as pandas DataFrames.

    Each table is an attribute and has the same columns and dtypes always, also when it is empty.
    What is returned is yours to change. A trace that is still growing is read further each time a
    table is asked for: old events are not read again, and old rows not made again.

    Parameters
    ----------
    trace : Trace
        Live or loaded.

    Examples
    --------
    >>> from steer_nb.trace import Header, Trace
    >>> frames = Trace(Header(steer_nb=1, trace_id="0" * 32)).frames
    >>> frames.events.shape
    (0, 18)
    >>> frames.steers.dtypes["sent_s"]
    dtype('float64')
    """

    def __init__(self, trace: Trace) -> None:
        self._fold = Fold(trace)
        self._lock = threading.RLock()  # a kernel may ask from several threads
        self._cached_at = -1
        self._rows: dict[str, list[dict[str, Any]]] = {}
        self._frames: dict[tuple[str, ...], pd.DataFrame] = {}
        self._kept: dict[tuple[str, ...], KeptFrame] = {}

    @property
    def events(self) -> pd.DataFrame:
        """Every message in both directions, by `seq`; `EventCore` says what the columns mean."""
        return self.table("events")

    @property
    def responses(self) -> pd.DataFrame:
        """One row for each response: origin, status, times, text, tokens."""
        return self.table("responses")

    @property
    def items(self) -> pd.DataFrame:
        """One row for each output item of a response."""
        return self.table("items")

    @property
    def tool_calls(self) -> pd.DataFrame:
        """One row for each call, and its one result."""
        return self.table("tool_calls")

    @property
    def steers(self) -> pd.DataFrame:
        """One row for each steer: what was said, what became of it, and when."""
        return self.table("steers")

    @property
    def required_inputs(self) -> pd.DataFrame:
        """One row for each result or decision that a response waits for."""
        return self.table("required_inputs")

    @property
    def lanes(self) -> pd.DataFrame:
        """One row for each lane on each connection."""
        return self.table("lanes")

    @property
    def connections(self) -> pd.DataFrame:
        """One row for each socket, from open to close."""
        return self.table("connections")

    @property
    def usage(self) -> pd.DataFrame:
        """Tokens by kind, long, for plots."""
        return self.table("usage")

    @property
    def problems(self) -> pd.DataFrame:
        """What was odd, and kept."""
        return self.table("problems")

    @property
    def traces(self) -> pd.DataFrame:
        """One row for the trace itself."""
        return self.table("traces")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tables."""
        return tuple(TABLES)

    def table(
        self,
        name: str,
        columns: Columns | str | Iterable[str] | None = None,
        *,
        lane: str | None = None,
    ) -> pd.DataFrame:
        """Give one table, with the columns asked for.

        Parameters
        ----------
        name : str
            One of `names`.
        columns : Columns, str or iterable of str, optional
            A group of columns or a sum of groups (``EventCore + EventDelta``); or names of groups
            and columns, as a list or joined by ``+``. By default what the table's property has.
        lane : str, optional
            Only the rows of that lane. The default lane is called ``(default)``.

        Returns
        -------
        DataFrame
            Of the declared dtypes. Its `attrs` say the version of the columns (`schema_version`),
            how many lines of its file could not be read (`dropped`), and how many events are of a
            type that the official SDK does not know (`unknown`).

        Raises
        ------
        UnknownFrame, UnknownColumn, UnknownLane
            No such table, column or lane; each names the ones there are.

        Examples
        --------
        >>> from steer_nb.frames import EventCore, EventDelta
        >>> from steer_nb.trace import Header, Trace
        >>> frames = Trace(Header(steer_nb=1, trace_id="0" * 32)).frames
        >>> frames.table("events", columns=EventCore + EventDelta).columns[-1]
        'delta_json'
        >>> list(frames.table("responses", columns="response_id + status"))
        ['response_id', 'status']
        """
        table = table_named(name)
        chosen = resolve(table, columns)
        with self._lock:
            self._refresh()
            frame = self._frame(table, chosen)
            if lane is not None:
                frame = frame[self._of_lane(table, lane)].reset_index(drop=True)
            return self._hand_out(name, frame, copied=lane is not None)

    def lane_ids(self, lane: str) -> list[str]:
        """Name a lane on each connection that it was used on.

        Raises
        ------
        UnknownLane
            There is no such lane; the message names the ones there are.
        """
        with self._lock:
            self._refresh()
            uses = self._fold.lane_uses
            stream_id = None if lane == DEFAULT_LANE else lane
            found = [self._fold.lane_id(n, name) for n, name in uses if name == stream_id]
        if not found:
            names = dict.fromkeys(DEFAULT_LANE if n is None else n for _, n in uses)
            msg = f"This trace has no lane {lane!r}. Lanes: {', '.join(names) or 'none'}."
            raise UnknownLane(msg)
        return found

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Give the rows of a table other than `events` as dicts of all its columns; to be read."""
        with self._lock:
            self._refresh()
            return self._rows_of(name)

    def wide(self) -> pd.DataFrame:
        """Give the events joined with their response, item and lane: one row for each event.

        Old rows change with what they are joined with (a response's status, say), so the whole is
        joined anew once something is new.

        Returns
        -------
        DataFrame
            The columns of `EventCore` and `EventDelta`, then `stream_id`, ``response_…`` and
            ``item_…`` columns from the other tables.
        """
        with self._lock:
            self._refresh()
            frame = self._frames.get(("wide",))
            if frame is None:
                frame = wide_of(lambda name, cols: self._frame(TABLES[name], cols))
                self._frames["wide",] = frame
            return self._hand_out("wide", frame, copied=False)

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(TABLES)

    def __len__(self) -> int:
        return len(TABLES)

    def __contains__(self, name: object) -> bool:
        return name in TABLES

    def __repr__(self) -> str:
        shapes = self._shapes()
        width = max(map(len, TABLES))
        lines = [
            f"  {name:<{width}}  {rows:>7,} x {columns:<3} {TABLES[name].doc}"
            for name, rows, columns in shapes
        ]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'><code>{name}</code></td><td>{count:,}</td>"
            f"<td>{columns}</td><td style='text-align:left'>{html.escape(TABLES[name].doc)}</td>"
            "</tr>"
            for name, count, columns in self._shapes()
        )
        return (
            f"<table><caption>{html.escape(self._title())}"
            "</caption><thead><tr><th>frame</th><th>rows</th><th>columns</th><th>what it holds</th>"
            f"</tr></thead><tbody>{rows}</tbody></table>"
        )

    # -- how -----------------------------------------------------------------------------------

    def _title(self) -> str:
        return f"Frames of trace {self._fold.trace_id[:8]}"

    def _refresh(self) -> None:
        position = self._fold.catch_up()
        if position != self._cached_at:
            self._rows.clear()
            self._frames.clear()
            self._cached_at = position

    def _shapes(self) -> list[tuple[str, int, int]]:
        with self._lock:
            self._refresh()
            return [
                (
                    name,
                    len(self._fold.events) if name == "events" else len(self._rows_of(name)),
                    len(table.default),
                )
                for name, table in TABLES.items()
            ]

    def _rows_of(self, name: str) -> list[dict[str, Any]]:
        rows = self._rows.get(name)
        if rows is None:
            rows = self._rows[name] = _ROWS[name](self._fold)
        return rows

    def _frame(self, table: Table, columns: Columns) -> pd.DataFrame:
        """A table as it is kept here; it must not leave without `_hand_out`."""
        key = (table.name, *columns.names)
        frame = self._frames.get(key)
        if frame is None:
            if table.name == "events":
                frame = self._events(columns)
            else:
                kept = self._kept.get(key)
                if kept is None:
                    every = table.all
                    kept = self._kept[key] = KeptFrame([every[name] for name in columns.names])
                frame = kept.update(self._rows_of(table.name))
            self._frames[key] = frame
        return frame

    def _events(self, columns: Columns) -> pd.DataFrame:
        core = self._fold.events.frame()
        if columns is EventCore:
            return core
        found: dict[str, Any] = {}
        for group in TABLES["events"].groups:
            wanted = [name for name in group.names if name in columns]
            if wanted:
                source = core if group is EventCore else self._fold.group(group.name).frame()
                found.update({name: source[name] for name in wanted})
        return pd.DataFrame({name: found[name] for name in columns.names}, copy=False)

    def _of_lane(self, table: Table, lane: str) -> Any:
        found = self.lane_ids(lane)
        if "lane_id" not in table.all:
            msg = f"The frame {table.name!r} is not about lanes: ask for it without one."
            raise UnknownLane(msg)
        columns = resolve(table, ("lane_id",))
        return self._frame(table, columns)["lane_id"].isin(found).to_numpy(dtype=bool)

    def _hand_out(self, name: str, frame: pd.DataFrame, *, copied: bool) -> pd.DataFrame:
        if not copied:
            # Copy-on-Write keeps a shallow copy apart from what is kept; older pandas does not.
            frame = frame.copy(deep=not _copies_on_write())
        attrs: dict[Any, Any] = {
            "table": name,
            "trace_id": self._fold.trace_id,
            "schema_version": SCHEMA_VERSION,
            "dropped": sum(p.kind in _LOST for p in self._fold.trace.file_problems),
            "unknown": self._fold.n_unknown,
        }
        if self._fold.trace.file is not None:
            attrs["file"] = self._fold.trace.file
        frame.attrs = attrs
        return frame


def _copies_on_write() -> bool:
    if int(pd.__version__.split(".")[0]) >= 3:
        return True
    return pd.options.mode.copy_on_write is True
