"""What a call gave: its kind in one word, and its text, from the item that answers it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.errors import InvalidInput
from steer_nb.frames.arrays import json_text
from steer_nb.wire import cancelled_fields

if TYPE_CHECKING:
    from steer_nb.ledger import RequiredInputState

__all__ = ["client_result", "content_text", "letta_result", "server_result"]

Result = tuple[str, str | None]


def client_result(answer: dict[str, Any], state: RequiredInputState | None) -> Result:
    """Read an answer that we sent.

    Parameters
    ----------
    answer : dict
        The input item that was sent.
    state : RequiredInputState or None
        What is known of the call that it answers.

    Returns
    -------
    kind : {"value", "error", "denied", "cancelled"}
        ``cancelled``: exactly what "answer all as cancelled" gives.
    text : str or None
        None where it is no text, such as a screenshot.
    """
    text = _answer_text(answer)
    if state is not None and _is_cancelled(answer, state):
        return "cancelled", text
    kind = answer.get("type")
    if kind in ("mcp_approval_response", "approval"):
        return ("denied" if answer.get("approve") is False else "value"), text
    if kind == "tool":
        return ("error" if answer.get("status") == "error" else "value"), text
    if kind == "apply_patch_call_output" and answer.get("status") == "failed":
        return "error", text
    if kind == "shell_call_output" and _timed_out(answer.get("output")):
        return "error", text
    run = None if state is None else state.tool
    if run is not None and run.ok is False and run.error is not None and run.error in (text or ""):
        return "error", text  # what the function raised, and nothing else put in its place
    return "value", text


def _is_cancelled(answer: dict[str, Any], state: RequiredInputState) -> bool:
    if answer.get("type") == "tool_search_output":
        return False  # an empty list is what a search gives that found nothing
    try:
        fields = cancelled_fields(state.stub, state.call)
    except InvalidInput:
        return False  # a stub that nothing identifies
    return bool(fields) and all(answer.get(name) == value for name, value in fields.items())


def _timed_out(output: object) -> bool:
    outcomes = [part.get("outcome") for part in _dicts(output)]
    return any(isinstance(o, dict) and o.get("type") == "timeout" for o in outcomes)


def _answer_text(answer: dict[str, Any]) -> str | None:
    kind = answer.get("type")
    if kind in ("mcp_approval_response", "approval"):
        return _word(answer.get("reason"))
    if kind == "tool":
        return content_text(answer.get("tool_return"))
    if kind == "tool_search_output":
        return json_text(answer.get("tools"))
    output = answer.get("output")
    if kind == "shell_call_output":
        return _shell_text(output)
    return content_text(output)


def content_text(content: object) -> str | None:
    """The text of a content value: a string, or a list with text parts among others."""
    if isinstance(content, str):
        return content
    texts = [part["text"] for part in _dicts(content) if isinstance(part.get("text"), str)]
    return "\n".join(texts) if texts else None


def _shell_text(output: object) -> str | None:
    if isinstance(output, str):
        return output
    parts = [
        part[name]
        for part in _dicts(output)
        for name in ("stdout", "stderr")
        if isinstance(part.get(name), str)
    ]
    return "".join(parts) if parts else None


# What the service gives as the result of a call that was not to run (3.2, 3.4).
_DENIED: Final = "Error: request to call tool denied."
_CANCELLED: Final = f"{_DENIED} User reason: The user cancelled the request"


def letta_result(result: dict[str, Any] | None, answer: dict[str, Any] | None) -> Result:
    """Read what a call of a Letta agent came to.

    Parameters
    ----------
    result : dict or None
        The item that shows its result, where the service has shown one.
    answer : dict or None
        The client's decision or result, where it is known.

    Returns
    -------
    kind : {"value", "error", "denied", "cancelled", "none"}
        ``none``: it has no result yet; a call that was approved waits for one.
    text : str or None
        What the model is told.
    """
    if result is not None:
        text = content_text(result.get("output"))
        if (text or "").startswith(_CANCELLED):
            return "cancelled", text
        if (answer or {}).get("approve") is False or (text or "").startswith(_DENIED):
            return "denied", text
        return ("error" if result.get("status") == "error" else "value"), text
    if answer is None or answer.get("approve") is True:
        return "none", None
    return client_result(answer, None)


def server_result(call: dict[str, Any], output: dict[str, Any] | None) -> Result:
    """Read the result of a call that the service ran.

    Parameters
    ----------
    call : dict
        The output item of the call.
    output : dict or None
        The output item that answers it, where the service sends one apart.

    Returns
    -------
    kind : {"value", "error", "none"}
        ``none``: it is not finished.
    text : str or None
        None where the service does not show it, or it is no text.
    """
    error = call.get("error")
    if error:
        return "error", error if isinstance(error, str) else json_text(error)
    held = call if output is None else output
    text = _held_text(held)
    status = held.get("status", call.get("status"))
    if status == "failed":
        return "error", text
    if status == "completed" or (status is None and (output is not None or text is not None)):
        return "value", text
    return "none", text


def _held_text(item: dict[str, Any]) -> str | None:
    kind = item.get("type")
    if kind == "tool_search_output":
        return json_text(item.get("tools"))
    if kind == "shell_call_output":
        return _shell_text(item.get("output"))
    if kind == "code_interpreter_call":
        logs = [p["logs"] for p in _dicts(item.get("outputs")) if isinstance(p.get("logs"), str)]
        return "".join(logs) if logs else None
    return content_text(item.get("output"))


def _dicts(value: object) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None
