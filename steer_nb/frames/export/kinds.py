"""The exports by their names, as magics and the command line call them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from steer_nb.errors import InvalidInput

if TYPE_CHECKING:
    from os import PathLike

    from steer_nb.frames.export.redaction import Redact
    from steer_nb.frames.export.tables import Wanted
    from steer_nb.trace.answers import HasFrames

__all__ = ["KINDS", "export_as"]

KINDS: Final = ("parquet", "csv", "messages", "chat", "otel")
"""What a trace can be exported as."""
_URLS: Final = ("http://", "https://")


def export_as(
    source: HasFrames,
    kind: str,
    path: str | PathLike[str],
    *,
    tables: Wanted = None,
    lane: str | None = None,
    content: bool = False,
    partitioned: bool | None = None,
    redact: Redact = None,
) -> str:
    """Export a trace or a set of them, and say in one line what was written.

    Parameters
    ----------
    source : Trace or TraceSet
        What to export.
    kind : str
        One of `KINDS`; ``chat`` are messages of Chat Completions.
    path : str or path-like
        Where to; for ``otel`` a file or an OTLP endpoint.
    tables, partitioned
        For ``parquet`` and ``csv``.
    lane : str, optional
        For ``messages`` and ``chat``.
    content : bool
        For ``otel``.
    redact : optional
        See `Export`.

    Raises
    ------
    InvalidInput
        `kind` is none.
    SteerError
        What the export itself raises.
    """
    export = source.export
    if kind == "parquet":
        files = export.parquet(path, tables=tables, redact=redact, partitioned=partitioned)
        return f"{path}: {_count(len(files), 'file')}"
    if kind == "csv":
        files = export.csv(path, tables=tables, redact=redact)
        return f"{path}: {_count(len(files), 'file')}"
    if kind in ("messages", "chat"):
        made = export.messages(lane, shape="chat" if kind == "chat" else "responses", redact=redact)
        made.save(path)
        notes = [f"answered as cancelled: {', '.join(made.cancelled)}"] if made.cancelled else []
        notes += [f"left out: {', '.join(dict.fromkeys(made.left_out))}"] if made.left_out else []
        return "; ".join([f"{path}: {_count(len(made), 'message')}", *notes])
    if kind == "otel":
        if str(path).startswith(_URLS):
            return str(export.otel(str(path), content=content, redact=redact))
        return str(export.otel(file=path, content=content, redact=redact))
    rule = f"one of {', '.join(KINDS)}"
    msg = f"A trace cannot be exported as {kind!r}: it must be {rule}."
    raise InvalidInput(msg, field="kind", value=kind, rule=rule)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
