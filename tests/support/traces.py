"""Build traces by hand, message by message."""

from __future__ import annotations

import json
from typing import Any

from steer_nb.trace import SCHEMA, Entry, Header, Trace

TRACE_ID = "0123456789abcdef0123456789abcdef"


class TraceBuilder:
    """Write down what happened; every entry comes a tenth of a second after the one before.

    >>> trace = TraceBuilder().connect().out({"type": "response.create"}).trace
    """

    def __init__(self, *, step: float = 0.1, start: float = 1_700_000_000.0) -> None:
        self.trace = Trace(Header(steer_nb=SCHEMA, trace_id=TRACE_ID, started_at=start))
        self.connection = 0
        self._step = step
        self._start = start

    def add(self, kind: Any, **fields: Any) -> TraceBuilder:
        seq = len(self.trace)
        t = round(seq * self._step, 6)
        connection = fields.pop("connection", self.connection)
        self.trace.append(Entry(seq, self._start + t, t, kind, connection, **fields))
        return self

    def connect(self, url: str = "ws://127.0.0.1:1/v1/responses") -> TraceBuilder:
        self.connection += 1
        return self.note("connected", url=url, limit_s=3600)

    def close(self, code: int | None = 1006, reason: str = "", by: str = "network") -> TraceBuilder:
        return self.note("closed", code=code, reason=reason, by=by)

    def note(self, name: str, /, **data: Any) -> TraceBuilder:
        return self.add("note", note=name, data=data)

    def out(self, message: dict[str, Any], *, key: str | None = None) -> TraceBuilder:
        data = None if key is None else {"key": key, "lane": message.get("stream_id")}
        return self.add("out", raw=json.dumps(message), data=data)

    def in_(self, message: dict[str, Any] | str) -> TraceBuilder:
        raw = message if isinstance(message, str) else json.dumps(message)
        return self.add("in", raw=raw)

    # -- whole messages, short ---------------------------------------------------------------

    def create(
        self,
        text: Any = "hi",
        *,
        lane: str | None = None,
        previous: str | None = None,
        key: str | None = None,
    ) -> TraceBuilder:
        message: dict[str, Any] = {"type": "response.create", "model": "m", "input": text}
        if lane is not None:
            message["stream_id"] = lane
        if previous is not None:
            message["previous_response_id"] = previous
        return self.out(message, key=key)

    def steer(self, parent: str, text: Any = "more", *, key: str | None = None) -> TraceBuilder:
        message = {"type": "response.steer", "previous_response_id": parent, "input": text}
        return self.out(message, key=key)

    def event(self, kind: str, *, lane: str | None = None, **fields: Any) -> TraceBuilder:
        message: dict[str, Any] = {"type": kind, **fields}
        if lane is not None:
            message["stream_id"] = lane
        return self.in_(message)

    def created(
        self, response_id: str, *, previous: str | None = None, lane: str | None = None
    ) -> TraceBuilder:
        return self.event(
            "response.created", lane=lane, response=response(response_id, previous=previous)
        )

    def ended(
        self,
        response_id: str,
        status: str = "completed",
        *,
        lane: str | None = None,
        reason: str | None = None,
        output: list[dict[str, Any]] | None = None,
        previous: str | None = None,
        usage: dict[str, Any] | None = None,
    ) -> TraceBuilder:
        body = response(response_id, previous=previous, status=status, output=output or [])
        body["incomplete_details"] = None if reason is None else {"reason": reason}
        body["usage"] = usage
        return self.event(f"response.{status}", lane=lane, response=body)

    def checked(
        self,
        response_id: str,
        status: str | None = None,
        *,
        lane: str | None = None,
        items: list[dict[str, Any]] | None = None,
        **fields: Any,
    ) -> TraceBuilder:
        """What the service said over HTTP; without a status, that it has no such response."""
        body = None if status is None else response(response_id, status=status, **fields)
        return self.note(
            "checked", lane=lane, response_id=response_id, response=body, input_items=items
        )

    def added(
        self, item: dict[str, Any], index: int = 0, *, lane: str | None = None
    ) -> TraceBuilder:
        return self.event("response.output_item.added", lane=lane, output_index=index, item=item)

    def done(
        self, item: dict[str, Any], index: int = 0, *, lane: str | None = None
    ) -> TraceBuilder:
        return self.event("response.output_item.done", lane=lane, output_index=index, item=item)

    def delta(self, text: str, index: int = 0, *, lane: str | None = None) -> TraceBuilder:
        return self.event(
            "response.output_text.delta",
            lane=lane,
            item_id=f"msg_{index}",
            output_index=index,
            content_index=0,
            delta=text,
            logprobs=[],
        )

    def accepted(self, steer_id: str, parent: str, *, lane: str | None = None) -> TraceBuilder:
        steer = {"id": steer_id, "previous_response_id": parent}
        return self.event("response.steer.accepted", lane=lane, steer=steer)

    def pending(
        self, steer_id: str, parent: str, stubs: list[dict[str, Any]], *, lane: str | None = None
    ) -> TraceBuilder:
        return self.event(
            "response.steer.pending",
            lane=lane,
            steer={"id": steer_id, "previous_response_id": parent},
            reason="waiting_for_required_input",
            required_input=stubs,
        )

    def failed(
        self, parent: str, value: Any, code: str, *, steer_id: str | None = None
    ) -> TraceBuilder:
        steer = {"previous_response_id": parent, "input": value}
        if steer_id is not None:
            steer["id"] = steer_id
        error = {"type": "invalid_request_error", "code": code, "message": f"simulated {code}"}
        return self.event("response.steer.failed", steer=steer, error=error)


def response(
    response_id: str,
    *,
    previous: str | None = None,
    status: str = "in_progress",
    output: list[dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """A response object with what the fold reads."""
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "model": "m",
        "previous_response_id": previous,
        "output": output or [],
    }


def call(call_id: str = "call_1", name: str = "get_weather", **fields: Any) -> dict[str, Any]:
    """A finished function call."""
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "call_id": call_id,
        "name": name,
        "arguments": '{"city":"Lisbon"}',
        "status": "completed",
        **fields,
    }


def stub(call_id: str = "call_1", name: str = "get_weather") -> dict[str, Any]:
    """The stub that `call` asks for."""
    return {"type": "function_call_output", "call_id": call_id, "name": name}


def listed(value: Any, number: int = 0) -> dict[str, Any]:
    """A user's message, or another item, as the service lists it among input items."""
    if not isinstance(value, str):
        return {**value, "id": f"in_{number}", "status": "completed"}
    content = [{"type": "input_text", "text": value}]
    head = {"type": "message", "id": f"in_{number}", "status": "completed"}
    return {**head, "role": "user", "content": content}


def message(text: str, index: int = 0) -> dict[str, Any]:
    """A finished assistant message."""
    return {
        "type": "message",
        "id": f"msg_{index}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
