"""What is scanned: recordings by their names, or a Parquet dataset, cut into partitions."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from steer_nb.errors import TraceError, UnknownColumn
from steer_nb.frames.export.parquet import PARTITION
from steer_nb.frames.export.reading import schema_of, table_files, trace_of
from steer_nb.frames.scan.graphs import Graph, token_of
from steer_nb.frames.scan.parts import Recorded, Stored
from steer_nb.frames.scan.plans import claims, plan
from steer_nb.frames.schema import TABLES
from steer_nb.trace.readers.packed import PACKED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from steer_nb.frames.columns import Columns

__all__ = ["Dataset", "Place", "Recordings", "tables_in"]

_PACKED: Final = 8
"""Bytes that a byte of a compressed file is about."""
_MOST: Final = 256
"""Files of one partition at most: the smallest ones cost the time to open them."""

T = TypeVar("T")


class Place(Protocol):
    """Where partitions come from."""

    @property
    def graph(self) -> Graph:
        """The tasks that make the partitions."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the files."""

    def check(self, tables: Iterable[str], columns: Columns | None = None) -> None:
        """Refuse what is not there, as far as that is known before anything is read."""

    def __str__(self) -> str:
        """Say what it is."""


def grouped(sized: Iterable[tuple[T, int]], most: int) -> list[list[T]]:
    """Put neighbours together until they have so many bytes.

    Examples
    --------
    >>> grouped([("a", 4), ("b", 4), ("c", 9), ("d", 1)], 8)
    [['a', 'b'], ['c'], ['d']]
    """
    groups: list[list[T]] = []
    room = 0
    for one, size in sized:
        if not groups or size > room or len(groups[-1]) >= _MOST:
            groups.append([])
            room = most
        groups[-1].append(one)
        room -= size
    return groups


def _state(file: Path) -> tuple[int, int]:
    """Size and time of a file, which tell whether it is still the same; 0 of one that is gone."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns


class Recordings:
    """Recordings, of which only the names are known.

    Parameters
    ----------
    files : sequence of Path
        The files.
    size : int
        Bytes of a partition, about.
    strict : bool
        Raise at the first thing that is odd.
    """

    def __init__(self, files: Sequence[Path], size: int, *, strict: bool) -> None:
        self.files = tuple(map(str, files))
        base = str(Path.cwd())  # a worker may be at home elsewhere
        states = [_state(file) for file in files]
        weights = [
            bytes_ * (_PACKED if name.endswith(PACKED) else 1)
            for name, (bytes_, _) in zip(self.files, states, strict=True)
        ]
        groups = grouped(zip(self.files, weights, strict=True), size)
        token = token_of(base, self.files, states, groups, strict)
        tasks: dict[Any, Any] = {}
        said = [(f"steer-claims-{token}", at) for at in range(len(groups))]
        decided = f"steer-plan-{token}"
        tasks[decided] = (dict,)
        if len(groups) > 1:
            tasks |= {
                key: (partial(claims, names, base),)
                for key, names in zip(said, groups, strict=True)
            }
            tasks[decided] = (partial(_plan, groups, base, strict), said)
        parts = [(f"steer-part-{token}", at) for at in range(len(groups))]
        for key, names in zip(parts, groups, strict=True):
            tasks[key] = (partial(_read, names, base, strict), decided)
        self.graph = Graph(token, tasks, parts)

    def check(self, tables: Iterable[str], columns: Columns | None = None) -> None:
        """Every table and column is there."""

    def __str__(self) -> str:
        return f"{len(self.files):,} file{'' if len(self.files) == 1 else 's'}"


def _plan(
    groups: Sequence[Sequence[str]],
    base: str,
    strict: bool,
    claimed: Sequence[Sequence[str | None]],
) -> Any:
    return plan(groups, claimed, base, strict)


def _read(names: Sequence[str], base: str, strict: bool, fates: Any) -> Recorded:
    return Recorded(names, base, strict, fates).read()


def tables_in(folder: Path) -> dict[str, list[Path]]:
    """The files of each table that was exported to a folder; none, where it is no such folder.

    Raises
    ------
    TraceError
        A table is there twice.
    """
    found = {name: table_files(folder, name) for name in TABLES} if folder.is_dir() else {}
    return {name: files for name, files in found.items() if files}


class Dataset:
    """Tables that were exported to a folder.

    Parameters
    ----------
    folder : Path
        The folder.
    tables : mapping of str to list of Path
        The files of each table.
    size : int
        Bytes of a partition, about.
    """

    def __init__(self, folder: Path, tables: Mapping[str, Sequence[Path]], size: int) -> None:
        self._folder = folder.absolute()
        self._tables = {name: [file.absolute() for file in files] for name, files in tables.items()}
        states = {
            name: [(str(file), _state(file)) for file in files]
            for name, files in self._tables.items()
        }
        self.files = tuple(name for found in states.values() for name, _ in found)
        pieces: dict[str | None, dict[str, list[str]]] = {}
        sizes: dict[str | None, int] = {}
        whole = any(trace_of(files[0], name) is None for name, files in self._tables.items())
        for table, found in states.items():
            for name, (bytes_, _) in found:
                # The folder's name, as files are in its order. One file for all cannot be cut.
                key = None if whole else Path(name).parent.name
                pieces.setdefault(key, {}).setdefault(table, []).append(name)
                sizes[key] = sizes.get(key, 0) + bytes_ * _PACKED
        order = sorted(pieces, key=str)
        self.n_traces = 0 if whole else len(order)
        groups = grouped([(key, sizes[key]) for key in order], size)
        token = token_of(str(self._folder), states, groups)
        parts = [(f"steer-part-{token}", at) for at in range(len(groups))]
        tasks = {
            key: (partial(Stored, str(self._folder), _together(pieces[one] for one in group)),)
            for key, group in zip(parts, groups, strict=True)
        }
        self.graph = Graph(token, tasks, parts)

    def check(self, tables: Iterable[str], columns: Columns | None = None) -> None:
        """Refuse a table that is not there, and a column that no file of it has.

        Raises
        ------
        TraceError
            There is no such table.
        UnknownColumn
            There is no such column.
        """
        for table in tables:
            if table not in self._tables:
                msg = (
                    f"There is no table {table!r} in {self._folder}. "
                    f"Tables: {', '.join(self._tables)}."
                )
                raise TraceError(msg, path=str(self._folder))
        if columns is None:
            return
        (table,) = tables
        missing = {*columns.names}
        files = self._tables[table]
        if trace_of(files[0], table) is not None:
            missing.discard(PARTITION)
        for file in files:  # the first one tells, mostly
            if not missing:
                return
            missing -= {*schema_of(file).names}
        if missing:
            one = next(name for name in columns.names if name in missing)
            msg = (
                f"No file of {table!r} in {self._folder} has the column {one!r}: name it in "
                "tables= of export.parquet to have it there."
            )
            raise UnknownColumn(msg)

    def __str__(self) -> str:
        if not self.n_traces:
            return "Parquet files"
        return f"a Parquet dataset of {self.n_traces:,} trace{'' if self.n_traces == 1 else 's'}"


def _together(pieces: Iterable[Mapping[str, Sequence[str]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for piece in pieces:
        for table, names in piece.items():
            found.setdefault(table, []).extend(names)
    return found
