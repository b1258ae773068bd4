"""JSON objects of a file: one a line, or spread over several as ``model_dump_json(indent=2)``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from steer_nb.wire.jsonio import loads

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.trace.readers.source import Source

__all__ = ["first_objects", "is_spread", "spread", "value_of"]


def is_spread(head: bytes) -> bool:
    """Say whether the objects of a file go over several lines each."""
    return head.split(b"\n", 1)[0].strip() == b"{"


def first_objects(head: bytes, most: int) -> list[bytes]:
    r"""Give the first lines of a file; or its first objects, where they take several lines each.

    Examples
    --------
    >>> first_objects(b'{}\n{"a":1}\n', 5), first_objects(b'{\n  "a": 1\n}\n{\n}', 5)
    ([b'{}', b'{"a":1}'], [b'{\n  "a": 1\n}', b'{\n}'])
    """
    lines = head.split(b"\n")
    if not is_spread(head):
        return [line for line in lines[:most] if line.strip()]
    found: list[bytes] = []
    begin = 0
    for at, line in enumerate(lines):
        if line.rstrip() == b"}":
            found.append(b"\n".join(lines[begin : at + 1]))
            begin = at + 1
            if len(found) == most:
                break
    return found


def spread(source: Source) -> Iterator[tuple[int, bytes, bool]]:
    """Give objects that go over several lines each, with their first lines.

    Yields
    ------
    number : int
        The line where it begins, from 1.
    text : bytes
        The object.
    torn : bool
        Whether the file breaks off within it.
    """
    kept: list[bytes] = []
    begin = 0
    for number, line in source.lines():
        if line.rstrip() == b"{" and kept:  # the one before was never closed
            yield begin, b"\n".join(kept), False
            kept = []
        begin = begin if kept else number
        if kept or line.strip():
            kept.append(line)
        if line.rstrip() == b"}":
            yield begin, b"\n".join(kept), False
            kept = []
    if kept:
        yield begin, b"\n".join(kept), True


def value_of(text: bytes) -> Any:
    """Decode one JSON value, also with NaN and halves of characters; None for what is none."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            return loads(text.decode("utf-8", "replace"))[0]
        except (ValueError, RecursionError):
            return None
