"""`error` events: what the server answers when it cannot do what a message asks.

Chapter 1.5 of the protocol notes. The socket stays open after each of them.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Refusal", "bad_json", "connection_limit", "invalid", "invalid_stream_id"]
__all__ += ["missing", "not_found", "stream_limit", "unknown_parameter"]


class Refusal(Exception):
    """A request is refused; `event` gives what goes over the wire."""

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        status: int = 400,
        type: str = "invalid_request_error",  # noqa: A002 - the wire's word
        omit_param: bool = False,
        attributable: bool = True,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.param = param
        self.status = status
        self.type = type
        self.omit_param = omit_param
        self.attributable = attributable

    def event(self, stream_id: str | None) -> dict[str, Any]:
        """Give the `error` event; the lane is named where the error belongs to one."""
        error: dict[str, Any] = {"type": self.type, "code": self.code, "message": self.message}
        if not self.omit_param:
            error["param"] = self.param
        event: dict[str, Any] = {"type": "error", "status": self.status}
        if stream_id is not None and self.attributable:
            event["stream_id"] = stream_id
        event["error"] = error
        return event


def not_found(response_id: str) -> Refusal:
    """Refuse an unknown `previous_response_id`."""
    return Refusal(
        f"Previous response with id '{response_id}' not found.",
        code="previous_response_not_found",
        param="previous_response_id",
    )


def invalid_stream_id() -> Refusal:
    """Refuse a malformed lane name; this event names no lane."""
    return Refusal(
        "The 'stream_id' field must be a non-empty string with at most 256 characters and may only "
        "contain letters, numbers, underscores, hyphens, and periods.",
        code="invalid_stream_id",
        param="stream_id",
        attributable=False,
    )


def stream_limit(limit: int) -> Refusal:
    """Refuse one lane name too many."""
    return Refusal(
        "This WebSocket connection has reached its maximum number of distinct stream IDs "
        f"({limit}). Reuse an existing stream_id or open a new WebSocket connection.",
        code="websocket_stream_limit_reached",
        param="stream_id",
    )


def connection_limit(seconds: float) -> Refusal:
    """Say that the connection is too old."""
    minutes = f"{seconds / 60:g} minutes"
    return Refusal(
        f"Responses websocket connection limit reached ({minutes}). "
        "Create a new websocket connection to continue.",
        code="websocket_connection_limit_reached",
        omit_param=True,
        attributable=False,
    )


def bad_json(*, detail: str) -> Refusal:
    """Refuse a message that is not one JSON object in a text message."""
    return Refusal(
        f"The message could not be read as one JSON object: {detail}.",
        code="invalid_json",
        attributable=False,
    )


def missing(*, param: str) -> Refusal:
    """Refuse a request without a required field."""
    return Refusal(
        f"Missing required parameter: '{param}'.", code="missing_required_parameter", param=param
    )


def unknown_parameter(*, param: str) -> Refusal:
    """Refuse a request with a field that nobody documents."""
    return Refusal(f"Unknown parameter: '{param}'.", code="unknown_parameter", param=param)


def invalid(*, param: str, message: str, code: str | None = "invalid_value") -> Refusal:
    """Refuse a value."""
    return Refusal(message, code=code, param=param)
