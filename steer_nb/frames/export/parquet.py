"""Parquet: a file for each table, or a dataset that many traces are added to."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pandas as pd

from steer_nb.extras import extra
from steer_nb.frames.columns import BOOL, FLOAT, INT, TEXT, TIME
from steer_nb.frames.export.files import folder_for, replacing
from steer_nb.frames.export.tables import chosen, columns_of, exported, one_file
from steer_nb.frames.schema import SCHEMA_VERSION

if TYPE_CHECKING:
    from os import PathLike

    from steer_nb.frames.base import Frames
    from steer_nb.frames.export.redaction import Redaction
    from steer_nb.frames.export.tables import Wanted
    from steer_nb.trace import TraceSet

__all__ = [
    "ATTRS_KEY",
    "OF_NO_TRACE",
    "PARTITION",
    "VERSION_KEY",
    "arrow_field",
    "pyarrow",
    "write_left_out",
    "write_parquet",
    "write_table",
]

PARTITION: Final = "trace_id"
"""The column that a dataset is partitioned by."""
OF_NO_TRACE: Final = f"{PARTITION}=__HIVE_DEFAULT_PARTITION__"
"""Where a dataset has the rows of no trace: Hive's name for null, which its readers know."""
TABLE_KEY: Final = b"steer_nb.table"
VERSION_KEY: Final = b"steer_nb.schema_version"
ATTRS_KEY: Final = b"steer_nb.attrs"
TRACE_KEY: Final = b"trace_id"


def pyarrow() -> Any:
    """Import pyarrow.

    Raises
    ------
    MissingExtra
        It is not installed.
    """
    for module in ("pyarrow.dataset", "pyarrow.parquet"):
        extra(module, "parquet", "Parquet files need pyarrow")
    return extra("pyarrow", "parquet", "Parquet files need pyarrow")


def arrow_field(name: str, dtype: Any) -> Any:
    """Give the Arrow field of a column: text and words are large strings."""
    pa = pyarrow()
    kinds = [
        (INT, pa.int64()),
        (FLOAT, pa.float64()),
        (BOOL, pa.bool_()),
        (TIME, pa.timestamp("us", "UTC")),
    ]
    return pa.field(name, next((kind for own, kind in kinds if dtype == own), pa.large_string()))


def write_parquet(
    frames: Frames,
    trace_id: str | None,
    folder: str | PathLike[str],
    tables: Wanted,
    redaction: Redaction,
    *,
    partitioned: bool,
) -> list[str]:
    """Write tables; see `steer_nb.frames.Export.parquet`."""
    pyarrow()
    place, wanted = Path(folder), chosen(tables)
    single = one_file(place, ".parquet", wanted)
    made = {name: exported(frames, name, cols, redaction) for name, cols in wanted.items()}
    written = []
    for name, frame in made.items():
        path = place if single else place / f"{name}.parquet"
        if partitioned:
            assert trace_id is not None
            path = place / name / f"{PARTITION}={quote(trace_id, safe='')}" / "part.parquet"
            frame = frame.drop(columns=PARTITION, errors="ignore")
        if not single:
            folder_for(path.parent)
        write_table(frame, name, path, trace_id=trace_id)
        written.append(str(path))
    return written


def write_left_out(
    source: TraceSet, folder: str | PathLike[str], tables: Wanted, redaction: Redaction
) -> list[str]:
    """Write the problems of files that became no trace of a set: the part that is of no trace.

    There is one such part for each thing that was loaded. Exporting the same once more replaces it.
    """
    wanted = chosen(tables)
    if "problems" not in wanted:
        return []
    loaded = source.where or "\n".join(str(problem.file) for problem in source.file_problems)
    named = f"part-{sha256(loaded.encode('utf-8', 'replace')).hexdigest()[:16]}.parquet"
    path = Path(folder) / "problems" / OF_NO_TRACE / named
    if not source.file_problems:
        path.unlink(missing_ok=True)  # what was odd the last time
        return []
    frame = exported(source.frames, "problems", wanted["problems"], redaction)
    attrs: dict[Any, Any] = {key: frame.attrs[key] for key in ("table", "schema_version")}
    frame = frame.iloc[: len(source.file_problems)].drop(columns=PARTITION, errors="ignore")
    frame.attrs = attrs  # what was counted stands with the traces
    folder_for(path.parent)
    write_table(frame, "problems", path, trace_id=None)
    return [str(path)]


def write_table(frame: pd.DataFrame, name: str, path: Path, *, trace_id: str | None) -> None:
    """Write one table to one file; an old file is replaced once the new one is complete.

    Raises
    ------
    ExportFailed
        pyarrow is not there, or the file cannot be written.
    """
    pa = pyarrow()
    declared = {column.name: column.dtype for column in columns_of(name)}
    schema = pa.schema([arrow_field(column, declared[column]) for column in frame.columns])
    plain = frame.astype(
        {c: TEXT for c in frame if isinstance(frame[c].dtype, pd.CategoricalDtype)}
    )
    plain.attrs = {}  # they stand in our own metadata, as they were redacted
    table = pa.Table.from_pandas(plain, schema=schema, preserve_index=False)
    metadata = {
        **(table.schema.metadata or {}),
        TABLE_KEY: name.encode(),
        VERSION_KEY: SCHEMA_VERSION.encode(),
        ATTRS_KEY: json.dumps(frame.attrs).encode(),
    }
    if trace_id is not None:
        metadata[TRACE_KEY] = trace_id.encode("utf-8", "replace")
    with replacing(path) as beside:
        pa.parquet.write_table(table.replace_schema_metadata(metadata), beside)
