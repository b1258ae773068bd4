"""How far the reading of many or large files is: a bar where `tqdm` is installed, else a line."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Progress"]

_LARGE: Final = 32 << 20
"""Bytes from which on a person would wonder; fewer are read in a moment."""
_MANY: Final = 50
_STEPS: Final = 10


class Progress:
    """Counts the bytes that were read.

    Parameters
    ----------
    files : sequence of Path
        What will be read.
    shown : bool, optional
        Whether to say anything; by default where there is much to read.
    """

    def __init__(self, files: Sequence[Path], *, shown: bool | None = None) -> None:
        self._total = sum(_size(file) for file in files)
        self._n_files = len(files)
        self._bytes = self._files = self._step = 0
        self._bar: Any = None
        self._shown = shown
        if shown is None:
            self._shown = self._total >= _LARGE or self._n_files >= _MANY
        if self._shown:
            try:
                tqdm = import_module("tqdm.auto").tqdm
            except ImportError:
                return
            self._bar = tqdm(total=self._n_files, desc="Loading", unit="file")

    def __call__(self, n_bytes: int) -> None:
        """So many bytes more were read."""
        self._bytes += n_bytes
        if self._shown and self._bar is None and self._n_files == 1:
            self._say(self._bytes / max(self._total, 1))

    def next(self) -> None:
        """One file more is done."""
        self._files += 1
        if self._bar is not None:
            self._bar.update()
        elif self._shown and self._n_files > 1:
            self._say(self._files / self._n_files)

    def _say(self, share: float) -> None:
        step = min(int(share * _STEPS), _STEPS)  # a compressed file holds more than its size says
        if step > self._step:
            self._step = step
            files = f"{self._files} of {self._n_files} files, " if self._n_files > 1 else ""
            line = f"Loading: {files}{self._bytes / 1e6:.1f} MB"
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # it is said when it is opened
