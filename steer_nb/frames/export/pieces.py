"""Hiding what stands in a text that came in pieces: a key may begin in one and end in the next."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pandas as pd

from steer_nb.frames.arrays import clean, json_text
from steer_nb.frames.columns import TEXT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.frames.export.redaction import Redaction

__all__ = ["PIECES", "STREAM", "masked_columns", "masked_pieces", "text_array"]

PIECES: Final = ("delta_text", "delta_json", "raw_json")
"""Columns of events that hold pieces."""
STREAM: Final = ("trace_id", "response_id", "type", "output_index", "content_index")
"""Columns that say which text a piece is of."""

_RAW: Final = ("events", "raw_json")


def masked_columns(redaction: Redaction, frame: pd.DataFrame) -> dict[str, Any]:
    """Redact the columns of events that hold pieces, all pieces of one text together.

    Parameters
    ----------
    redaction : Redaction
        One that looks for something in texts.
    frame : DataFrame
        Events; with the columns that say which text a piece is of, else all are taken for one.

    Returns
    -------
    dict
        The new columns, by name.
    """
    messages = [_decoded(raw) for raw in _values(frame, "raw_json")]
    texts = _values(frame, "delta_text")
    if "delta_text" not in frame:
        deltas = [message.get("delta") for message in messages]
        texts = [delta if isinstance(delta, str) else None for delta in deltas]
    streams: dict[tuple[Any, ...], list[int]] = {}
    keys = zip(*(_values(frame, name) for name in STREAM), strict=True)
    for row, key in enumerate(keys):
        if texts[row] is not None:
            streams.setdefault(key, []).append(row)
    for rows in streams.values():
        pieces = masked_pieces(redaction, [texts[row] or "" for row in rows])
        for row, piece in zip(rows, pieces, strict=True):
            texts[row] = piece
    made: dict[str, list[str | None]] = {"delta_text": texts}
    made["delta_json"] = [
        None if value is None else json_text(redaction.split(json.loads(value)))
        for value in _values(frame, "delta_json")
    ]
    made["raw_json"] = [
        _raw(redaction, raw, message, text)
        for raw, message, text in zip(_values(frame, "raw_json"), messages, texts, strict=True)
    ]
    return {name: text_array(made[name]) for name in PIECES if name in frame}


def text_array(values: Sequence[str | None]) -> Any:
    """Make a column of texts, in characters that UTF-8 has."""
    return pd.array([None if value is None else clean(value) for value in values], dtype=TEXT)


def masked_pieces(redaction: Redaction, pieces: Sequence[str]) -> list[str]:
    """Redact a text that is in pieces, and keep the rest of each piece where it was.

    Examples
    --------
    >>> from steer_nb.frames.export.redaction import redaction
    >>> masked_pieces(redaction("Lisbon"), ["In Lis", "bon and ", "Porto."])
    ['In [redacted]', ' and ', 'Porto.']
    """
    whole = "".join(pieces)
    spans = sorted(redaction.spans(whole))
    if not spans:
        clean = redaction.text(whole, ("events", "delta_text"))
        # Found in JSON only, where the same text may be written in other letters.
        return list(pieces) if clean == whole else [clean, *("" for _ in pieces[1:])]
    result: list[str] = []
    start = 0
    for piece in pieces:
        end, at, kept = start + len(piece), start, ""
        for first, last, mask in spans:
            if last <= at or first >= end:
                continue
            kept += whole[at : max(first, at)]
            if start <= first and first >= at:
                kept += mask
            at = max(at, min(last, end))
        result.append(kept + whole[at:end])
        start = end
    return result


def _values(frame: pd.DataFrame, name: str) -> list[Any]:
    if name not in frame:
        return [None] * len(frame)
    values = frame[name]
    return list(values.astype(object).where(values.notna(), None))


def _decoded(raw: str | None) -> dict[str, Any]:
    try:
        value = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _raw(
    redaction: Redaction, raw: str | None, message: dict[str, Any], text: str | None
) -> str | None:
    if raw is None:
        return None
    if "delta" not in message:
        return redaction.json(raw, _RAW, item=True)
    delta = message["delta"]
    new = redaction.item(message, _RAW)
    if isinstance(delta, str):
        new["delta"] = delta if text == clean(delta) else text
    else:
        new["delta"] = redaction.split(delta)
    return raw if new == message and redaction.masked(raw) == raw else json_text(new)
