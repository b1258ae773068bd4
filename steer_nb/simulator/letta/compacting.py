"""Compaction: a summary takes the place of what the model no longer sees.

It happens where a step used more tokens than fit, where the model's provider refuses a request as
too long, and where it is asked for. Of all that, a client sees what `event` and `told` make; both
in streams only, and as themselves only where ``include_compaction_messages`` is set (chapter 2).

Source: `letta/services/summarizer` and `letta_agent_v3.py` of the server 0.16.8.
"""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steer_nb.simulator.letta.naming import otid_of
from steer_nb.simulator.letta.stored import base, letta_messages, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from steer_nb.simulator.letta.stored import Stored

__all__ = [
    "RETRIES",
    "Compacted",
    "SystemTooLong",
    "compact",
    "event",
    "packed",
    "size_of",
    "summary_in",
    "threshold",
    "told",
]

RETRIES: Final = 3
"""So often a request that is too long is sent again behind a compaction."""
_TRIGGER: Final = 0.9
_BEGINS: Final = "\nThe following is a summary of the previous messages:\n "
_CLIPPED: Final = "... [summary truncated to fit]"


class SystemTooLong(Exception):
    """What the agent is told at first fills the context window alone: nothing helps.

    Parameters
    ----------
    size, window : int
        Tokens.
    """

    def __init__(self, size: int, window: int) -> None:
        details = {"system_prompt_token_estimate": size, "context_window": window}
        super().__init__(
            f"CONTEXT_WINDOW_EXCEEDED: The system prompt tokens {size} exceeds the context window "
            f"{window}. Please reduce the size of your system prompt, memory blocks, or increase "
            f"the context window. ({details})"
        )


class Compacted(NamedTuple):
    """What is left of a conversation.

    Attributes
    ----------
    kept : list of Stored
        What the model still sees; the summary belongs behind the first.
    summary : str
        Of the rest.
    mode : str
        ``sliding_window`` or ``all``.
    size : int
        Tokens of what is kept.
    """

    kept: list[Stored]
    summary: str
    mode: str
    size: int


def size_of(messages: Sequence[Stored]) -> int:
    """Say about how many tokens messages are; what a client answered is in the results already."""
    counted = (one for one in messages if one.role != "approval_response")
    words = sum(len(str(one.content or one.parts or one.answers)) for one in counted)
    return words // 4 + 1


def threshold(window: int) -> int:
    """Say behind how many tokens a conversation is compacted.

    Examples
    --------
    >>> threshold(128_000)
    115200
    """
    return int(window * _TRIGGER)


def compact(
    context: list[Stored],
    settings: Mapping[str, Any],
    window: int,
    *,
    limit: int | None = None,
) -> Compacted:
    """Put a summary in the place of a conversation's beginning, or of all of it.

    A request that waits for approval is kept, with the calls beside it.

    Parameters
    ----------
    context : list of Stored
        What the model sees; the first is what the agent is told.
    settings : mapping
        `mode`, `sliding_window_percentage`, `clip_chars`.
    window : int
        Tokens that fit.
    limit : int, optional
        Tokens that must not be reached; where a window does not do, all is summarised.

    Raises
    ------
    SystemTooLong
        Even the first message alone does not fit, and `limit` is given.
    """
    found = None
    if "sliding_window" in str(settings.get("mode") or "sliding_window"):
        found = _slide(context, float(settings.get("sliding_window_percentage") or 0.3), window)
    mode = "all" if found is None else "sliding_window"
    gone, kept = found or _all(context)
    if limit is not None and size_of(kept) >= limit:
        if mode == "sliding_window":
            mode, (more, kept) = "all", _all(kept)
            gone = [*gone, *more]
        first = size_of(kept[:1])
        if size_of(kept) >= limit and first >= window:
            raise SystemTooLong(first, window)
    clip = settings.get("clip_chars")
    summary = _summary(gone)
    if clip is not None and len(summary) > clip:
        summary = summary[:clip] + _CLIPPED
    return Compacted(kept, summary, mode, size_of(kept))


def _slide(
    context: list[Stored], share: float, window: int
) -> tuple[list[Stored], list[Stored]] | None:
    """Cut before something that the model said; None where that leaves nothing to keep."""
    many = len(context)
    last = many - 2 if context[-1].role == "approval" else many - 1
    size, at = window, None
    evicted = share
    while size >= (1 - share) * window and evicted < 1.0:
        evicted += 0.10
        cut = min(round(evicted * many), many - 1)
        spoken = (n for n in range(cut, 0, -1) if context[n].role in ("assistant", "approval"))
        at = next(spoken, None)
        if at is not None:
            size = size_of([context[0], *context[at:]])
    if at is None or evicted >= 1.0 or at >= last:
        return None
    return context[1:at], [context[0], *context[at:]]


def _all(context: list[Stored]) -> tuple[list[Stored], list[Stored]]:
    """Cut at the end, before a request that waits."""
    cut = len(context)
    if context[-1].role == "approval":
        cut -= 1
        beside = context[cut - 1]
        if beside.role == "assistant" and beside.step_id == context[-1].step_id:
            cut -= 1
    return context[1:cut], [context[0], *context[cut:]]


def _summary(gone: list[Stored]) -> str:
    """Summarise, as the stand-in for a model does: who said what, and what was called."""
    asked = [text_of(one.content) for one in gone if one.role == "user" and one.summary is None]
    before = [one.summary for one in gone if one.summary is not None]
    called = dict.fromkeys(call.name for one in gone for call in one.calls)
    lines = [*before, f"{len(gone)} messages."]
    lines += [f"The user said: {text}" for text in asked if text]
    lines += [f"Called: {', '.join(called)}."] if called else []
    return "\n".join(lines)


def packed(done: Compacted, at: float, stats: Mapping[str, Any] | None) -> str:
    """Write a summary as it is kept, and as a history shows it."""
    note = "Note: prior messages have been hidden from view due to conversation memory constraints."
    if done.mode == "sliding_window" and stats is None:
        note = (
            "Note: prior messages from the beginning of the conversation have been hidden from "
            "view due to conversation memory constraints."
        )
    elif done.mode == "sliding_window" and stats is not None:
        many = stats["messages_count_before"] - stats["messages_count_after"]
        note = (
            f"Note: {many} messages from the beginning of the conversation have been hidden from "
            "view due to memory constraints."
        )
    moment = dt.datetime.fromtimestamp(at, dt.UTC)
    value: dict[str, Any] = {
        "type": "system_alert",
        "message": f"{note}{_BEGINS}{done.summary}",
        "time": moment.strftime("%Y-%m-%d %I:%M:%S %p UTC+0000"),
    }
    if stats is not None:
        value["compaction_stats"] = dict(stats)
    return json.dumps(value, indent=2, ensure_ascii=False)


def summary_in(content: Any) -> str | None:
    """Find the summary in a user's message that is one; None where it is none.

    Examples
    --------
    >>> said = packed(Compacted([], "Two messages.", "all", 0), 0, None)
    >>> summary_in(said), summary_in("Hello.")
    ('Two messages.', None)
    """
    try:
        value = json.loads(content) if isinstance(content, str) else None
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("type") != "system_alert":
        return None
    note, found, summary = str(value.get("message")).partition(_BEGINS)
    return summary if found and note.startswith("Note: ") else None


def event(
    event_id: str,
    at: float,
    *,
    trigger: str,
    size: int | None,
    window: int,
    run_id: str,
    step_id: str,
) -> dict[str, Any]:
    """Say that a compaction begins; its id is no message's, and it has no otid."""
    own = base("event_message", event_id, None, at, step_id=step_id, run_id=run_id)
    data = {"trigger": trigger, "context_token_estimate": size, "context_window": window}
    return {**own, "event_type": "compaction", "event_data": data}


def told(summary: Stored, stats: Mapping[str, Any] | None, *, plainly: bool) -> dict[str, Any]:
    """Say in a stream what a compaction left: a summary, or a user's message with all of it."""
    if not plainly:
        return letta_messages(summary)[0]
    own = base(
        "summary_message",
        summary.id,
        otid_of(summary.id, 0),
        summary.created,
        step_id=summary.step_id,
        run_id=summary.run_id,
    )
    return {**own, "summary": summary.summary, "compaction_stats": stats and dict(stats)}
