"""Calls that the client has to answer, and whether an input answers them (chapter 6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput
from steer_nb.simulator.refusals import Refusal, invalid, missing
from steer_nb.wire import STUB_KINDS, fill_stub, is_answer, stub_for, stub_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from steer_nb.wire import StubKind

__all__ = ["calls_in", "match_results", "stub_of"]

_FILLS = frozenset({"output", "status", "tools", "approve"})


def stub_of(call: dict[str, Any]) -> dict[str, Any]:
    """Give the stub of a call that is known to be the client's."""
    stub = stub_for(call)
    assert stub is not None
    return stub


def calls_in(items: Iterable[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Find the client-owned calls among items, by key."""
    found: dict[str, dict[str, Any]] = {}
    for item in items:
        stub = stub_for(item)
        if stub is not None:
            found[stub_key(stub)] = item
    return found


def match_results(
    items: list[dict[str, Any]],
    carried: Mapping[str, dict[str, Any]],
    *,
    must_answer: bool,
    async_blocks: bool,
) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Match results in a create's input with the calls they answer.

    Parameters
    ----------
    items : list of dict
        The new input. Calls in it count too: a client may send a whole conversation again.
    carried : mapping
        Open calls of the previous response, by key.
    must_answer : bool
        Whether every call has to be answered now.
    async_blocks : bool
        Whether asynchronous calls are among those.

    Returns
    -------
    results, still_open : dict
        Filled items by key, and the calls that remain open.

    Raises
    ------
    Refusal
        A result without a call, a second result for a call, a result of the wrong kind or shape, or
        a call without a result: ``No tool output found for function call …``.
    """
    open_calls = dict(carried)
    results: dict[str, dict[str, Any]] = {}
    shells = (item for item in items if item.get("type") == "shell_call")
    hosted = {item.get("call_id") for item in shells if stub_for(item) is None}
    for index, item in enumerate(items):
        own = not is_answer(item) and item.get("call_id") not in open_calls
        if own and item["type"] in STUB_KINDS:
            continue  # the service's own, in a conversation that is sent again
        kind = STUB_KINDS.get(item.get("type", ""))
        if kind is None:
            stub = stub_for(item)
            if stub is not None:
                open_calls[stub_key(stub)] = item
            continue
        key = item.get(kind.key_field)
        if item["type"] == "shell_call_output" and key in hosted:
            continue
        where = f"input[{index}]"
        title = _title(kind.call_types[0])
        if not isinstance(key, str) or not key:
            msg = f"Missing required parameter: '{where}.{kind.key_field}'."
            raise Refusal(msg, code="missing_required_parameter", param=f"{where}.{kind.key_field}")
        if key in results:
            msg = f"Duplicate output for {title} {key}: each call takes one."
            raise invalid(param="input", message=msg, code=None)
        call = open_calls.get(key)
        if call is None or call.get("type") not in kind.call_types:
            msg = f"No tool call found for {title} output with call_id {key}."
            if kind.type == "mcp_approval_response":
                msg = f"No approval request found with approval_request_id {key}."
            raise invalid(param="input", message=msg, code=None)
        _check_filled(item, kind, call, where)
        results[key] = item
    still_open = {key: call for key, call in open_calls.items() if key not in results}
    if must_answer:
        for key, call in still_open.items():
            if call.get("async") and not async_blocks:
                continue
            title = _title(call["type"])
            msg = f"No tool output found for {title} {key}."
            if call["type"] == "mcp_approval_request":
                msg = f"No approval response found for {title} {key}."
            raise invalid(param="input", message=msg, code=None)
    return results, still_open


def _title(call_type: str) -> str:
    """How the service's messages call it: "function call" is official (openai.com forum, SDKs)."""
    return call_type.replace("_", " ").replace("mcp ", "MCP ")


def _check_filled(item: dict[str, Any], kind: StubKind, call: dict[str, Any], where: str) -> None:
    """Check a result's own fields by the input schemas (chapter 6)."""
    stub = {name: item[name] for name in ("type", kind.key_field)}
    given = {name: value for name, value in item.items() if name not in stub}
    # Only of a computer call is it documented that the answer has to match the call: it
    # acknowledges the pending safety checks.
    matched = call if call["type"] == "computer_call" else None
    try:
        filled = fill_stub(stub, matched, **given)
    except InvalidInput as error:
        param = f"{where}.{error.field}"
        if error.field in _FILLS and error.field not in item:
            raise missing(param=param) from error
        msg = f"Invalid value for '{param}': {error.rule or error}."
        raise invalid(param=param, message=msg) from error
    # A client may turn any value into text; on the wire it has to be text or parts already.
    if filled.get("output") != item.get("output"):
        msg = f"Invalid type for '{where}.output': expected a string or an array of content parts."
        raise Refusal(msg, code="invalid_type", param=f"{where}.output")
