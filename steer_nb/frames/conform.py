"""Give a frame that was stored and read back its declared dtypes again."""

from __future__ import annotations

from typing import Any

import pandas as pd

from steer_nb.frames.columns import Columns
from steer_nb.frames.schema import table_named

__all__ = ["conform"]


def conform(frame: pd.DataFrame, name: str | Columns) -> pd.DataFrame:
    """Give the columns of a table their declared dtypes.

    File formats and other engines keep values, not always dtypes: an empty Parquet file forgets the
    words of a category, and which storage text gets depends on what is installed.

    Parameters
    ----------
    frame : DataFrame
        A table of a trace, after a round trip.
    name : str or Columns
        Which table; or the columns it was made of.

    Returns
    -------
    DataFrame
        With the same rows; columns that the table does not declare stay as they are.

    Raises
    ------
    UnknownFrame
        No such table.

    Examples
    --------
    >>> import pandas as pd
    >>> from steer_nb.frames import conform
    >>> conform(pd.DataFrame({"state": ["sent"]}), "steers")["state"].cat.categories[-1]
    'unknown'
    """
    declared = name if isinstance(name, Columns) else table_named(name).all
    changed: dict[str, Any] = {}
    for column in declared:
        if column.name not in frame:
            continue
        values = frame[column.name]
        dtype = column.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            values = values.astype(object)
            if column.open:
                extra = [w for w in values.dropna().unique() if w not in dtype.categories]
                dtype = pd.CategoricalDtype([*dtype.categories, *extra]) if extra else dtype
            changed[column.name] = pd.Categorical(values, dtype=dtype)
        elif values.dtype != dtype:
            changed[column.name] = values.astype(dtype)
    result = frame.assign(**changed)
    result.attrs = dict(frame.attrs)
    return result
