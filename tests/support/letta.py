"""Build traces of Letta sessions by hand, message by message."""

from __future__ import annotations

import json
from typing import Any

from steer_nb.trace import SCHEMA, Entry, Header, Trace

AGENT = "agent-1"
PATH = f"/v1/agents/{AGENT}/messages"
PENDING = (
    "CONFLICT: Cannot send a new message: The agent is waiting for approval on a tool call. Please "
    "approve or deny the pending request before continuing."
)


def tool_call(call_id: str, name: str | None = "rm", arguments: str | None = '{"p":1}') -> dict:
    return {"name": name, "arguments": arguments, "tool_call_id": call_id}


def tool_return(call_id: str, text: str = "done", status: str = "success", **fields: Any) -> dict:
    return {"type": "tool", "tool_return": text, "status": status, "tool_call_id": call_id,
            "stdout": None, "stderr": None, **fields}  # fmt: skip


def approval(call_id: str, approve: bool = True, reason: str | None = None) -> dict:
    return {"type": "approval", "tool_call_id": call_id, "approve": approve, "reason": reason}


def denial(call_id: str, reason: str = "no") -> dict:
    """What the service gives the model for a call that was denied."""
    text = f"Error: request to call tool denied. User reason: {reason}"
    return tool_return(call_id, text, "error")


class LettaBuilder:
    """Write down what happened; every entry comes a tenth of a second after the one before.

    >>> trace = LettaBuilder().say("Hi").text("run-1", "Hel").text("run-1", "lo").stop().trace
    """

    def __init__(self, lane: str = AGENT, *, trace_id: str = "5e" * 16) -> None:
        self.trace = Trace(
            Header(SCHEMA, trace_id, 1_700_000_000.0, source="letta", dialect="letta")
        )
        self.lane = lane
        self.add("note", note="connected", data={"url": "http://127.0.0.1:8283"})

    def add(self, kind: Any, **fields: Any) -> LettaBuilder:
        seq = len(self.trace)
        t = round(seq * 0.1, 6)
        self.trace.append(Entry(seq, 1_700_000_000.0 + t, t, kind, 1, **fields))
        return self

    def note(self, name: str, /, **data: Any) -> LettaBuilder:
        return self.add("note", note=name, data=data)

    def in_(self, message: Any, **marks: Any) -> LettaBuilder:
        raw = message if isinstance(message, str) else json.dumps(message)
        return self.add("in", raw=raw, data={"lane": self.lane, **marks})

    def post(self, body: dict[str, Any], path: str = PATH, **marks: Any) -> LettaBuilder:
        data = {"lane": self.lane, "path": path, **marks}
        return self.add("out", raw=json.dumps(body), data=data)

    # -- what is sent ------------------------------------------------------------------------

    def say(self, text: str = "Hi", *, tools: tuple[str, ...] = (), **marks: Any) -> LettaBuilder:
        body: dict[str, Any] = {"messages": [{"role": "user", "content": text, "otid": "o-say"}]}
        if tools:
            body["client_tools"] = [{"name": name} for name in tools]
        return self.post(body, **marks)

    def answer(self, *decisions: dict[str, Any], **marks: Any) -> LettaBuilder:
        return self.post({"messages": [{"type": "approval", "approvals": [*decisions]}]}, **marks)

    # -- what comes --------------------------------------------------------------------------

    def message(self, kind: str, run: str | None, **fields: Any) -> LettaBuilder:
        return self.in_(self.body(kind, run, **fields))

    @staticmethod
    def body(kind: str, run: str | None, **fields: Any) -> dict[str, Any]:
        shared = {"id": f"message-{run}", "date": "2026-11-30T00:23:04+00:00", "otid": f"{run}-0",
                  "step_id": f"step-{run}", "run_id": run, "message_type": kind}  # fmt: skip
        return {**shared, **fields}

    def ping(self, run: str, seq: int | None = None) -> LettaBuilder:
        return self.message("ping", run, id="ping-1", otid=None, seq_id=seq)

    def text(self, run: str, text: str, otid: str = "t", **fields: Any) -> LettaBuilder:
        return self.message("assistant_message", run, content=text, otid=f"{run}-{otid}", **fields)

    def request(self, run: str, *calls: dict[str, Any], **fields: Any) -> LettaBuilder:
        return self.in_(self.request_body(run, *calls, **fields))

    def request_body(self, run: str, *calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
        own = f"message-{run}-ask"
        shared = {"id": own, "otid": own, "tool_call": calls[0] if calls else {}}
        return self.body(
            "approval_request_message", run, **{**shared, "tool_calls": [*calls], **fields}
        )

    def piece(self, run: str, call: dict[str, Any], kind: str = "approval_request_message") -> Any:
        """The next piece of a call, in token mode."""
        own = f"message-{run}-ask"
        return self.message(kind, run, id=own, otid=own, tool_call=call, tool_calls=call)

    def calls(self, run: str, *calls: dict[str, Any]) -> LettaBuilder:
        return self.message(
            "tool_call_message", run, otid=f"{run}-c", tool_call=calls[0], tool_calls=[*calls]
        )

    def returns(self, run: str, *returns: dict[str, Any], **fields: Any) -> LettaBuilder:
        return self.in_(self.returns_body(run, *returns, **fields))

    def returns_body(self, run: str, *returns: dict[str, Any], **fields: Any) -> dict[str, Any]:
        first = {name: value for name, value in returns[0].items() if name != "type"}
        own = {"id": f"message-{run}-back", "otid": f"{run}-back", "tool_returns": [*returns]}
        first["tool_return"] = str(first["tool_return"])
        return self.body("tool_return_message", run, **{**first, **own, **fields})

    def decided_body(self, run: str, *decisions: dict[str, Any]) -> dict[str, Any]:
        own = {"id": f"message-{run}-said", "otid": None, "step_id": None}
        return self.body("approval_response_message", run, **own, approvals=[*decisions])

    def stop(self, reason: str = "end_turn", *, tokens: int | None = 5) -> LettaBuilder:
        self.in_({"message_type": "stop_reason", "stop_reason": reason})
        if tokens is not None:
            self.usage(tokens)
        return self

    def usage(self, tokens: int) -> LettaBuilder:
        counts = {"prompt_tokens": tokens - 2, "completion_tokens": 2, "total_tokens": tokens}
        return self.in_({"message_type": "usage_statistics", "step_count": 1, **counts})

    def error(self, run: str, detail: str, message: str = "An error occurred.") -> LettaBuilder:
        return self.in_({"message_type": "error_message", "run_id": run, "message": message,
                         "error_type": "internal_error", "detail": detail})  # fmt: skip

    def history(self, *messages: dict[str, Any]) -> LettaBuilder:
        for number, message in enumerate(messages, start=1):
            last = {"last": True} if number == len(messages) else {}
            self.in_(message, **{"from": "history", **last})
        return self

    def body_of(self, body: Any, path: str = PATH, status: int = 200) -> LettaBuilder:
        """An answer of HTTP that is no message."""
        return self.in_(body, body=path, status=status)
