"""Files that are complete or not there: written beside their place, then put into it."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from steer_nb.errors import ExportFailed

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["folder_for", "replacing"]


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give another file to write to, which takes the place of `path` once that went well.

    Raises
    ------
    ExportFailed
        The file cannot be written; an old one is as it was.
    """
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
        beside = Path(name)
        try:
            yield beside
            beside.replace(path)
        except BaseException:
            with suppress(OSError):
                beside.unlink()
            raise
    except OSError as error:
        msg = f"{path} cannot be written ({error.strerror or error}); choose another place."
        raise ExportFailed(msg) from error


def folder_for(path: Path) -> Path:
    """Make a folder, if there is none.

    Raises
    ------
    ExportFailed
        It cannot be made: a file of that name, a disk that is full.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"The folder {path} cannot be made ({error.strerror or error}); choose another place."
        raise ExportFailed(msg) from error
    return path
