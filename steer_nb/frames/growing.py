"""A frame that grows at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from steer_nb.frames.arrays import array_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from steer_nb.frames.columns import Columns

__all__ = ["Growing"]

_SPARE: Final = 8
"""An eighth of the rows is kept free behind them, so that new ones need no new arrays."""
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
        """Rows in all."""
        self._written = 0
        """Rows in the long arrays; the others are in the parts."""
        self._capacity = 0
        self._arrays = {column.name: array_of(column, []) for column in columns}
        self._parts: list[dict[str, Any]] = []
        # A change to a frame that was handed out must not reach these arrays. pandas copies before
        # it writes as long as another frame looks at the same values: that is what these are for.
        self._made: list[pd.DataFrame] = []

    def __len__(self) -> int:
        return self._length

    def extend(self, part: Mapping[str, Any]) -> None:
        """Add rows, given as one array a column."""
        self._parts.append(dict(part))
        self._length += len(part[self.columns.names[0]])

    def frame(self) -> pd.DataFrame:
        """Everything so far. The frame is shared: hand out copies."""
        if self._made and not self._parts:
            return self._made[-1]
        crowded = self._length > self._capacity or len(self._made) >= _MADE
        if crowded or not all(map(self._fits, self._parts)):
            self._move()
        else:
            for part in self._parts:
                self._write(part)
        self._written = self._length
        self._parts = []
        data = {name: self._arrays[name][: self._length] for name in self.columns.names}
        frame = pd.DataFrame(data, index=pd.RangeIndex(self._length), copy=False)
        self._made.append(frame)
        return frame

    def _fits(self, part: dict[str, Any]) -> bool:
        """Whether the long arrays know all words of a part."""
        return all(
            len(part[column.name].categories) <= len(self._arrays[column.name].categories)
            and part[column.name].categories.isin(self._arrays[column.name].categories).all()
            for column in self.columns
            if column.open
        )

    def _write(self, part: dict[str, Any]) -> None:
        start = self._written
        stop = start + len(part[self.columns.names[0]])
        for column in self.columns:
            array, values = self._arrays[column.name], part[column.name]
            if column.open:
                values = values.set_categories(array.categories)
            array[start:stop] = values
        self._written = stop

    def _move(self) -> None:
        """Put everything into new arrays, which are longer; column by column, to need less room."""
        spare = self._length // _SPARE
        for column in self.columns:
            name = column.name
            old = self._arrays.pop(name)
            pieces = [old[: self._written]]
            pieces += [part.pop(name) for part in self._parts]
            missing = array_of(column, [None])
            pieces.append(missing.repeat(spare))
            del old
            if column.open:
                words = list(dict.fromkeys(w for piece in pieces for w in piece.categories))
                pieces = [piece.set_categories(words) for piece in pieces]
            self._arrays[name] = _joined(pieces)
        self._capacity = self._length + spare
        self._made = []


def _joined(pieces: list[Any]) -> Any:
    if len(pieces) == 1:
        return pieces[0]
    if isinstance(pieces[0], np.ndarray):
        return np.concatenate(pieces)
    return pd.concat([pd.Series(piece, copy=False) for piece in pieces], ignore_index=True).array
