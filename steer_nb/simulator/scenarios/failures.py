"""Every refusal and failure, by its own name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.simulator.calls import CallFunction
from steer_nb.simulator.scenario import scenario
from steer_nb.simulator.scenarios.common import answer, heard
from steer_nb.simulator.steps import (
    AwaitSteer,
    Disconnect,
    ErrorEvent,
    Fail,
    FailSuccessor,
    Incomplete,
    Refuse,
    RefuseSteers,
    Reject,
    Say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["FAILURES", "failures"]

_STEERS_REFUSED = (
    "response_not_found",
    "invalid_input",
    "steering_not_supported",
    "too_many_pending_steers",
    "response_already_completed",
    "response_not_active",
)
_RESPONSE_FAILS = {
    "server_error": "The server had an error while processing your request.",
    "rate_limit_exceeded": "Rate limit reached. Please try again later.",
    "invalid_prompt": "The prompt was flagged.",
}
_RESPONSE_STOPS = ("max_output_tokens", "max_messages", "content_filter")
_REQUEST_REFUSED = {
    "previous_response_not_found": (400, "Previous response not found."),
    "websocket_connection_limit_reached": (400, "Responses websocket connection limit reached."),
    "insufficient_quota": (429, "You exceeded your current quota."),
    "model_not_found": (404, "The requested model does not exist."),
}

FAILURES = (
    *_STEERS_REFUSED,
    "successor_creation_failed",
    *_RESPONSE_FAILS,
    *_RESPONSE_STOPS,
    *_REQUEST_REFUSED,
    "credit_balance_exhausted",
    "refusal",
    "missing_output",
    "disconnect",
)
"""Words that the `failures` scenario understands."""

_MENU = (
    "Name a failure, and I do it.\n"
    f"Of a steer: {', '.join((*_STEERS_REFUSED, 'successor_creation_failed'))}.\n"
    f"Of a response: {', '.join((*_RESPONSE_FAILS, *_RESPONSE_STOPS))}, credit_balance_exhausted, "
    "refusal.\n"
    f"Of a request: {', '.join(_REQUEST_REFUSED)}, missing_output.\n"
    "Of the connection: disconnect."
)


@scenario(
    "failures",
    "Fails as your text says: a failed steer's code, server_error, refusal, disconnect and more.",
)
def failures(turn: Turn) -> Iterator[Step]:
    """Look for a failure's name in the newest words, and do that."""
    words = turn.steers or turn.input_texts
    wanted = _wanted(words[-1] if words else "")
    if wanted in _REQUEST_REFUSED:
        status, message = _REQUEST_REFUSED[wanted]
        yield Reject(wanted, message, status)
    if wanted is not None and (turn.steers or turn.results):
        yield Say(f"{heard(turn)}\n\n")
    if wanted in _STEERS_REFUSED:
        yield RefuseSteers(wanted)
        yield Say(f"Steer me within ten seconds: the answer will be {wanted}.")
        yield AwaitSteer(10)
    elif wanted == "successor_creation_failed":
        yield FailSuccessor()
        yield Say(
            "Steer me within ten seconds: the steer will be accepted, but no successor can be made."
        )
        yield AwaitSteer(10)
    elif wanted in _RESPONSE_FAILS:
        yield Say("This will not end well.")
        yield Fail(wanted, _RESPONSE_FAILS[wanted])
    elif wanted in _RESPONSE_STOPS:
        yield Say("This sentence is the last one before the")
        yield Incomplete(wanted)
    elif wanted == "credit_balance_exhausted":
        yield Say("There was just enough credit for")
        yield ErrorEvent(wanted, "Your credit balance is exhausted.", 402, "insufficient_quota")
    elif wanted == "refusal":
        yield Refuse("I cannot help with that.")
    elif wanted == "missing_output":
        yield Say("Send your next message without answering this call: it will be refused.")
        yield CallFunction("get_weather", {"city": "Lisbon"})
    elif wanted == "disconnect":
        yield Say("The connection ends here.")
        yield Disconnect(1011, "simulated failure")
    elif turn.steers or turn.results:
        yield Say(f"{heard(turn)} Nothing failed.")
    else:
        yield Say(f"{answer(turn)} {_MENU}")


def _wanted(text: str) -> str | None:
    lowered = text.lower().replace(" ", "_").replace("-", "_")
    found = [name for name in FAILURES if name in lowered]
    return max(found, key=len, default=None)  # one name is part of another
