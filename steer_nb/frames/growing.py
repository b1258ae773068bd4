"""A frame that grows at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.frames.arrays import array_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.frames.columns import Columns

__all__ = ["Growing"]

_SPARE: Final = 32
"""A part of the rows is kept free behind them, so that a few new ones need no new arrays."""
_MADE: Final = 64
"""So many frames at most look into the same arrays."""


class Growing:
    """A frame that grows at its end: old rows are neither made again nor copied.

    Its arrays are longer than the frame, which looks at their beginning. New rows are written
    behind the old ones, where no frame that was made before looks.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self._length = 0
        self._capacity = 0
        self._arrays = {column.name: array_of(column, []) for column in columns}
        # A change to a frame that was handed out must not reach these arrays. pandas copies before
        # it writes as long as another frame looks at the same values: that is what these are for.
        self._made: list[pd.DataFrame] = []

    def __len__(self) -> int:
        return self._length

    def reserve(self, more: int) -> None:
        """Make room for so many further rows."""
        length = self._length + more
        if length > self._capacity:
            self._move(length + length // _SPARE)

    def extend(self, part: Mapping[str, Any]) -> None:
        """Add rows, given as one array a column."""
        start = self._length
        stop = start + len(part[self.columns.names[0]])
        self.reserve(stop - start)
        for column in self.columns:
            values = part[column.name]
            if column.open:
                values = self._with_words(column.name, values)
            self._arrays[column.name][start:stop] = values
        self._length = stop

    def frame(self) -> pd.DataFrame:
        """Everything so far. The frame is shared: hand out copies."""
        if self._made and len(self._made[-1]) == self._length:
            return self._made[-1]
        if len(self._made) >= _MADE:
            self._move(self._capacity)
        data = {name: self._arrays[name][: self._length] for name in self.columns.names}
        frame = pd.DataFrame(data, index=pd.RangeIndex(self._length), copy=False)
        self._made.append(frame)
        return frame

    def _with_words(self, name: str, values: pd.Categorical) -> pd.Categorical:
        """Let a column of words and its new values know the same words, in the order of seeing."""
        known = self._arrays[name].categories
        if not values.categories.equals(known):
            words = known.append(values.categories.difference(known, sort=False))
            if len(words) > len(known):
                self._arrays[name] = self._arrays[name].set_categories(words)
            values = values.set_categories(words)
        return values

    def _move(self, capacity: int) -> None:
        """Put everything into new arrays; column by column, to need less room."""
        for column in self.columns:
            old = self._arrays.pop(column.name)
            missing = array_of(column, [None])
            if column.open:
                missing = missing.set_categories(old.categories)
            self._arrays[column.name] = new = missing.repeat(capacity)
            new[: self._length] = old[: self._length]
        self._capacity = capacity
        self._made = []
