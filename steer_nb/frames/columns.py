"""Columns as declared values: a name, a dtype and what it means, in groups that can be added.

Every dtype here is one fixed object, so that a column has the same dtype in an empty frame and in a
full one, on pandas 2.2 and 3.x, with pyarrow installed and without. Text is pinned to the Python
storage for that reason: the default storage would change with pyarrow, and with it what ``==`` and
``value_counts`` return (and it is three times slower to build, measured).
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BOOL", "FLOAT", "INT", "TEXT", "TIME", "Column", "Columns", "words"]

TEXT = pd.StringDtype("python")
"""Text; missing is `pandas.NA`."""
INT = pd.Int64Dtype()
"""Whole numbers; missing is `pandas.NA`."""
FLOAT = np.dtype("float64")
"""Seconds; missing is NaN."""
BOOL = pd.BooleanDtype()
"""Flags; missing is `pandas.NA`."""
TIME = pd.DatetimeTZDtype("us", "UTC")
"""Wall times, UTC, in microseconds; missing is `pandas.NaT`."""


def words(*known: str) -> pd.CategoricalDtype:
    """Return the dtype of a column that holds one of these words, in this order."""
    return pd.CategoricalDtype(list(known))


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name : str
        Its name: flat, lower case, usable as an attribute of the frame.
    dtype : pandas or numpy dtype
        One of `TEXT`, `INT`, `FLOAT`, `BOOL`, `TIME`, or what `words` returns.
    doc : str
        What it means, in one sentence; its unit, where it has one.
    open : bool, default False
        For word columns: whether words from outside the list are kept too, as further categories
        behind the known ones. Elsewhere the list is closed.

    Examples
    --------
    >>> from steer_nb.frames import EventCore
    >>> EventCore["t_s"].dtype
    dtype('float64')
    """

    name: str
    dtype: Any
    doc: str
    open: bool = False

    @property
    def dtype_name(self) -> str:
        """The dtype in one word, as pandas prints it."""
        return str(self.dtype)


@dataclass(frozen=True, repr=False)
class Columns:
    """A group of columns of one table. Groups add up: ``EventCore + EventDelta``.

    Parameters
    ----------
    name : str
        What the group is called.
    table : str
        The table it belongs to.
    columns : tuple of Column
        Its columns, in order.

    Examples
    --------
    >>> from steer_nb.frames import EventCore, EventDelta
    >>> (EventCore + EventDelta).names[-2:]
    ('done_text', 'delta_json')
    """

    name: str
    table: str
    columns: tuple[Column, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    def __add__(self, other: object) -> Columns:
        if not isinstance(other, Columns):
            return NotImplemented
        if other.table != self.table:
            msg = (
                f"{self.name} belongs to the table {self.table!r}, {other.name} to "
                f"{other.table!r}: only groups of one table can be added. Use frames.wide() for a "
                "joined view."
            )
            raise TypeError(msg)
        have = set(self.names)
        more = tuple(column for column in other.columns if column.name not in have)
        return Columns(f"{self.name} + {other.name}", self.table, self.columns + more)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        msg = f"{self.name} has no column {name!r}; its columns are {', '.join(self.names)}."
        raise KeyError(msg)

    def __repr__(self) -> str:
        width = max((len(name) for name in self.names), default=0)
        kind = max((len(column.dtype_name) for column in self), default=0)
        lines = [
            f"  {column.name:<{width}}  {column.dtype_name:<{kind}}  {column.doc}"
            for column in self
        ]
        return "\n".join([f"{self.name} (of {self.table}), {len(self)} columns", *lines])

    def _repr_html_(self) -> str:
        cell = html.escape
        rows = "".join(
            f"<tr><td><code>{cell(column.name)}</code></td><td>{cell(column.dtype_name)}</td>"
            f"<td style='text-align:left'>{cell(column.doc)}</td></tr>"
            for column in self
        )
        return (
            f"<table><caption>{cell(self.name)} (of <code>{cell(self.table)}</code>)</caption>"
            f"<thead><tr><th>column</th><th>dtype</th><th>meaning</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )
