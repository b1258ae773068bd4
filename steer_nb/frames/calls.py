"""Rows of the tool_calls table: each call of a response, and the one result it got."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from steer_nb.errors import InvalidInput
from steer_nb.frames.arrays import json_text, strict_json
from steer_nb.frames.keeping import keep
from steer_nb.frames.results import client_result, letta_result, server_result
from steer_nb.wire import stub_for, stub_key

if TYPE_CHECKING:
    from steer_nb.frames.fold import Fold
    from steer_nb.ledger import InjectState, ItemState, RequestState, ResponseState

    Message: TypeAlias = RequestState | InjectState
    Found = tuple[Message, dict[str, Any]]
    """A request or an inject, and the answer to a call that it carried."""

__all__ = ["call_kind", "call_rows"]

Row = dict[str, Any]

_KINDS: Final = {
    "function_call": "function",
    "custom_tool_call": "custom",
    "computer_call": "computer",
    "shell_call": "shell",
    "local_shell_call": "shell",
    "apply_patch_call": "apply_patch",
    "tool_search_call": "tool_search",
    "mcp_call": "mcp",
    "mcp_approval_request": "mcp_approval",
    "web_search_call": "web_search",
    "file_search_call": "file_search",
    "code_interpreter_call": "code_interpreter",
    "image_generation_call": "image_generation",
    "multi_agent_call": "multi_agent",
    "letta_tool_call": "letta",
    "letta_approval_call": "letta",
}
_ANSWER_KINDS: Final = {
    "function_call_output": "function",
    "custom_tool_call_output": "custom",
    "computer_call_output": "computer",
    "shell_call_output": "shell",
    "local_shell_call_output": "shell",
    "apply_patch_call_output": "apply_patch",
    "tool_search_output": "tool_search",
    "mcp_approval_response": "mcp_approval",
    "approval": "letta",
    "tool": "letta",
}
_LETTA: Final = frozenset({"approval", "tool"})
# Calls that name themselves by their own id; the others have a call_id.
_BY_ID: Final = frozenset({"mcp_approval_request", "local_shell_call"})
# What a call is made with, where that is an object: the fields that hold it.
_OBJECTS: Final = ("arguments", "action", "actions", "operation", "queries")


def call_kind(item_type: str) -> str | None:
    """Say in a word of the table what an output item calls; None for an item that is no call."""
    known = _KINDS.get(item_type)
    return known or ("other" if item_type.endswith("_call") else None)


class _Answers:
    """What messages carried as results, by the response that made the call and the call's key."""

    def __init__(self, requests: list[Message]) -> None:
        self._by_call: dict[tuple[str | None, str], Found] = {}
        for request in requests:
            if request.state in ("failed", "unsent"):
                continue  # it never counted, so what it carried was no answer
            for answer in request.answers:
                try:
                    key = stub_key(answer)
                except InvalidInput:
                    continue  # it names no call
                if request.left and answer.get("type") in _LETTA:
                    continue  # refused, and said so only once a run had begun
                call = (request.previous_response_id, key)
                known = self._by_call.get(call)
                if known is None or known[0].state == "unknown":
                    self._by_call[call] = (request, answer)

    def take(self, response: ResponseState, key: str) -> Found | None:
        """The answer to one call of a response; each is taken once."""
        found = self._by_call.pop((response.id, key), None)
        if found is not None:
            return found
        # Without a chain on the service's side a request repeats the whole conversation, and says
        # only by the call's id what it answers.
        whole = self._by_call.get((None, key))
        if whole is None or whole[0].lane is not response.lane:
            return None
        sent = whole[0].sent
        # Of one that was listed, nobody saw when it began.
        after = response.listed or (sent is not None and sent.seq > response.started.seq)
        return self._by_call.pop((None, key)) if after else None

    def rest(self) -> list[tuple[str | None, str, Message, dict[str, Any]]]:
        """Answers to calls that this trace does not hold."""
        return [(parent, key, *found) for (parent, key), found in self._by_call.items()]


def call_rows(fold: Fold) -> list[Row]:
    """One row for each call, by response and place; then answers to calls that were not seen."""
    ledger = fold.ledger
    messages: list[Message] = [*ledger.injects.values(), *ledger.requests.values()]
    answers = _Answers([message for message in messages if message.sent is not None])
    rows: list[Row] = []
    for response in ledger.responses.values():
        memo = fold.memo[response.id]
        fixed: list[tuple[ItemState, Row]] | None = memo.get("calls")
        if fixed is None:
            fixed = memo["calls"] = [
                (item, _call(fold, response, item, key)) for key, item in _calls(response)
            ]
        made = memo.setdefault("answered", {})
        for place, (item, call) in enumerate(fixed):
            found = answers.take(response, call["call_key"])
            make = partial(_with_result, response, item, call, found)
            rows.append(keep(made, str(place), _progress(response, call, found), make))
    rows.extend(_orphan(fold, *found) for found in answers.rest())
    return rows


def _progress(response: ResponseState, call: Row, found: Found | None) -> tuple[Any, ...]:
    """Everything of a call that can change without an event of its response."""
    state = response.required.get(call["call_key"])
    shown = response.results.get(call["call_key"])
    now: tuple[Any, ...] = ()
    if shown is not None or (state is not None and state.is_shown):
        now = (shown,)
        if state is not None:
            now = (shown, state.state, state.item, state.continuation_response_id)
    if found is None:
        return now
    request, answer = found
    if state is None:
        return (*now, request.key, request.response_id, answer)
    run = None if state.tool is None else (state.tool.ok, state.tool.error)
    return (*now, request.key, request.response_id, answer, state.filled_by, run)


def _with_result(response: ResponseState, item: ItemState, call: Row, found: Found | None) -> Row:
    if call["kind"] == "letta":
        return {**call, **_letta(response, item, call, found)}
    if found is not None:
        return {**call, "owner": "client", **_answer(response, item, call, found)}
    if call["owner"] == "client":
        return {**call, "requested_s": _done_s(item), "result_kind": "none"}
    return {**call, **_outcome(response, item)}


def _calls(response: ResponseState) -> list[tuple[str, ItemState]]:
    """The calls of a response with their keys: each key once, also where a service repeats one."""
    found: dict[str, ItemState] = {}
    for item in response.ordered:
        if call_kind(item.type) is not None:
            key = call_key(item)
            found[f"{key}#{item.output_index}" if key in found else key] = item
    return list(found.items())


def call_key(item: ItemState) -> str:
    """Say what identifies a call within its response."""
    own = item.id or f"#{item.output_index}"
    return own if item.type in _BY_ID else item.call_id or own


def _call(fold: Fold, response: ResponseState, item: ItemState, key: str) -> Row:
    text, as_json, valid = _arguments(item)
    asks = item.type == "letta_approval_call"  # the server may run it: see `_letta`
    ours = not asks and key in response.required
    if not ours and not asks and _output_of(response, item) is None:
        ours = stub_for(item.data) is not None
    return {
        "response_id": response.id,
        "call_key": key,
        "trace_id": fold.trace_id,
        "lane_id": fold.lane_id_of(response),
        "item_id": item.id,
        "agent_name": item.agent_name,
        "kind": call_kind(item.type),
        "owner": "client" if ours else "server",
        "name": item.name or _word(item.data.get("action")),
        "server_label": _word(item.data.get("server_label")),
        "arguments_text": text,
        "arguments_json": as_json,
        "arguments_valid": valid,
        "orphan": False,
    }


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _arguments(item: ItemState) -> tuple[str | None, str | None, bool | None]:
    """What a call is made with: as text, as JSON, and whether the text is JSON."""
    data = item.data
    if item.type == "custom_tool_call":
        return item.arguments or _word(data.get("input")), None, None
    if item.type == "code_interpreter_call":
        return item.joined("code") or _word(data.get("code")), None, None
    if item.type == "image_generation_call":
        return _word(data.get("revised_prompt")), None, None
    text = item.arguments or _word(data.get("arguments"))
    if text is not None:
        if item.source == "added" and item.type != "mcp_approval_request":
            return text, None, None  # still being written
        valid = strict_json(text)
        return text, text if valid else None, valid
    held = {name: data[name] for name in _OBJECTS if data.get(name)}
    if held:
        value = next(iter(held.values())) if len(held) == 1 else held
        written = json_text(value)
        return written, written, written is not None
    return item.joined("command") or None, None, None


def _answer(response: ResponseState, item: ItemState, call: Row, found: Found) -> Row:
    """The result that a request carried."""
    state = response.required.get(call["call_key"])
    request, answer = found
    kind, text = client_result(answer, state)
    by = None if state is None else state.filled_by
    requested, answered = _done_s(item), _sent_s(request)
    return {
        "requested_s": requested,
        "answered_s": answered,
        "wait_s": _waited(answered, requested),
        "result_text": text,
        "result_kind": kind,
        "answered_in_response_id": request.response_id,
        "answered_by": by if by in ("user", "code", "policy") else "unknown",
    }


def _letta(response: ResponseState, item: ItemState, call: Row, found: Found | None) -> Row:
    """The result of a call of a Letta agent: shown in the same run, or in the one behind it.

    A call that waits for approval is the server's: it runs there once it is approved, and the wait
    for that is in `required_inputs`. It is the client's where that runs the tool, or did.
    """
    state = response.required.get(call["call_key"])
    shown = response.results.get(call["call_key"])
    output = _output_of(response, item) if shown is None else None
    request = answer = None
    if found is not None:
        request, answer = found
    elif state is not None and state.state in ("sent", "confirmed"):
        answer = state.item
    result = shown.item if shown is not None else None if output is None else output.data
    kind, text = letta_result(result, answer)
    if result is None and state is not None and state.state == "cancelled":
        kind = "cancelled"
    returned = answer is not None and answer.get("type") == "tool"
    ours = returned or (state is not None and state.type == "letta_tool_return")
    decided = kind in ("denied", "cancelled")
    sent = None if request is None else _sent_s(request)
    requested = answered = where = by = None
    if kind != "none":
        if shown is not None:
            where = shown.response_id
        elif request is not None:
            where = request.response_id
        elif state is not None:
            where = state.continuation_response_id
    if ours:
        requested = _done_s(item)
    elif item.type == "letta_tool_call":
        requested = None if item.added is None else item.added.t
    elif answer is not None and not decided:
        requested = sent  # from here on it may run
    if kind != "none" and (ours or (decided and item.type == "letta_approval_call")):
        answered = sent
        by = None if state is None else state.filled_by
        by = by if by in ("user", "code", "policy") else "unknown"
    elif shown is not None:
        answered = shown.shown.t
    elif output is not None:
        answered = _done_s(output)
    return {
        "owner": "client" if ours else "server",
        "requested_s": requested,
        "answered_s": answered,
        "wait_s": _waited(answered, requested),
        "result_text": text,
        "result_kind": kind,
        "answered_in_response_id": where,
        "answered_by": by,
    }


def _sent_s(message: Message) -> float | None:
    return None if message.sent is None else message.sent.t


def _done_s(item: ItemState) -> float | None:
    return None if item.done is None else item.done.t


def _outcome(response: ResponseState, item: ItemState) -> Row:
    """The result of a call that the service runs."""
    output = _output_of(response, item)
    kind, text = server_result(item.data, None if output is None else output.data)
    last = item if output is None else output
    requested = None if item.added is None else item.added.t
    answered = None if kind == "none" else _done_s(last)
    return {
        "requested_s": requested,
        "answered_s": answered,
        "wait_s": _waited(answered, requested),
        "result_text": text,
        "result_kind": kind,
    }


def _output_of(response: ResponseState, call: ItemState) -> ItemState | None:
    """The output item with which the service itself answers a call in the same response."""
    if call.call_id is None:
        return None
    for item in response.items.values():
        if item.call_id == call.call_id and item.type.endswith("_output"):
            return item
    return None


def _orphan(
    fold: Fold, parent: str | None, key: str, request: Message, answer: dict[str, Any]
) -> Row:
    if answer.get("type") in _LETTA:
        response = fold.ledger.responses.get(request.response_id or "")
        shown = None if response is None else response.results.get(key)
        kind, text = letta_result(None if shown is None else shown.item, answer)
    else:
        kind, text = client_result(answer, None)
    lane = request.lane
    return {
        "response_id": parent,
        "call_key": key,
        "trace_id": fold.trace_id,
        "lane_id": None if lane is None else fold.lane_id(request.connection, lane.stream_id),
        "item_id": None,
        "agent_name": None,
        "kind": _ANSWER_KINDS.get(str(answer.get("type")), "other"),
        "owner": "server" if answer.get("type") == "approval" else "client",
        "name": _word(answer.get("name")),
        "server_label": None,
        "arguments_text": None,
        "arguments_json": None,
        "arguments_valid": None,
        "orphan": True,
        "answered_s": _sent_s(request) if kind != "none" else None,
        "result_text": text,
        "result_kind": kind,
        "answered_in_response_id": request.response_id if kind != "none" else None,
        "answered_by": "unknown" if kind != "none" else None,
    }


def _waited(end: float | None, start: float | None) -> float | None:
    """Seconds that a call waited; None also where the answer went out before the call was whole."""
    return None if end is None or start is None or end < start else end - start
