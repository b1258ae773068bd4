"""Compressed bytes: files that are read piece by piece, and bodies as a whole."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from steer_nb.extras import extra

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FAULTS", "PACKED", "decompress", "unpacked"]

PACKED: Final = (".gz", ".zst", ".br", ".bz2", ".xz")
"""Endings of compressed files, which are no part of a recording's name."""
FAULTS: Final = (EOFError, OSError, zlib.error, lzma.LZMAError, ValueError)
"""What reading a compressed file that is broken raises."""
_ZSTD: Final = b"\x28\xb5\x2f\xfd"


class _Brotli:
    """A brotli stream as something that can be read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._module = extra(
            "brotli", "brotli", "A file compressed with brotli needs the package brotli"
        )
        self._decoder = self._module.Decompressor()

    def read(self, size: int) -> bytes:
        while True:
            packed = self._file.read(size)
            if not packed:
                if not self._decoder.is_finished():
                    msg = "the compressed file breaks off"
                    raise EOFError(msg)
                return b""
            try:
                found: bytes = self._decoder.process(packed)
            except self._module.error as error:
                raise ValueError(str(error)) from error
            if found:
                return found

    def close(self) -> None:
        self._file.close()


class _Zstd:
    """A Zstandard stream as something that can be read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        try:
            module = import_module("compression.zstd")  # Python 3.14 has it
            self._plain: Any = module.open(file, "rb")
        except ImportError:
            module = extra(
                "zstandard", "zstd", "A file compressed with Zstandard needs the package zstandard"
            )
            decoder = module.ZstdDecompressor()
            self._plain = decoder.stream_reader(file, read_across_frames=True, closefd=False)
        self._error: type[Exception] = module.ZstdError

    def read(self, size: int) -> bytes:
        try:
            found: bytes = self._plain.read(size)
        except self._error as error:
            raise ValueError(str(error)) from error
        return found

    def close(self) -> None:
        self._plain.close()
        self._file.close()


_OPENERS: Final[tuple[tuple[bytes, Callable[[Any], Any]], ...]] = (
    (b"\x1f\x8b", gzip.open),
    (_ZSTD, _Zstd),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def unpacked(file: Any, magic: bytes, name: str) -> Any:
    """Open a file as what it holds.

    Parameters
    ----------
    file : binary file
        At its beginning.
    magic : bytes
        Its first bytes, which say how it is compressed.
    name : str
        Its name: brotli has no first bytes that would tell.

    Returns
    -------
    binary file
        `file` itself where it is not compressed.

    Raises
    ------
    MissingExtra
        It is compressed in a way that needs another package.
    """
    for begins, opener in _OPENERS:
        if magic.startswith(begins):
            return opener(file)
    return _Brotli(file) if name.endswith(".br") else file


def decompress(body: bytes, encoding: str = "") -> bytes:
    """Undo the compression of an HTTP body, as far as there is one.

    Recorders differ in whether they keep a body as it travelled, and some hide the header that
    would say so. So the bytes are asked first, and the header only where they do not tell.

    Parameters
    ----------
    body : bytes
        What was recorded.
    encoding : str
        Its ``Content-Encoding``, if that is known.

    Raises
    ------
    MissingExtra
        It needs a package that is not installed.
    ValueError
        It is none of what its header says, or breaks off.

    Examples
    --------
    >>> import gzip
    >>> decompress(gzip.compress(b'{"object":"response"}'))
    b'{"object":"response"}'
    """
    try:
        if body.startswith(b"\x1f\x8b"):
            return _unzipped(body, 31)
        if body.startswith(_ZSTD):
            return _unpacked_zstd(body)
        if not body or _is_text(body):
            return body
        if "br" in encoding:
            module = extra(
                "brotli", "brotli", "A body compressed with brotli needs the package brotli"
            )
            try:
                found: bytes = module.Decompressor().process(body)
            except module.error as error:
                raise ValueError(str(error)) from error
            return found
        if "deflate" in encoding:
            return _unzipped(body, 15 if body[0] & 0x0F == 8 else -15)
    except (zlib.error, EOFError, OSError) as error:
        raise ValueError(str(error)) from error
    return body


def _unzipped(body: bytes, bits: int) -> bytes:
    decoder = zlib.decompressobj(bits)
    return decoder.decompress(body) + decoder.flush()  # what is there of one that breaks off


def _unpacked_zstd(body: bytes) -> bytes:
    try:
        module = import_module("compression.zstd")
        decoder = module.ZstdDecompressor()
    except ImportError:
        module = extra(
            "zstandard", "zstd", "A body compressed with Zstandard needs the package zstandard"
        )
        decoder = module.ZstdDecompressor().decompressobj()
    try:
        found: bytes = decoder.decompress(body)
    except module.ZstdError as error:
        raise ValueError(str(error)) from error
    return found


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        return error.start > len(body) - 4 and body[:1].isascii()  # cut within a character
    return b"\x00" not in body
