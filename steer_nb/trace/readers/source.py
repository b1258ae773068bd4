"""The bytes of a recording: opened, decompressed, cut into lines, and never read twice.

What breaks off in the middle (a torn archive, half a character) is given up to there and said by
`Source.broken`; nothing here raises for what a file holds.
"""

from __future__ import annotations

import codecs
import re
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from steer_nb.errors import TraceError
from steer_nb.trace.readers.packed import FAULTS, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["HEAD", "Source", "decoded_lines", "is_utf8"]

CHUNK: Final = 1 << 16
HEAD: Final = 1 << 20
"""So many of the first bytes show what kind of recording it is: one event may be large."""

_BOM: Final = codecs.BOM_UTF8
_WIDE: Final = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_ENDS: Final = re.compile(rb"\r\n|\n|\r")


class Source:
    """One file, read from its beginning to its end.

    Parameters
    ----------
    path : Path
        The file; compressed ones are opened as what they hold.
    report : callable
        Told of each chunk how many bytes of the file were read.
    base : Path, optional
        From where a relative path goes; by default where the process is.

    Attributes
    ----------
    head : bytes
        The first bytes of its content, without a byte order mark.
    broken : str or None
        Why it could not be read to its end; known once everything was read.
    torn : bool
        Whether its last line has no line end behind it; known once all lines were read.

    Raises
    ------
    TraceError
        There is no such file, or it may not be read.
    MissingExtra
        It is compressed in a way that needs another package.
    """

    def __init__(
        self,
        path: Path,
        report: Callable[[int], None] = lambda _: None,
        base: Path = Path(),
    ) -> None:
        self.path = path
        self.broken: str | None = None
        self.torn = False
        self._report = report
        self._digest = sha256()
        try:
            self._file: Any = (base / path).open("rb")
        except OSError as error:
            raise unreadable(path, error) from error
        try:
            self._plain = self._open()
            self._wide: Any = None
            self._tail = b""
            self.head = self._start()
        except BaseException:
            self.close()
            raise

    def _open(self) -> Any:
        try:
            magic = self._file.read(8)
            self._file.seek(0)
        except OSError as error:  # a folder, a device, a network that is gone
            raise unreadable(self.path, error) from error
        return unpacked(self._file, magic, self.path.name)

    def _start(self) -> bytes:
        head = b""
        while len(head) < HEAD:
            chunk = self._read()
            if not chunk:
                break
            head += chunk
        for begins, encoding in _WIDE.items():
            if head.startswith(begins):
                self._wide = codecs.getincrementaldecoder(encoding)("replace")
                return str(self._wide.decode(head[2:])).encode("utf-8", "replace")
        return head.removeprefix(_BOM)

    def _read(self) -> bytes:
        if self.broken is not None:
            return b""
        try:
            chunk: bytes = self._plain.read(CHUNK)
        except FAULTS as error:
            self.broken = str(error) or type(error).__name__
            return b""
        self._digest.update(chunk)
        self._report(len(chunk))
        return chunk

    def chunks(self) -> Iterator[bytes]:
        """Give everything, piece by piece, as UTF-8. Only once."""
        yield self.head
        while chunk := self._read():
            if self._wide is not None:
                chunk = str(self._wide.decode(chunk)).encode("utf-8", "replace")
            yield chunk

    def blocks(self) -> Iterator[tuple[int, bytes, list[bytes]]]:
        """Give whole lines, many at once: the number of the first, all with LF between, and each.

        Only once. A last line without an end is a block of its own, for which `torn` is set.
        """
        number = 1
        pieces: list[bytes] = []
        for chunk in self.chunks():
            end = chunk.rfind(b"\n")
            if end < 0:
                pieces.append(chunk)
                continue
            pieces.append(chunk[:end])
            block = b"".join(pieces)
            lines = block.split(b"\n")
            yield number, block, lines
            number += len(lines)
            pieces = [chunk[end + 1 :]]
        last = b"".join(pieces)
        if last:
            self.torn = True
            yield number, last, [last]

    def lines(self, *, any_end: bool = False) -> Iterator[tuple[int, bytes]]:
        r"""Give the lines, without their ends, and their numbers from 1. Only once.

        Parameters
        ----------
        any_end : bool
            Whether a lone CR ends a line, too, as in a stream of events; else only LF does, since
            other line ends may stand within a message.
        """
        if any_end:
            yield from self._lines_of_any_end()
            return
        for first, _, lines in self.blocks():
            for number, line in enumerate(lines, first):
                yield number, line if self.torn else line.removesuffix(b"\r")

    def _lines_of_any_end(self) -> Iterator[tuple[int, bytes]]:
        number, rest = 0, b""
        pieces: list[bytes] = []
        for chunk in self.chunks():
            if rest == b"\r":  # the second half of a CRLF may come with this chunk
                chunk, rest = rest + chunk, b""
            if chunk.endswith(b"\r"):
                chunk, rest = chunk[:-1], b"\r"
            first, *others = _ENDS.split(chunk)
            pieces.append(first)
            for line in others:
                number += 1
                yield number, b"".join(pieces).removesuffix(b"\r")
                pieces = [line]
        last = b"".join(pieces)
        if rest:
            yield number + 1, last
        elif last:
            self.torn = True
            yield number + 1, last

    def content(self) -> bytes:
        """Give everything at once: for kinds that cannot be read in pieces. Only once."""
        return b"".join(self.chunks())

    def identity(self) -> str:
        """32 hex digits that are the same for the same content; known once everything was read."""
        return self._digest.hexdigest()[:32]

    def close(self) -> None:
        """Let go of the file."""
        for file in (getattr(self, "_plain", None), self._file):
            if file is not None:
                file.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def decoded_lines(
    decode: Callable[[bytes], list[Any]], block: bytes, lines: list[bytes]
) -> list[Any] | None:
    """Decode lines that are one JSON object each, all at once.

    Parameters
    ----------
    decode : callable
        The `decode_lines` of a `msgspec.json.Decoder` for objects.
    block : bytes
        Lines, joined by LF.
    lines : list of bytes
        The same, taken apart.

    Returns
    -------
    list or None
        What the decoder's `decode` gives for each line; None where that cannot be said: then they
        have to be taken one by one.
    """
    # The decoder does not look at line ends: an object may go over two lines, and a line hold two.
    # But JSON has `}` and `{` side by side only between two whole objects. So where all lines end
    # and begin in that way, and there are as many objects as lines, there is one a line.
    whole = all(map(bytes.startswith, lines, repeat(b"{")))
    if not (whole and all(map(bytes.endswith, lines, repeat(b"}")))):
        return None
    try:
        found = decode(block)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return found if len(found) == len(lines) else None


def is_utf8(block: bytes) -> bool:
    """Say whether bytes are a text in UTF-8."""
    try:
        return block.isascii() or block.decode() is not None
    except UnicodeDecodeError:
        return False


def unreadable(path: Path, error: OSError) -> TraceError:
    """Say that a file cannot be opened."""
    msg = f"The trace {path} cannot be read ({error.strerror or error})."
    return TraceError(msg, path=str(path))
