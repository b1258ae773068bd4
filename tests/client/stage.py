"""A server driven by hand: it shows what came, and what was on the disk when it came."""

from __future__ import annotations

import asyncio
import json
import queue
import sys
import threading
import traceback
from typing import TYPE_CHECKING, Any

from websockets.asyncio.server import serve

from tests.support.hanging import where_sockets_stand, where_tasks_stand

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PATIENCE = 10.0

Message = dict[str, Any]


class Stage:
    """One server on loopback; it keeps its newest connection."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self._received: queue.Queue[tuple[Message, str]] = queue.Queue()
        self._newest: Any = None
        self._met = threading.Event()
        self._closings: queue.Queue[tuple[int, str]] = queue.Queue()
        self._headers: list[dict[str, str]] = []
        self.journal: Path | None = None
        self.seq = 0

    def __enter__(self) -> Stage:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), self._hangs()

    def _hangs(self) -> str:
        """Where everything stands that does not end."""
        told: queue.Queue[str] = queue.Queue()

        self._loop.call_soon_threadsafe(lambda: told.put(where_tasks_stand()))
        try:
            return f"{told.get(timeout=PATIENCE)}{where_sockets_stand(self._loop)}"
        except queue.Empty:
            frame = sys._current_frames().get(self._thread.ident or 0)
            return "".join(traceback.format_stack(frame))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        # Others may take this port for theirs, and say nothing: the end waits for that.
        patience = {"open_timeout": PATIENCE / 2, "close_timeout": 1}
        async with serve(self._talk, "127.0.0.1", 0, max_size=None, **patience) as server:
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            await self._stop.wait()

    async def _talk(self, socket: Any) -> None:
        self._headers.append(dict(socket.request.headers.raw_items()))
        self._newest = socket
        self._met.set()
        async for text in socket:
            # What the disk held at the moment the message arrived, and not an instant later.
            disk = "" if self.journal is None else self.journal.read_text("utf-8")
            self._received.put((json.loads(text), disk))
        self._closings.put((socket.close_code, socket.close_reason))

    @property
    def _socket(self) -> Any:
        # A client may know that it is connected before this side does.
        assert self._met.wait(PATIENCE)
        return self._newest

    @property
    def headers(self) -> list[dict[str, str]]:
        """What each connection's upgrade request held."""
        assert self._met.wait(PATIENCE)
        return self._headers

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def expect(self, kind: str | None = None) -> Message:
        """The next message that came."""
        return self.expect_with_disk(kind)[0]

    def expect_with_disk(self, kind: str | None = None) -> tuple[Message, list[Message]]:
        """The next message that came, and the journal's lines when it did."""
        message, disk = self._received.get(timeout=PATIENCE)
        assert kind is None or message["type"] == kind, message
        # An entry of later may be in the middle of being written: its line has no end yet.
        whole = disk[: disk.rfind("\n") + 1]
        return message, [json.loads(line) for line in whole.split("\n") if line]

    def nothing_came(self) -> bool:
        return self._received.empty()

    def send(self, *events: Message | str) -> None:
        """Send events, each with the next sequence number."""
        for event in events:
            if isinstance(event, dict):
                event = json.dumps({"sequence_number": self.seq, **event})
                self.seq += 1
            self._do(self._socket.send(event))

    def _do(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def drop(self) -> None:
        """Cut the line, without a word."""
        self._loop.call_soon_threadsafe(self._socket.transport.abort)

    def close(self, code: int, reason: str = "") -> None:
        self._do(self._socket.close(code, reason))

    def closing(self) -> tuple[int, str]:
        """How the client closed."""
        return self._closings.get(timeout=PATIENCE)

    def pause_reading(self) -> None:
        """Take nothing more from the network: the client's writes will pile up."""
        self._loop.call_soon_threadsafe(self._socket.transport.pause_reading)


def when(session: Any, holds: Callable[[Any], Any]) -> None:
    """Wait until something holds in the ledger; what is not there yet does not hold."""

    def look(ledger: Any) -> bool | None:
        try:
            return True if holds(ledger) else None
        except KeyError:
            return None

    session.until(look, PATIENCE, lambda: "What was waited for did not happen")


# -- what a service says -------------------------------------------------------------------------


def head(response_id: str, status: str = "in_progress", **more: Any) -> Message:
    return {
        "id": response_id,
        "object": "response",
        "created_at": 1,
        "status": status,
        "model": "gpt-6-astra",
        "output": [],
        "parallel_tool_calls": True,
        "tools": [],
        "tool_choice": "auto",
        **more,
    }


def _on(lane: str | None, event: Message) -> Message:
    return event if lane is None else {**event, "stream_id": lane}


def created(response_id: str, previous: str | None = None, lane: str | None = None) -> Message:
    response = head(response_id, previous_response_id=previous)
    return _on(lane, {"type": "response.created", "response": response})


def delta(text: str, lane: str | None = None) -> Message:
    event = {"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0}
    return _on(lane, {**event, "content_index": 0, "delta": text, "logprobs": []})


def function_call(
    key: str, name: str = "get_weather", arguments: str = '{"city":"Lisbon"}', **more: Any
) -> Message:
    item = {"type": "function_call", "id": f"fc_{key}", "call_id": key, "name": name}
    return {**item, "arguments": arguments, "status": "completed", **more}


def approval(key: str) -> Message:
    item = {"type": "mcp_approval_request", "id": key, "server_label": "files"}
    return {**item, "name": "delete", "arguments": "{}"}


def done(item: Message, index: int = 0, lane: str | None = None) -> Message:
    event = {"type": "response.output_item.done", "output_index": index, "item": item}
    return _on(lane, event)


def ended(
    response_id: str,
    *items: Message,
    status: str = "completed",
    lane: str | None = None,
    previous: str | None = None,
    **more: Any,
) -> Message:
    response = head(response_id, status, output=list(items), previous_response_id=previous, **more)
    return _on(lane, {"type": f"response.{status}", "response": response})


def steered(response_id: str, *items: Message, lane: str | None = None) -> Message:
    return ended(
        response_id,
        *items,
        status="incomplete",
        lane=lane,
        incomplete_details={"reason": "steered"},
    )


def accepted(steer_id: str, response_id: str) -> Message:
    steer = {"id": steer_id, "previous_response_id": response_id}
    return {"type": "response.steer.accepted", "steer": steer}


def pending(steer_id: str, response_id: str, *stubs: Message) -> Message:
    steer = {"id": steer_id, "previous_response_id": response_id}
    event = {"type": "response.steer.pending", "steer": steer, "required_input": list(stubs)}
    return {**event, "reason": "waiting_for_required_input"}


def steer_failed(
    response_id: str, value: Any, code: str = "response_already_completed", steer_id: Any = None
) -> Message:
    steer = {"previous_response_id": response_id, "input": value}
    if steer_id is not None:
        steer["id"] = steer_id
    error = {"type": "invalid_request_error", "code": code, "message": "Too late."}
    return {"type": "response.steer.failed", "steer": steer, "error": error}


def error(code: str | None, lane: str | None = None, status: int = 400, **more: Any) -> str:
    inner = {"type": "invalid_request_error", "code": code, "message": "No.", "param": None, **more}
    return json.dumps(_on(lane, {"type": "error", "status": status, "error": inner}))
