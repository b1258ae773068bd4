"""What was made before and still holds: rows, and frames of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from steer_nb.frames.arrays import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from steer_nb.frames.columns import Column

__all__ = ["KeptFrame", "Made", "Row", "join", "keep"]

Row = dict[str, Any]
Made = dict[str, tuple[tuple[Any, ...], Row]]
"""Rows by key, each with the state that it was made from."""


def keep(made: Made, key: str, state: tuple[Any, ...], make: Callable[[], Row]) -> Row:
    """Give the row that was made for `key`, made anew where `state` is no longer the same.

    Parameters
    ----------
    made : dict
        The rows so far, each with the state that it was made from.
    key : str
        Which row.
    state : tuple
        Everything that the row depends on and that can change.
    make : callable
        Makes the row.
    """
    found = made.get(key)
    if found is None or found[0] != state:
        found = made[key] = (state, make())
    return found[1]


class KeptFrame:
    """The frame of a table whose rows change at the end more than anywhere else.

    A row that changes is another object. So the rows up to the first other one need not be turned
    into columns again, which costs far more than looking.

    Parameters
    ----------
    columns : sequence of Column
        Its columns.
    """

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._rows: list[Row] = []
        self._frame: pd.DataFrame | None = None

    def update(self, rows: list[Row]) -> pd.DataFrame:
        """Give the frame of these rows. The frame is shared: hand out copies."""
        frame = self._frame
        if frame is None:
            frame = self._made(rows)
        else:
            same = _same(self._rows, rows)
            if same and any(_grown(column, frame) for column in self._columns):
                same = 0  # words of rows that are gone must not stay behind
            if same < len(rows) or same < len(self._rows):
                parts = [frame.iloc[:same], self._made(rows[same:])]
                frame = join(self._columns, [part for part in parts if len(part)] or parts[1:])
        self._rows, self._frame = rows, frame
        return frame

    def _made(self, rows: list[Row]) -> pd.DataFrame:
        values = {column.name: [row.get(column.name) for row in rows] for column in self._columns}
        return frame_of(self._columns, values)


def _same(old: list[Row], new: list[Row]) -> int:
    """How many rows at the beginning are the very same objects."""
    for place, (one, other) in enumerate(zip(old, new, strict=False)):
        if one is not other:
            return place
    return min(len(old), len(new))


def _grown(column: Column, frame: pd.DataFrame) -> bool:
    return column.open and len(frame[column.name].cat.categories) > len(column.dtype.categories)


def join(columns: Sequence[Column], parts: list[pd.DataFrame]) -> pd.DataFrame:
    """Put frames of the same columns one behind the other."""
    if len(parts) == 1:
        return parts[0].reset_index(drop=True)
    for column in columns:
        if column.open:
            _same_words(column.name, parts)
    return pd.concat(parts, ignore_index=True)


def _same_words(name: str, parts: list[pd.DataFrame]) -> None:
    """Give a word column the words of all parts, in the order they were first seen."""
    every = [part[name].cat.categories for part in parts]
    words = list(dict.fromkeys(word for categories in every for word in categories))
    for place, part in enumerate(parts):
        if len(part[name].cat.categories) < len(words):
            parts[place] = part.assign(**{name: part[name].cat.set_categories(words)})
