"""A small way to tell a session's story in entries, for tests that draw it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from steer_nb.ledger import Ledger
from steer_nb.trace.entries import Entry

if TYPE_CHECKING:
    from steer_nb.ledger.state import LaneState

__all__ = ["PLANNER", "SEVEN", "Story", "seven"]

PLANNER = "planner"


class Story:
    """Builds a ledger from events, requests and notes, each at its second."""

    def __init__(self, lane: str | None = PLANNER) -> None:
        self.ledger = Ledger()
        self.entries: list[Entry] = []
        self.lane_name = lane
        self.now = 0.0
        self.connection = 1
        self.note(0.0, "connected", url="ws://127.0.0.1/v1/responses")

    def _add(self, kind: str, t: float, **fields: Any) -> Entry:
        entry = Entry(
            seq=len(self.entries),
            at=1.8e9 + t,
            t=t,
            kind=kind,
            connection=self.connection,
            **fields,
        )  # type: ignore[arg-type]
        self.entries.append(entry)
        self.ledger.apply(entry)
        self.now = max(self.now, t)
        return entry

    def note(self, t: float, name: str, /, **data: Any) -> Entry:
        return self._add("note", t, note=name, data=data)

    def event(self, t: float, kind: str, **fields: Any) -> Entry:
        body = {"type": kind, **fields}
        if self.lane_name is not None:
            body.setdefault("stream_id", self.lane_name)
        return self._add("in", t, raw=json.dumps(body))

    def create(self, t: float, text: Any, again: str | None = None, **fields: Any) -> Entry:
        body = {"type": "response.create", "input": text, **fields}
        if self.lane_name is not None:
            body["stream_id"] = self.lane_name
        data = {"key": f"create-{len(self.entries)}", "lane": self.lane_name}
        if again is not None:
            data["again"] = again
        return self._add("out", t, raw=json.dumps(body), data=data)

    def steer(self, t: float, parent: str, text: Any) -> Entry:
        body = {"type": "response.steer", "previous_response_id": parent, "input": text}
        data = {"key": f"steer-{len(self.entries)}", "lane": self.lane_name}
        return self._add("out", t, raw=json.dumps(body), data=data)

    def created(self, t: float, key: str, previous: str | None = None, **head: Any) -> Entry:
        response = {"id": key, "model": "gpt-6-astra", "previous_response_id": previous, **head}
        return self.event(t, "response.created", response={"status": "in_progress", **response})

    def ended(self, t: float, key: str, status: str = "completed", **head: Any) -> Entry:
        response = {"id": key, "status": status, **head}
        return self.event(t, f"response.{status}", response=response)

    def item(self, t: float, index: int, item: dict[str, Any], done: float | None = None) -> None:
        self.event(t, "response.output_item.added", output_index=index, item=item)
        if done is not None:
            self.event(done, "response.output_item.done", output_index=index, item=item)

    def text(self, t: float, index: int, *pieces: str, done: float | None = None) -> None:
        item = {"type": "message", "id": f"msg_{len(self.entries)}", "role": "assistant"}
        self.event(t, "response.output_item.added", output_index=index, item=item)
        for piece in pieces:
            self.delta(t, index, piece)
        if done is not None:
            content = [{"type": "output_text", "text": "".join(pieces)}]
            self.event(
                done,
                "response.output_item.done",
                output_index=index,
                item={**item, "content": content},
            )

    def delta(self, t: float, index: int, text: str, kind: str = "output_text") -> Entry:
        return self.event(
            t, f"response.{kind}.delta", output_index=index, content_index=0, delta=text
        )

    def accepted(self, t: float, steer: str, parent: str) -> Entry:
        about = {"id": steer, "previous_response_id": parent}
        return self.event(t, "response.steer.accepted", steer=about)

    def lost(self, t: float) -> Entry:
        return self.note(t, "closed", code=1006, reason="", by="network")

    def reconnected(self, t: float) -> Entry:
        self.connection += 1
        return self.note(t, "connected", url="ws://127.0.0.1/v1/responses")

    @property
    def lane(self) -> LaneState:
        return self.ledger.lanes[self.lane_name]


def reasoning(story: Story, start: float, end: float, index: int = 0, text: str = "") -> None:
    summary = [{"type": "summary_text", "text": text}] if text else []
    item = {"type": "reasoning", "id": f"rs_{index}", "summary": summary}
    story.item(start, index, item, done=end)


def mock_planner() -> Story:
    """The lane of the mock, moment by moment."""
    story = Story()
    story.create(0.1, "Plan a two-day trip to Lisbon.")
    story.created(0.3, "resp_1")
    reasoning(story, 0.4, 1.8, text="**Planning the days**\n\nThe user wants two days in Lisbon.")
    day = "Day 1 starts in Alfama. Take tram 28 before nine, when it is still empty, and get off at"
    story.text(1.9, 1, day)
    story.steer(3.10, "resp_1", "Keep it under 300 euros")
    story.accepted(3.14, "steer_1", "resp_1")
    for _ in range(37):
        story.delta(3.5, 1, "")
    story.delta(3.6, 1, " the Miradouro …")
    usage = {"input_tokens": 100, "output_tokens": 312, "total_tokens": 412}
    steered = {"incomplete_details": {"reason": "steered"}, "usage": usage}
    story.ended(4.0, "resp_1", "incomplete", **steered)
    story.created(4.02, "resp_2", "resp_1")
    within = "Within 300 euros, the two nights change: a guesthouse in Graça (€ 58) leaves room for"
    story.text(4.1, 0, within)
    story.steer(7.02, "resp_2", "We are two adults and a child")
    story.accepted(7.06, "steer_2", "resp_2")
    story.now = 7.3
    return story


SEVEN: list[dict[str, Any]] = [
    {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_Qx1",
        "name": "get_weather",
        "arguments": '{"city": "Lisbon", "days": 2}',
    },
    {
        "type": "custom_tool_call",
        "id": "ctc_1",
        "call_id": "call_Qx2",
        "name": "sql",
        "input": "select *\nfrom trips",
    },
    {
        "type": "computer_call",
        "id": "cu_1",
        "call_id": "call_Qx3",
        "status": "completed",
        "actions": [{"type": "click", "x": 10, "y": 20, "button": "left"}, {"type": "screenshot"}],
        "pending_safety_checks": [
            {"id": "sc_1", "code": "malicious_instructions", "message": "The page gives orders."}
        ],
    },
    {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "call_Qx4",
        "status": "completed",
        "action": {"commands": ["ls trips/", "cat trips/lisbon.md"], "timeout_ms": 1000},
        "environment": {"type": "local"},
    },
    {
        "type": "apply_patch_call",
        "id": "ap_1",
        "call_id": "call_Qx5",
        "status": "completed",
        "operation": {
            "type": "update_file",
            "path": "trips/lisbon.md",
            "diff": "@@ day 1\n-tram 28 at noon\n+tram 28 before nine\n lunch",
        },
    },
    {
        "type": "tool_search_call",
        "id": "ts_1",
        "call_id": "call_Qx6",
        "execution": "client",
        "arguments": {"query": "weather"},
        "status": "completed",
    },
    {
        "type": "mcp_approval_request",
        "id": "mcpr_9",
        "server_label": "calendar",
        "name": "delete_event",
        "arguments": '{"event_id": "evt_55"}',
    },
]


def seven(calls: list[dict[str, Any]] | None = None) -> Story:
    """One response that asks for everything at once."""
    story = Story()
    story.create(0.1, "Do it all.")
    story.created(0.3, "resp_7c0000000000000000000041")
    for index, call in enumerate(SEVEN if calls is None else calls):
        story.item(0.5 + index / 10, index, call, done=0.55 + index / 10)
    story.ended(2.0, "resp_7c0000000000000000000041")
    story.now = 42.0
    return story
