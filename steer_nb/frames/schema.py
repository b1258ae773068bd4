"""The tables: which there are, what they hold, and which columns each can have."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from steer_nb.errors import UnknownColumn, UnknownFrame
from steer_nb.frames import schema_stream as stream
from steer_nb.frames import schema_turns as turns
from steer_nb.frames.columns import Column, Columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["GROUPS", "SCHEMA_VERSION", "TABLES", "Table", "resolve", "table_named"]

SCHEMA_VERSION: Final = "1"
"""Version of the columns; it grows when a column changes its meaning or goes away."""


@dataclass(frozen=True)
class Table:
    """One table: its name, its groups of columns, and how many of the groups it has by default."""

    name: str
    doc: str
    key: tuple[str, ...]
    groups: tuple[Columns, ...]
    n_default: int

    @cached_property
    def default(self) -> Columns:
        """The columns that it has where none are asked for."""
        return reduce(add, self.groups[: self.n_default])

    @cached_property
    def all(self) -> Columns:
        """Every column that it can have."""
        return reduce(add, self.groups)


def _tables() -> dict[str, Table]:
    # Events are by far the longest table, so the rest of an event is given only when asked for.
    tables = (
        Table(
            "events",
            "every message in both directions, and the ends of connections",
            ("event_id",),
            (stream.EventCore, stream.EventDelta, stream.EventError, stream.EventRaw),
            1,
        ),
        Table(
            "responses",
            "one row for each response: origin, status, times, text, tokens",
            ("trace_id", "response_id"),
            (
                stream.ResponseCore,
                stream.ResponseTimes,
                stream.ResponseText,
                stream.ResponseUsage,
            ),
            4,
        ),
        Table(
            "items",
            "one row for each output item of a response",
            ("trace_id", "response_id", "output_index"),
            (stream.ItemCore, stream.ItemTimes, stream.ItemContent),
            3,
        ),
        Table(
            "tool_calls",
            "one row for each call, and its one result",
            ("trace_id", "response_id", "call_key"),
            (turns.CallCore, turns.CallResult),
            2,
        ),
        Table(
            "steers",
            "one row for each steer: what was said, what became of it, and when",
            ("trace_id", "steer_key"),
            (turns.SteerCore, turns.SteerTimes),
            2,
        ),
        Table(
            "required_inputs",
            "one row for each result or decision that a response waits for",
            ("trace_id", "parent_response_id", "stub_key"),
            (turns.RequiredInputCore, turns.RequiredInputLetta),
            1,
        ),
        Table(
            "lanes",
            "one row for each lane on each connection",
            ("lane_id",),
            (turns.LaneCore,),
            1,
        ),
        Table(
            "connections",
            "one row for each socket, from open to close",
            ("connection_id",),
            (turns.ConnectionCore,),
            1,
        ),
        Table(
            "usage",
            "tokens by kind, long, for plots",
            ("trace_id", "response_id", "kind", "detail"),
            (stream.UsageCore,),
            1,
        ),
        Table("problems", "what was odd, and kept", (), (turns.ProblemCore,), 1),
        Table("traces", "one row for the trace itself", ("trace_id",), (turns.TraceCore,), 1),
    )
    return {table.name: table for table in tables}


TABLES: Final[Mapping[str, Table]] = MappingProxyType(_tables())
"""Every table, by name."""

GROUPS: Final[Mapping[str, Columns]] = MappingProxyType(
    {group.name: group for table in TABLES.values() for group in table.groups}
)
"""Every group of columns, by name."""


def table_named(name: str) -> Table:
    """Return the table of that name.

    Raises
    ------
    UnknownFrame
        There is none; the message names the nearest one, and all of them.
    """
    table = TABLES.get(name) if isinstance(name, str) else None
    if table is None:
        msg = f"There is no frame {name!r}.{_nearest(name, TABLES)} Frames: {', '.join(TABLES)}."
        raise UnknownFrame(msg)
    return table


def resolve(table: Table, columns: Columns | str | Iterable[str] | None) -> Columns:
    """Return the columns that were asked for.

    Parameters
    ----------
    table : Table
        The table.
    columns : Columns, str, iterable of str, or None
        A group or a sum of groups; names of groups and columns, as a list or joined by ``+``; None
        for the default.

    Raises
    ------
    UnknownColumn
        A name is neither, or none; or a group belongs to another table.
    """
    if columns is None:
        return table.default
    if isinstance(columns, Columns):
        if columns.table != table.name:
            msg = (
                f"{columns.name} is a group of {columns.table!r}, not of {table.name!r}, whose "
                f"groups are {_listed(group.name for group in table.groups)}."
            )
            raise UnknownColumn(msg)
        for column in columns:
            _column(table, column.name)
        return columns
    names: list[str]
    if isinstance(columns, str):
        names = columns.split("+")
    else:
        names = list(columns) if isinstance(columns, Iterable) else [columns]
    if not all(isinstance(name, str) for name in names):
        msg = (
            f"columns must be a group, a sum of groups, or names of groups and columns, not "
            f"{columns!r}. Groups of {table.name!r}: {_listed(g.name for g in table.groups)}."
        )
        raise UnknownColumn(msg)
    chosen: dict[str, Column] = {}
    for name in names:
        for column in _named(table, name.strip()):
            chosen.setdefault(column.name, column)
    return Columns(" + ".join(name.strip() for name in names), table.name, tuple(chosen.values()))


def _named(table: Table, name: str) -> Sequence[Column]:
    for group in table.groups:
        if group.name == name:
            return group.columns
    if name in GROUPS:
        return resolve(table, GROUPS[name]).columns  # says which table it belongs to
    return (_column(table, name),)


def _column(table: Table, name: str) -> Column:
    every = table.all
    if name in every:
        return every[name]
    groups = [group.name for group in table.groups]
    msg = (
        f"{table.name!r} has no column {name!r}.{_nearest(name, (*every.names, *groups))} "
        f"Columns: {', '.join(every.names)}. Groups: {', '.join(groups)}."
    )
    raise UnknownColumn(msg)


def _nearest(name: object, names: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name), list(names), n=1, cutoff=0.5)
    return f" Did you mean {close[0]!r}?" if close else ""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
