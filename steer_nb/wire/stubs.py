"""From an output item to the stub it asks for, and what identifies a stub (chapter 6)."""

from __future__ import annotations

from typing import Any, Final

from steer_nb.errors import InvalidInput
from steer_nb.wire.jsonio import shown
from steer_nb.wire.stub_kinds import KIND_BY_CALL, STUB_KINDS

__all__ = ["is_answer", "stub_for", "stub_key"]


def stub_for(item: dict[str, Any]) -> dict[str, Any] | None:
    """Make the stub for an output item that the client has to answer.

    Parameters
    ----------
    item : dict
        An output item of a response, complete.

    Returns
    -------
    dict or None
        The stub as ``response.steer.pending`` would list it. None where the service answers itself
        (hosted tools, a shell in a container, tool search on the server), and for every type that
        is not known to be the client's: nothing is guessed.

    Examples
    --------
    >>> stub_for({"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"})
    {'type': 'function_call_output', 'call_id': 'call_1', 'name': 'f'}
    """
    call_type = item.get("type")
    kind = KIND_BY_CALL.get(call_type) if isinstance(call_type, str) else None
    if kind is None:
        return None
    key = item.get(kind.call_key)
    if not isinstance(key, str) or not key:
        return None  # nothing could name it in an answer
    stub: dict[str, Any] = {"type": kind.type, kind.key_field: key}
    if call_type == "function_call":
        if isinstance(item.get("name"), str):
            stub["name"] = item["name"]
    elif call_type == "tool_search_call":
        if item.get("execution") != "client":
            return None
        stub["execution"] = "client"
    elif call_type == "shell_call" and not _is_local(item.get("environment")):
        return None
    return stub


def _is_local(environment: object) -> bool:
    if environment is None:
        return True
    return isinstance(environment, dict) and environment.get("type") == "local"


_KEYS: Final = ("call_id", "approval_request_id", "tool_call_id", "id")


def is_answer(item: dict[str, Any]) -> bool:
    """Whether an item answers a call that the client owns, by its type.

    Every output is taken for one, kinds that nobody knows yet too, but for what the service writes
    itself: what an agent's own call of another agent gave (`BetaMultiAgentCallOutput`), what a
    program gave, and which tools were found where the service searched.

    Examples
    --------
    >>> is_answer({"type": "mcp_approval_response"}), is_answer({"type": "new_call_output"})
    (True, True)
    >>> is_answer({"type": "multi_agent_call_output"}), is_answer({"type": "message"})
    (False, False)
    >>> is_answer({"type": "tool_search_output", "execution": "server"})
    False
    """
    kind = item.get("type")
    if not isinstance(kind, str) or kind in ("multi_agent_call_output", "program_output"):
        return False
    if kind == "tool_search_output" and item.get("execution") == "server":
        return False
    return kind in STUB_KINDS or kind.endswith("_output")


def stub_key(stub: dict[str, Any]) -> str:
    """Say what identifies a stub among those of its response.

    Parameters
    ----------
    stub : dict
        A stub, or a filled item.

    Returns
    -------
    str
        Its `call_id` or `approval_request_id` (for ``local_shell_call_output`` its `id`). For an
        unknown kind, and for Letta's, the first of `call_id`, `approval_request_id`,
        `tool_call_id` and `id` that it has.

    Raises
    ------
    InvalidInput
        Nothing identifies it.
    """
    kind = stub.get("type")
    known = STUB_KINDS.get(kind) if isinstance(kind, str) else None
    names = (known.key_field,) if known else _KEYS
    for name in names:
        value = stub.get(name)
        if isinstance(value, str) and value:
            return value
    rule = f"a stub has {' or '.join(names)}"
    msg = f"This stub of type {shown(kind)} has no {' or '.join(names)}, so nothing can answer it."
    raise InvalidInput(msg, field=names[0], value=stub.get(names[0]), rule=rule)
