"""Reading traces back from files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from steer_nb.errors import TraceError
from steer_nb.trace.entries import SCHEMA, Entry, Header, Problem
from steer_nb.trace.log import Trace

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["load"]

_header = msgspec.json.Decoder(Header)
_entry = msgspec.json.Decoder(Entry)


def load(path: str | PathLike[str], *, strict: bool = False) -> Trace:
    """Read a saved trace or a journal.

    Parameters
    ----------
    path : str or path-like
        A file that `Trace.save` or a session's journal wrote.
    strict : bool, default False
        Raise on a line that is no entry, instead of keeping it as a problem.

    Returns
    -------
    Trace
        Equal to the trace that was saved. Lines that could not be read, such as the torn last line
        of a journal after a power cut, are listed in its `problems`.

    Raises
    ------
    TraceError
        If the file cannot be read, is no trace, or was written by a newer steer_nb; with
        `strict`, also at the first bad line.

    Examples
    --------
    >>> import steer_nb
    >>> trace = steer_nb.load("run.jsonl")  # doctest: +SKIP
    """
    source = Path(path)
    try:
        content = source.read_bytes()
    except OSError as error:
        msg = f"The trace {source} cannot be read ({error.strerror})."
        raise TraceError(msg, path=str(source)) from error
    # Only LF ends a line: U+2028 and its like are ordinary characters inside a message.
    lines = content.split(b"\n")
    header = _read_header(lines[0], source)
    entries: list[Entry] = []
    problems: list[Problem] = []
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        try:
            entries.append(_entry.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            torn = number == len(lines)  # the last line has no line feed behind it
            what = "torn last line" if torn else "no trace entry"
            if strict:
                msg = f"{source}, line {number}: {what} ({error})."
                raise TraceError(msg, path=str(source), line=number) from error
            kind = "truncated" if torn else "bad_json"
            problems.append(Problem(kind=kind, detail=f"{what}: {error}", line=number))
    trace = Trace(header, entries)
    trace.file = str(source)
    trace.file_problems = tuple(problems)
    return trace


def _read_header(line: bytes, source: Path) -> Header:
    try:
        header = _header.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        msg = (
            f"{source} is no steer_nb trace: its first line is not a trace header ({error}). "
            "session.trace.save(path), %steer save and the journal in .steer/ write traces."
        )
        raise TraceError(msg, path=str(source), line=1) from error
    if header.steer_nb > SCHEMA:
        msg = (
            f"{source} was written by a newer steer_nb (format {header.steer_nb}, this one reads "
            f"up to {SCHEMA}). Update with: pip install -U steer-nb"
        )
        raise TraceError(msg, path=str(source), line=1)
    return header
