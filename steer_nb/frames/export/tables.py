"""Which tables an export has, with which columns, and what is put in the place of content."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from steer_nb.errors import InvalidInput
from steer_nb.frames.columns import Columns
from steer_nb.frames.export.pieces import PIECES, STREAM
from steer_nb.frames.metrics.names import frame_named
from steer_nb.frames.metrics.schema import METRICS
from steer_nb.frames.metrics.summary import SummaryColumns
from steer_nb.frames.schema import TABLES, resolve, table_named
from steer_nb.frames.wide import WideColumns

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from steer_nb.frames.base import Frames
    from steer_nb.frames.export.redaction import Redaction

__all__ = ["Chosen", "Wanted", "chosen", "columns_of", "exported", "one_file"]

Chosen: TypeAlias = Columns | str | Iterable[str] | None
Wanted: TypeAlias = str | Iterable[str] | Mapping[str, Chosen] | None
"""Which tables: names, or names with their columns; None for all of them."""


def chosen(tables: Wanted) -> dict[str, Chosen]:
    """Read which tables are wanted, each with its columns; None for its usual ones.

    Examples
    --------
    >>> chosen(["steers", "summary"])
    {'steers': None, 'summary': None}
    """
    if tables is None:
        return dict.fromkeys(TABLES)
    if isinstance(tables, str):
        return {tables: None}
    if isinstance(tables, Mapping):
        return dict(tables)
    names = list(tables) if isinstance(tables, Iterable) else [tables]
    if not all(isinstance(name, str) for name in names):
        rule = "names of tables, or a dict of names and columns"
        msg = f"tables is {tables!r}: it must be {rule}."
        raise InvalidInput(msg, field="tables", value=tables, rule=rule)
    return dict.fromkeys(names)


def columns_of(name: str) -> Columns:
    """Give every column that a table, the wide one, the summary or a metric can have.

    Raises
    ------
    UnknownFrame
        There is none of that name.
    """
    if name in ("summary", "wide"):
        return SummaryColumns if name == "summary" else WideColumns
    metrics = METRICS.get(name.removeprefix("metrics.")) if name.startswith("metrics.") else None
    return table_named(name).all if metrics is None else metrics


def exported(frames: Frames, name: str, columns: Chosen, redaction: Redaction) -> pd.DataFrame:
    """Give a table as it may leave the house.

    Raises
    ------
    UnknownFrame, UnknownColumn
        No such table or column.
    """
    if name != "events":
        return redaction.frame(frame_named(frames, name, columns), name)
    names = resolve(TABLES[name], columns).names
    whole = names
    if redaction.seeks and any(piece in names for piece in PIECES):
        # A text in pieces is looked through as a whole: which pieces belong together must be known.
        whole = tuple(dict.fromkeys((*names, *STREAM, "delta_text")))
    frame = redaction.frame(frames.table(name, whole), name)
    return frame if whole == names else frame[list(names)]


def one_file(path: Path, ending: str, wanted: Mapping[str, Chosen]) -> bool:
    """Say whether a path is a file for one table, rather than a folder for several.

    Raises
    ------
    InvalidInput
        It is one file, and several tables are wanted.
    """
    if path.suffix != ending or path.is_dir():
        return False
    if len(wanted) != 1:
        msg = (
            f"One file holds one table: name it, as in tables='steers', or give a folder instead "
            f"of {path}."
        )
        raise InvalidInput(msg, field="tables", value=list(wanted), rule="one table for one file")
    return True
