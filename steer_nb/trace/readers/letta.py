"""Letta V1: streams, message lists and JSON answers, each message beside what it means here.

Every message stays verbatim, under the type word that Letta gives it. What it says is added in the
words of the Responses API, so that texts and calls stand in the tables: a run is a response, and
its messages are output items, told apart by their `otid`.

Source: chapters 1 and 2 of the protocol notes on Letta (server 0.16.8, `letta-client` 1.12.1).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    from steer_nb.trace.readers.recording import Recording
    from steer_nb.wire import Event

__all__ = ["Conversation", "approvals_of", "decoded", "is_message"]

_COMPLETED: Final = frozenset({"end_turn", "max_steps", "tool_rule", "requires_approval"})
_TEXTS: Final = {
    "assistant_message": ("message", "content", "response.output_text.delta", "output_text"),
    "reasoning_message": (
        "reasoning",
        "reasoning",
        "response.reasoning_text.delta",
        "reasoning_text",
    ),
}
_CALLS: Final = {
    "tool_call_message": "letta_tool_call",
    "approval_request_message": "letta_approval_call",
}
_SAID: Final = {"user_message": "user", "system_message": "system"}


def is_message(event: Event) -> bool:
    """Say whether a decoded message is one of Letta's."""
    if event.type or '"message_type"' not in event.raw:
        return False
    return isinstance(event.payload.get("message_type"), str)


class Conversation:
    """Messages of one lane, in the order they came: what each says in the Responses API's words.

    Parameters
    ----------
    found : Recording
        Where they go.
    lane : str
        Their lane.
    listed : bool
        Whether they come as a list of whole messages: runs may interleave there, and have no stop.
    """

    def __init__(self, found: Recording, lane: str, *, listed: bool = False) -> None:
        found.source = found.dialect = "letta"
        self._found = found
        self._lane = lane
        self._listed = listed
        self._run: str | None = None
        self._runs: dict[str, dict[str, dict[str, Any]]] = {}
        """The output items of the runs that are not over, by run and by what tells items apart."""
        self._said: list[dict[str, Any]] = []
        self._n_runs = 0

    def take(
        self, text: str, place: int, *, at: float | None = None, t: float | None = None
    ) -> None:
        """Take one message of a stream, or of a list."""
        value = decoded(text)
        kind = str(value.get("message_type"))
        said: list[dict[str, Any]] = []
        run = value.get("run_id")
        if not isinstance(run, str):
            run = self._run
        elif run != self._run and run not in self._runs and kind != "error_message":
            said += [] if self._listed else self._finished("completed")
            said += self._begun(run)
        if kind == "stop_reason":
            said += self._stopped(str(value.get("stop_reason")))
        elif kind == "usage_statistics":
            said += self._used(value)
        elif kind == "error_message":
            said += self._failed(value)
        elif kind in _READ and not (self._listed and run is None):
            if run is None:
                run = self._local_run()
                said += self._begun(run)
            message = self._message(kind, value, self._runs.setdefault(run, {}))
            # Another run began on this lane meanwhile: the end of this one will say it all.
            said += message if run == self._run else []
        self._said = said
        data = self._found.on_lane(self._lane, **{"as": said, "type": kind})
        self._found.message("in", text, place, at=at, t=t, data=data)

    @property
    def running(self) -> str | None:
        """The run that is not over, if there is one."""
        return self._run if self._run in self._runs else None

    def end(self) -> None:
        """Finish: runs of a list have no stop of their own, and are over."""
        for run in list(self._runs) if self._listed else ():
            self._run = run
            self._said += self._finished("completed")

    def _local_run(self) -> str:
        self._n_runs += 1
        return f"{self._lane}/run-{self._n_runs}"

    def _begun(self, run: str) -> list[dict[str, Any]]:
        self._run = run
        self._runs[run] = {}
        head = {"id": run, "object": "response", "status": "in_progress", "output": []}
        return [{"type": "response.created", "response": head}]

    def _finished(self, status: str, **fields: Any) -> list[dict[str, Any]]:
        items = None if self._run is None else self._runs.pop(self._run, None)
        if items is None:
            return []
        kind = {"completed": "response.completed", "failed": "response.failed"}.get(status)
        head = {"id": self._run, "object": "response", "status": status, **fields}
        head["output"] = [_whole(item) for item in items.values()]
        return [{"type": kind or "response.done", "response": head}]

    def _stopped(self, reason: str) -> list[dict[str, Any]]:
        if reason in _COMPLETED:
            return self._finished("completed")
        if reason == "cancelled":
            return self._finished("cancelled")
        error = {"code": reason, "message": f"Letta stopped the run: {reason}."}
        return self._finished("failed", error=error)

    def _failed(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        """An error; where nothing came before it but the stop, it is the first to name its run."""
        error = _error(value)
        run = value.get("run_id")
        if self._run is not None or not isinstance(run, str):
            return [error]
        told = {"code": error["code"], "message": error["message"]}
        return [*self._begun(run), *self._finished("failed", error=told), error]

    def _used(self, value: dict[str, Any]) -> list[dict[str, Any]]:
        usage = {
            "input_tokens": value.get("prompt_tokens"),
            "output_tokens": value.get("completion_tokens"),
            "total_tokens": value.get("total_tokens"),
            "input_tokens_details": {
                "cached_tokens": value.get("cached_input_tokens"),
                "cache_write_tokens": value.get("cache_write_tokens"),
            },
            "output_tokens_details": {"reasoning_tokens": value.get("reasoning_tokens")},
        }
        head = {"id": self._run, "object": "response", "usage": usage}
        return [{"type": "response.in_progress", "response": head}] if self._run else []

    def _message(self, kind: str, value: dict[str, Any], items: Items) -> list[dict[str, Any]]:
        item_id = value.get("otid") or value.get("id")  # parts of one message share its id
        key = f"{kind}/{item_id}"
        if kind in _TEXTS:
            item_type, field, event, part = _TEXTS[kind]
            said, item = _item(items, key, {"type": item_type, "id": item_id})
            if kind == "assistant_message":
                item["role"] = "assistant"
            content = item.setdefault("content", [{"type": part, "text": ""}])
            text = _plain(value.get(field))
            content[0]["text"] += text
            return [*said, _delta(items, event, key, text, content_index=0)]
        if kind in _CALLS:
            return _calls(kind, value, items)
        if kind == "tool_return_message":
            return _returns(value, items)
        if kind == "approval_response_message":
            return _item(items, key, {**approvals_of(value), "id": item_id})[0]
        role = _SAID.get(kind)
        content = [{"type": "input_text", "text": _plain(value.get("content"))}]
        fields: dict[str, Any] = {"type": "message", "role": role, "content": content}
        if role is None:
            fields = {name: held for name, held in value.items() if name != "message_type"}
            fields["type"] = f"letta_{kind}"
        return _item(items, key, {**fields, "id": item_id})[0]


Items = dict[str, dict[str, Any]]


def _item(
    items: Items, key: str, fields: dict[str, Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Find an item, or begin it: then there is an event that says so."""
    item = items.get(key)
    if item is not None:
        return [], item
    items[key] = fields
    place = len(items) - 1
    added = {"type": "response.output_item.added", "output_index": place, "item": {**fields}}
    return [added], fields


def _delta(items: Items, event: str, key: str, text: str, **places: int) -> dict[str, Any]:
    place = {"output_index": list(items).index(key), "item_id": items[key].get("id"), **places}
    return {"type": event, "delta": text, **place}


def _calls(kind: str, value: dict[str, Any], items: Items) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    many = value.get("tool_calls") or value.get("tool_call")
    for call in many if isinstance(many, list) else [many]:
        if not isinstance(call, dict):
            continue
        call_id, name = call.get("tool_call_id"), call.get("name")
        key = f"{kind}/{call_id or value.get('otid')}"
        added, item = _item(items, key, {"type": _CALLS[kind], "id": call_id, "call_id": call_id})
        # In token mode the name stands in the first piece only, the arguments come in pieces.
        if isinstance(name, str):
            item["name"] = name
        text = _plain(call.get("arguments"))
        item["arguments"] = item.get("arguments", "") + text
        for event in added:
            event["item"]["name"] = item.get("name")
        said += [*added, _delta(items, "response.function_call_arguments.delta", key, text)]
    return said


def _returns(value: dict[str, Any], items: Items) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = []
    returns = value.get("tool_returns")
    for one in returns if isinstance(returns, list) and returns else [value]:
        if not isinstance(one, dict):
            continue
        call_id = one.get("tool_call_id")
        fields = {
            "type": "letta_tool_call_output",
            "call_id": call_id,
            "name": value.get("name"),
            "output": one.get("tool_return"),
            "status": one.get("status"),
        }
        said += _item(items, f"return/{value.get('otid')}/{call_id}", fields)[0]
    return said


_READ: Final = frozenset(
    {
        *_TEXTS,
        *_CALLS,
        *_SAID,
        "hidden_reasoning_message",
        "tool_return_message",
        "approval_response_message",
        "summary_message",
        "event_message",
    }
)


def _whole(item: dict[str, Any]) -> dict[str, Any]:
    return {**item, "status": item.get("status") or "completed"}


def approvals_of(value: dict[str, Any]) -> dict[str, Any]:
    """Read the decisions of an approval, also where they stand in its deprecated fields."""
    approvals = value.get("approvals")
    if not approvals and value.get("approval_request_id") is not None:
        approvals = [
            {
                "type": "approval",
                "tool_call_id": value["approval_request_id"],
                "approve": value.get("approve"),
                "reason": value.get("reason"),
            }
        ]
    return {"type": "letta_approval_response", "approvals": approvals}


def _error(value: dict[str, Any]) -> dict[str, Any]:
    message = value.get("detail") or value.get("message")
    return {"type": "error", "code": value.get("error_type"), "message": str(message)}


def _plain(content: object) -> str:
    """The text of a content value: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def decoded(text: str) -> dict[str, Any]:
    """Decode a JSON object; empty for what is none."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
