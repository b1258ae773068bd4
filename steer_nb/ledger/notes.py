"""Local notes of a trace as facts: the same for every service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import facts as f
from steer_nb.ledger.finished import finished_items
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
            return (
                f.LaneOpened(lane, dict(data.get("settings") or {}), _word(data, "forked_from")),
            )
        case "lane_closed":
            return (f.LaneClosed(lane),)
        case "lane_recovered":
            return (f.LaneRecovered(lane, _name(data, "choice"), _word(data, "base")),)
        case "dropped":
            return (f.Dropped(_name(data, "key")),)
        case "checked":
            return (_checked(lane, data),)
        case "reconnecting" | "gave_up":
            return (
                f.Reconnecting(
                    int(data.get("attempt", 0)),
                    int(data.get("attempts", 0)),
                    float(data.get("delay_s", 0.0)),
                    str(data.get("reason", "")),
                ),
            )
        case "filled":
            return (
                f.InputFilled(
                    _name(data, "parent"),
                    _name(data, "key"),
                    dict(data["item"]),
                    str(data.get("by", "unknown")),
                ),
            )
        case "cleared":
            return (f.InputCleared(_name(data, "parent"), _name(data, "key")),)
        case "draft":
            return (_draft(lane, data),)
        case "recovered":
            return (f.Recovered(),)
        case "tool_started":
            return (
                f.ToolStarted(
                    _name(data, "parent"),
                    _name(data, "key"),
                    _name(data, "name"),
                    str(data.get("by", "unknown")),
                ),
            )
        case "tool_finished":
            duration = data.get("duration_s")
            return (
                f.ToolFinished(
                    _name(data, "parent"),
                    _name(data, "key"),
                    bool(data["ok"]),
                    str(data.get("output", "")),
                    _word(data, "error"),
                    duration if isinstance(duration, int | float) else None,
                    str(data.get("printed", "")),
                    _word(data, "traceback"),
                    _outputs(data.get("displayed")),
                ),
            )
        case "steer_queued":
            again = _word(data, "again")
            said = (_name(data, "key"), _name(data, "parent"), data["input"])
            return (f.SteerQueued(*said, again),)
        case "stream_lost":
            return (f.StreamLost(_name(data, "key")),)
        case "stream_resumed":
            steers = data.get("steers") or []
            return (f.StreamResumed(_name(data, "key"), tuple(map(str, steers))),)
        case "request_found":
            return (f.RequestFound(_name(data, "key"), _name(data, "response_id")),)
        case "input_released":
            return (f.InputReleased(lane, (_name(data, "parent"),), False),)
        case "unsent":
            return (f.Unsent(_name(data, "key"), str(data.get("reason", ""))),)
        case "problem":
            kind, detail = str(data.get("kind", "")), str(data.get("detail", ""))
            if kind in PROBLEM_KINDS:
                return (f.Odd(kind, detail),)
            return (f.Odd("local", f"{kind}: {detail}"),)
        case _:
            return ()


def _outputs(given: object) -> tuple[dict[str, str], ...]:
    """Read what a tool displayed: text by MIME type, whatever else a recording holds there."""
    outputs = given if isinstance(given, list) else []
    return tuple(
        {kind: text for kind, text in output.items() if isinstance(text, str)}
        for output in outputs
        if isinstance(output, dict)
    )


def _draft(lane: str | None, data: dict[str, Any]) -> f.Fact:
    """Read what is half typed: into a form, or into the box below a lane."""
    if "key" not in data:
        return f.TextDrafted(lane, _name(data, "text"))
    fields = data["fields"]
    return f.InputDrafted(
        _name(data, "parent"), _name(data, "key"), None if fields is None else dict(fields)
    )


_OVER: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})


def _checked(lane: str | None, data: dict[str, Any]) -> f.Checked:
    """What a service said of a response when it was asked; see `steer_nb.client.checking`."""
    response_id, response, items = _name(data, "response_id"), data["response"], data["input_items"]
    if response is None:
        return f.Checked(response_id, None)
    status = _name(response, "status")
    ended = None
    if status in _OVER:
        finished = finished_items(lane, response)
        ended = f.ResponseEnded(lane, response_id, status, response, finished)
    return f.Checked(
        response_id,
        status,
        _word(response, "previous_response_id"),
        ended,
        None if items is None else tuple(item for item in items if isinstance(item, dict)),
    )


def _name(data: dict[str, Any], field: str) -> str:
    """Return a field that names something; without it the note says nothing."""
    value = data[field]
    if not isinstance(value, str):
        msg = f"{field} {value!r} is no name"
        raise TypeError(msg)
    return value


def _word(data: dict[str, Any], field: str) -> str | None:
    value = data.get(field)
    return value if isinstance(value, str) else None
