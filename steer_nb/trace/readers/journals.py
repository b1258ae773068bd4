"""Our own files: a saved trace, or the journal of a session, perhaps one that is still written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from steer_nb.trace.entries import SCHEMA, Entry, Header
from steer_nb.trace.origin import origin_told
from steer_nb.trace.readers.source import decoded_lines

if TYPE_CHECKING:
    from steer_nb.trace.readers.recording import Recording
    from steer_nb.trace.readers.source import Source

__all__ = ["read", "recognise", "trace_id"]

_header = msgspec.json.Decoder(Header)
_entry = msgspec.json.Decoder(Entry)


def recognise(head: bytes) -> bool:
    """Say whether a file begins with the header of a trace."""
    return b'"steer_nb"' in head and _header_of(head.split(b"\n", 1)[0]) is not None


def trace_id(head: bytes) -> str | None:
    """Name the trace that a file is of, from its first bytes; None where it does not say."""
    header = _header_of(head.split(b"\n", 1)[0])
    return None if header is None else header.trace_id


def _header_of(line: bytes) -> Header | None:
    try:
        return _header.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read(source: Source, found: Recording) -> None:
    """Read a trace file: its entries are the trace's entries, as they are."""
    # Only LF ends a line: U+2028 and its like are ordinary characters inside a message.
    blocks = source.blocks()
    _, block, lines = next(blocks)
    header = found.header = _header_of(lines[0])
    assert header is not None
    if header.steer_nb > SCHEMA:
        newer = (
            f"written by a newer steer_nb (format {header.steer_nb}, this one reads up to "
            f"{SCHEMA}); update with: pip install -U steer-nb"
        )
        found.odd("newer", newer, 1)
    if len(lines) > 1:
        _entries(block[len(lines[0]) + 1 :], lines[1:], 2, source, found)
    for number, block, lines in blocks:
        _entries(block, lines, number, source, found)
    if found.entries:
        found.origin = origin_told(found.entries[0])
        if found.origin is not None:
            del found.entries[0]


def _entries(
    block: bytes, lines: list[bytes], first: int, source: Source, found: Recording
) -> None:
    """Take lines of entries: all at once where nothing is odd, else one by one."""
    entries = decoded_lines(_entry.decode_lines, block, lines)
    if entries is not None:
        found.entries += entries
        return
    for number, line in enumerate(lines, first):
        if not line.strip():
            continue
        try:
            entry = _entry.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            what = "torn last line" if source.torn else "no trace entry"
            kind = "truncated" if source.torn else "bad_json"
            found.odd(kind, f"{what}: {error}", number)
        else:
            found.entries.append(entry)
