"""What a request gets instead of what it asked for: over HTTP, and within a stream (chapter 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

__all__ = ["TOO_LONG", "Refused", "Trouble", "model_trouble", "not_found", "overflow"]

GENERIC: Final = "An unknown error occurred with the LLM streaming request."
MIDSTREAM: Final = "An error occurred during agent execution."
TOO_LONG: Final = "context_length_exceeded"
"""How a provider says that a request is too long."""
_OVERFLOW: Final = (
    "Compaction failed because the system prompt is too large for this model's context window. "
    "Reduce system instructions, memory blocks, or tools, or use a model with a larger context "
    "window."
)


class Refused(Exception):
    """An HTTP answer other than 200, before anything has begun.

    Parameters
    ----------
    status : int
        Of HTTP.
    detail : object
        The body's `detail`.
    **more
        Further keys of the body.
    """

    def __init__(self, status: int, detail: Any, **more: Any) -> None:
        super().__init__(str(detail))
        self.status = status
        self.body: dict[str, Any] = {"detail": detail, **more}


def not_found(given: str, *, kind: str) -> Refused:
    """Refuse an id that is none, in the words of the database."""
    return Refused(404, f"{kind} not found with id='['{given}']', access level in ['read']")


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a run failed.

    Attributes
    ----------
    status, body : int and dict
        The answer where JSON was asked for.
    detail : str
        What it is about, in words.
    message : str
        What a stream's error says; often nothing.
    error_type, stop_reason : str
        As a stream says them.
    """

    status: int
    body: dict[str, Any]
    detail: str
    message: str = GENERIC
    error_type: str = "internal_error"
    stop_reason: str = "error"

    @classmethod
    def of(cls, status: int, detail: str) -> Trouble:
        """Make one whose text stands in `detail`."""
        return cls(status, {"detail": detail}, detail)

    def frame(self, run_id: str, *, midstream: bool = False) -> dict[str, Any]:
        """Give the error as a stream says it: midstream, with less."""
        of_model = midstream and self.stop_reason == "llm_api_error"
        return {
            "message_type": "error_message",
            "run_id": run_id,
            "error_type": "internal_error" if of_model else self.error_type,
            "message": MIDSTREAM if of_model else self.message,
            "detail": self.detail,
            "seq_id": None,
        }


# How a provider's errors come out: HTTP status, class, message, the detail's beginning. 4.2, 7.
_PROVIDER: Final[dict[str, tuple[int, int, str, str, str]]] = {
    "server_error": (
        500, 500, "llm_error", "An error occurred with the LLM request.",
        "INTERNAL_SERVER_ERROR: OpenAI API error",
    ),
    "rate_limit_exceeded": (
        429, 429, "llm_rate_limit",
        "Rate limit exceeded for LLM model provider. Please wait before making another request.",
        "RATE_LIMIT_EXCEEDED: Rate limited by OpenAI",
    ),
    "authentication_error": (
        401, 401, "llm_authentication", "Authentication failed with the LLM model provider.",
        "UNAUTHENTICATED: OpenAI authentication error",
    ),
    "timeout": (
        504, 504, "llm_timeout",
        "The LLM request timed out. The model may be overloaded or experiencing high latency.",
        "DEADLINE_EXCEEDED: Request to OpenAI timed out",
    ),
}  # fmt: skip


def model_trouble(code: str, message: str) -> Trouble:
    """Say that the model's provider failed; an unknown code is a server error.

    Examples
    --------
    >>> model_trouble("rate_limit_exceeded", "Slower.").detail[:44]
    'RATE_LIMIT_EXCEEDED: Rate limited by OpenAI:'
    """
    if code == TOO_LONG:
        provider = {"error": {"message": message, "type": code}}
        about = f"Bad request to OpenAI (context window exceeded): Error code: 400 - {provider}"
        return Trouble.of(400, f"CONTEXT_WINDOW_EXCEEDED: {about} ({{'is_byok': False}})")
    status, said, kind, text, begin = _PROVIDER.get(code, _PROVIDER["server_error"])
    provider = {"error": {"message": message, "type": code}}
    detail = f"{begin}: Error code: {said} - {provider}"
    body = {"error": {"type": kind, "message": text, "detail": detail}}
    return Trouble(status, body, detail, text, kind, "llm_api_error")


def overflow(detail: str) -> Trouble:
    """Say that what an agent is told at first is too long for any compaction to help."""
    reason = "context_window_overflow_in_system_prompt"
    return Trouble(400, {"detail": detail}, detail, _OVERFLOW, reason, reason)
