"""CSV: a file for each table, or one table in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from steer_nb.frames.export.files import folder_for, replacing
from steer_nb.frames.export.tables import chosen, exported, one_file

if TYPE_CHECKING:
    from os import PathLike

    from steer_nb.frames.base import Frames
    from steer_nb.frames.export.redaction import Redaction
    from steer_nb.frames.export.tables import Wanted

__all__ = ["write_csv"]


def write_csv(
    frames: Frames, path: str | PathLike[str], tables: Wanted, redaction: Redaction
) -> list[str]:
    """Write tables; see `steer_nb.frames.Export.csv`."""
    place, wanted = Path(path), chosen(tables)
    single = one_file(place, ".csv", wanted)
    written = []
    made = {name: exported(frames, name, cols, redaction) for name, cols in wanted.items()}
    for name, frame in made.items():
        target = place if single else folder_for(place) / f"{name}.csv"
        with replacing(target) as beside:
            # Lines end as RFC 4180 has it; a lone carriage return in a text is then quoted, too.
            frame.to_csv(
                beside,
                index=False,
                encoding="utf-8",
                lineterminator="\r\n",
                date_format="%Y-%m-%dT%H:%M:%S.%fZ",
            )
        written.append(str(target))
    return written
