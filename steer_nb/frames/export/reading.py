"""Reading exported tables back: files, and datasets of many traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from steer_nb.errors import TraceError
from steer_nb.frames.columns import BOOL, INT, TEXT, Columns
from steer_nb.frames.conform import conform
from steer_nb.frames.export.parquet import (
    ATTRS_KEY,
    OF_NO_TRACE,
    PARTITION,
    VERSION_KEY,
    arrow_field,
    pyarrow,
)
from steer_nb.frames.export.tables import columns_of
from steer_nb.frames.metrics.names import FRAME_NAMES
from steer_nb.frames.schema import SCHEMA_VERSION, TABLES, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    import pandas as pd

    from steer_nb.frames.export.tables import Chosen

__all__ = ["read_parquet", "read_table", "schema_of", "table_files", "table_of", "trace_of"]


def read_parquet(
    folder: str | PathLike[str],
    *,
    tables: str | Iterable[str] | None = None,
    traces: str | Iterable[str] | None = None,
) -> dict[str, pd.DataFrame]:
    """Read the tables of a folder that `Export.parquet` wrote.

    Parameters
    ----------
    folder : str or path-like
        With a file for each table, or a dataset for each (``TABLE/trace_id=…/part.parquet``).
    tables : str or iterable of str, optional
        Only these; by default all that are there.
    traces : str or iterable of str, optional
        Only rows of the traces of these ids; of a dataset, other files are not even opened.

    Returns
    -------
    dict of str to DataFrame
        The frames as they were, by name: what metrics are computed from, too.

    Raises
    ------
    TraceError
        There is no such table, or a newer steer_nb wrote it.
    ExportFailed
        pyarrow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from steer_nb.frames import read_parquet
    >>> from steer_nb.trace import Header, Trace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = Trace(Header(steer_nb=1, trace_id="0" * 32)).export.parquet(folder)
    ...     steers = read_parquet(folder)["steers"]
    >>> steers.dtypes["sent_s"]
    dtype('float64')
    """
    pyarrow()
    place = Path(folder)
    names = [tables] if isinstance(tables, str) else tables
    if names is None:
        names = [name for name in FRAME_NAMES if table_files(place, name)]
        if not names:
            msg = f"There are no tables in {place}: trace.export.parquet(folder) writes them."
            raise TraceError(msg, path=str(place))
    return {name: read_table(place, name, traces=traces) for name in names}


def read_table(
    folder: str | PathLike[str],
    name: str,
    *,
    columns: Chosen = None,
    traces: str | Iterable[str] | None = None,
) -> pd.DataFrame:
    """Read one table of a folder that `Export.parquet` wrote.

    Parameters
    ----------
    folder : str or path-like
        As for `read_parquet`.
    name : str
        Which table.
    columns : Columns, str or iterable of str, optional
        Only these, of those that are there; see `Frames.table`.
    traces : str or iterable of str, optional
        Only rows of the traces of these ids.

    Returns
    -------
    DataFrame
        Of the declared dtypes.

    Raises
    ------
    TraceError
        There is no such table in the folder, or a newer steer_nb wrote it.
    UnknownFrame, UnknownColumn
        There never is such a table or column.
    """
    pyarrow()
    place = Path(folder)
    columns_of(name)  # there may be no such name at all
    wanted = resolve(TABLES[name], columns) if columns is not None and name in TABLES else None
    ids = None if traces is None else {traces} if isinstance(traces, str) else {*traces}
    files = table_files(place, name)
    if not files:
        msg = f"There is no table {name!r} in {place}."
        raise TraceError(msg, path=str(place))
    if ids is not None:
        files = [file for file in files if trace_of(file, name) in (None, *ids)] or files[:1]
    return table_of(files, name, place, wanted=wanted, ids=ids)


def table_of(
    files: Sequence[Path],
    name: str,
    folder: Path,
    *,
    wanted: Columns | None = None,
    ids: set[str] | None = None,
) -> pd.DataFrame:
    """Read files of one table, which are those of the folder or some of them.

    Raises
    ------
    TraceError
        One is no such file, or a newer steer_nb wrote it.
    """
    pa = pyarrow()
    declared = columns_of(name)
    schemas = [schema_of(file) for file in files]
    # What one file has and another has not is null there.
    there = set().union(*(schema.names for schema in schemas))
    options: dict[str, Any] = {}
    if files[0].parent != folder:
        there.add(PARTITION)
        key = pa.schema([arrow_field(PARTITION, TEXT)])
        options["partitioning"] = pa.dataset.partitioning(key, flavor="hive")
        options["partition_base_dir"] = str(folder / name)
    chosen = Columns(
        name,
        name,
        tuple(
            column
            for column in declared
            if column.name in there and (wanted is None or column.name in wanted)
        ),
    )
    schema = pa.schema([arrow_field(c.name, c.dtype) for c in declared if c.name in there])
    source = pa.dataset.dataset([str(f) for f in files], schema=schema, format="parquet", **options)
    rows = None if ids is None else pa.dataset.field(PARTITION).isin([*ids])
    table = source.to_table(columns=list(chosen.names), filter=rows)
    kinds = {pa.int64(): INT, pa.bool_(): BOOL, pa.large_string(): TEXT}
    frame: pd.DataFrame = table.to_pandas(types_mapper=kinds.get, ignore_metadata=True)
    frame = conform(frame, chosen)
    frame.attrs = _attrs(name, schemas)
    return frame


def table_files(folder: Path, name: str) -> list[Path]:
    """The files of a table: one, or one for each trace; none, where it is not there.

    Raises
    ------
    TraceError
        It is there in both forms.
    """
    single = folder / f"{name}.parquet"
    parts = sorted(
        (folder / name).glob(f"{PARTITION}=*/*.parquet"),
        key=lambda part: (part.parent.name != OF_NO_TRACE, part),  # first, as in a set's frames
    )
    parts = [part for part in parts if not part.name.startswith((".", "_"))]
    if single.exists() and parts:
        msg = (
            f"{folder} has {name!r} twice, as {single.name} and as a dataset in {name}/: take one "
            "of them away."
        )
        raise TraceError(msg, path=str(single))
    return [single] if single.exists() else parts


def trace_of(file: Path, name: str) -> str | None:
    """Which trace a part of a dataset is of; None for a single file, which may hold several."""
    if file.name == f"{name}.parquet":
        return None
    return unquote(file.parent.name.removeprefix(f"{PARTITION}="))


def schema_of(file: Path) -> Any:
    """Give the Arrow schema of a file.

    Raises
    ------
    TraceError
        It is no Parquet file of ours, or a newer steer_nb wrote it.
    """
    pa = pyarrow()
    try:
        schema = pa.parquet.read_schema(file)
    except (OSError, pa.ArrowException) as error:
        msg = f"{file} is no Parquet file that can be read ({error})."
        raise TraceError(msg, path=str(file)) from error
    version = (schema.metadata or {}).get(VERSION_KEY)
    if version is None:
        msg = f"{file} was not written by steer_nb: it does not say which version its columns are."
        raise TraceError(msg, path=str(file))
    if not version.isdigit() or int(version) > int(SCHEMA_VERSION):
        msg = (
            f"{file} was written by a newer steer_nb (columns of version {version.decode()}, this "
            f"one reads up to {SCHEMA_VERSION}). Update with: pip install -U steer-nb"
        )
        raise TraceError(msg, path=str(file))
    return schema


def _attrs(name: str, schemas: list[Any]) -> dict[Any, Any]:
    """Those of the one file; of several, what holds for all of them together."""
    every: list[dict[Any, Any]] = [
        json.loads(schema.metadata.get(ATTRS_KEY, b"{}")) for schema in schemas
    ]
    if len(every) == 1:
        return every[0]
    attrs: dict[Any, Any] = {"table": name, "schema_version": SCHEMA_VERSION}
    for key in ("dropped", "unknown"):
        if any(key in one for one in every):
            attrs[key] = sum(one.get(key, 0) for one in every)
    return attrs
