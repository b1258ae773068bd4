"""Local notes of a trace as facts: the same for every service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.ledger import facts as f
from steer_nb.trace import PROBLEM_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.trace.entries import Entry

__all__ = ["read_note"]


def read_note(entry: Entry) -> Sequence[f.Fact]:
    """Say which fact a note states; notes of a newer version state nothing here."""
    try:
        return _read(entry.note, entry.data or {})
    except (KeyError, TypeError, ValueError) as error:  # a damaged file must not stop the fold
        return (f.Odd("bad_json", f"note {entry.note!r} cannot be read: {error!r}"),)


def _read(note: str | None, data: dict[str, Any]) -> Sequence[f.Fact]:
    lane = data.get("lane")
    if lane is not None and not isinstance(lane, str):
        msg = f"lane {lane!r} is no name"
        raise TypeError(msg)
    match note:
        case "connected":
            return (f.Connected(str(data.get("url", ""))),)
        case "closed":
            code = data.get("code")
            return (
                f.Disconnected(
                    code if isinstance(code, int) else None,
                    str(data.get("reason", "")),
                    str(data.get("by", "network")),
                ),
            )
        case "lane":
            return (f.LaneOpened(lane, dict(data.get("settings") or {}), data.get("forked_from")),)
        case "lane_closed":
            return (f.LaneClosed(lane),)
        case "filled":
            return (
                f.InputFilled(
                    data["parent"], data["key"], dict(data["item"]), data.get("by", "unknown")
                ),
            )
        case "cleared":
            return (f.InputCleared(data["parent"], data["key"]),)
        case "tool_started":
            return (
                f.ToolStarted(data["parent"], data["key"], data["name"], data.get("by", "unknown")),
            )
        case "tool_finished":
            return (
                f.ToolFinished(
                    data["parent"],
                    data["key"],
                    bool(data["ok"]),
                    str(data.get("output", "")),
                    data.get("error"),
                    data.get("duration_s"),
                ),
            )
        case "unsent":
            return (f.Unsent(data["key"], str(data.get("reason", ""))),)
        case "problem":
            kind, detail = str(data.get("kind", "")), str(data.get("detail", ""))
            if kind in PROBLEM_KINDS:
                return (f.Odd(kind, detail),)
            return (f.Odd("local", f"{kind}: {detail}"),)
        case _:
            return ()
