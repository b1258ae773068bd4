"""What to do about the errors that a service is known to send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.errors import ServerRefused
from steer_nb.wire import largest_parts

if TYPE_CHECKING:
    from typing import Any

    from steer_nb.ledger import Ledger

__all__ = ["ADVICE", "refused", "too_big"]

ADVICE = {
    "previous_response_not_found": (
        "The service no longer has that response: send the conversation again as a new one "
        "(previous_response_id=None)."
    ),
    "websocket_stream_limit_reached": (
        "A connection takes 32 lane names: use one of its lanes again, or connect anew."
    ),
    "invalid_stream_id": "Rename the lane: letters, digits, underscores, hyphens and periods.",
    "websocket_connection_limit_reached": "The connection is 60 minutes old: connect again.",
    "invalid_api_key": "Check the API key.",
    "model_not_found": "Check the model's name, and whether the account may use it.",
    "context_length_exceeded": "The conversation is too long for the model: begin a new one.",
    "insufficient_quota": "The account has no credit left.",
    "credit_balance_exhausted": "The account has no credit left.",
    "usage_limit_reached": "The plan's limit is reached: wait until it is reset.",
    "rate_limit_exceeded": "Too many requests: wait a little and send it again.",
    "server_error": "The service had a problem: send it again in a minute.",
    "unsupported_native_inflight_message": (
        "This service cannot take messages while it writes: wait for the end of the turn."
    ),
}
"""Advice by error code, or by type where a service sends no code [O, chapter 1.5, and the API]."""


def refused(
    code: str | None,
    message: str | None,
    *,
    param: str | None = None,
    status: int | None = None,
    kind: str | None = None,
) -> ServerRefused:
    """Build the error for a request that never became a response.

    Parameters
    ----------
    code, message, param : str or None
        As the service sent them.
    status : int or None
        The HTTP-like status in the event.
    kind : str or None
        The error's type; where there is no code, it may say as much.

    Examples
    --------
    >>> str(refused("rate_limit_exceeded", "Slow down."))
    'The request was refused (rate_limit_exceeded): Slow down. Too many requests: wait a little \
and send it again.'
    """
    word = code or (kind if kind in ADVICE else None)
    known = word or (f"HTTP {status}" if status else "no code")
    said = (message or "The service gave no reason").strip()
    if not said.endswith((".", "!", "?")):
        said += "."
    advice = ADVICE.get(word or "", "")
    return ServerRefused(
        f"The request was refused ({known}): {said} {advice}".rstrip(),
        code=code,
        param=param,
        status=status,
    )


def too_big(ledger: Ledger, size: int, key: str) -> str:
    """Say which message was the largest of a connection that ended with 1009, and what fills it.

    Parameters
    ----------
    ledger : Ledger
        The session's.
    size : int
        Bytes of that message.
    key : str
        Its local key.
    """
    parts = [f"{where} ({part:,} bytes)" for where, part in largest_parts(_body(ledger, key))]
    most = f", most of it in {', '.join(parts)}" if parts else ""
    return f"The largest message was {key} with {size:,} bytes{most}: send less."


def _body(ledger: Ledger, key: str) -> dict[str, Any]:
    request = ledger.requests.get(key)
    if request is not None:
        return request.body
    if key in ledger.injects:
        return {"input": list(ledger.injects[key].answers)}
    return {"input": ledger.steers[key].input} if key in ledger.steers else {}
