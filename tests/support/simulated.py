"""A raw client for the simulator that checks every event strictly as it comes."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from websockets.asyncio.client import connect

from steer_nb.wire import MULTI_AGENT_BETA, stub_for
from tests.support.strict import assert_beta_server_event, assert_server_event

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

MODEL = "gpt-6-astra"
ENDS = {"response.completed", "response.incomplete", "response.failed"}

Event = dict[str, Any]

_CHECKED: set[tuple[Any, ...]] = set()


def assert_simulated_event(event: Event, *, beta: bool = False) -> None:
    """Fail unless the SDK's types, or those of its multi-agent beta, describe `event`."""
    # Deltas are most of all events and hold only text and numbers: one of a shape stands for all.
    shape = (beta, *shape_of(event))
    if shape in _CHECKED:
        return
    (assert_beta_server_event if beta else assert_server_event)(declared(event))
    if event["type"].endswith(".delta"):
        _CHECKED.add(shape)


def shape_of(event: Event) -> tuple[Any, ...]:
    """What two events have in common that differ only in their texts and numbers."""
    return (event["type"], *((key, type(value), value == []) for key, value in event.items()))


def declared(event: Event) -> Event:
    """Give an event without what no event class of the SDKs (Python 3.57, Node 7.59) declares.

    Two fields are set aside, here and nowhere else, that the service sends all the same:

    - `obfuscation` on deltas: the SDKs' own `stream_options.include_obfuscation` says that these
      strings are "included by default" on "streaming delta events". (Only the shell's output delta
      declares it.)
    - `store` in a response: the SDKs declare it for requests only; the service repeats it in the
      response as it does `temperature` or `truncation`.
    """
    plain = dict(event)
    if plain["type"].endswith(".delta"):
        plain.pop("obfuscation", None)
    if isinstance(plain.get("response"), dict):
        plain["response"] = {k: v for k, v in plain["response"].items() if k != "store"}
    return plain


class Wire:
    """One connection. `events` holds everything received, in order."""

    def __init__(self, socket: Any, *, beta: bool = False) -> None:
        self.socket = socket
        self.beta = beta
        self.events: list[Event] = []

    async def send(self, message: Event | str | bytes) -> None:
        text = message if isinstance(message, str | bytes) else json.dumps(message)
        await self.socket.send(text)

    async def create(self, input: Any = "Hello.", **fields: Any) -> None:  # noqa: A002
        body = {"type": "response.create", "model": MODEL, "input": input, **fields}
        await self.send({key: value for key, value in body.items() if value is not ...})

    async def steer(self, response_id: str, input: Any = "Shorter.", **more: Any) -> None:  # noqa: A002
        await self.send(
            {"type": "response.steer", "previous_response_id": response_id, "input": input, **more}
        )

    async def inject(self, response_id: str, *items: Event, **more: Any) -> None:
        message = {"type": "response.inject", "response_id": response_id, "input": list(items)}
        await self.send({**message, **more})

    async def recv(self) -> Event:
        async with asyncio.timeout(20):
            event: Event = json.loads(await self.socket.recv())
        assert_simulated_event(event, beta=self.beta)
        self.events.append(event)
        return event

    async def until(self, *types: str) -> Event:
        """Read until one of these types comes, and give that event."""
        while True:
            event = await self.recv()
            if event["type"] in types:
                return event

    async def end(self) -> Event:
        """Read to the next terminal event and give its response."""
        response: Event = (await self.until(*ENDS))["response"]
        return response

    async def ask(self, input: Any = "Hello.", **fields: Any) -> Event:  # noqa: A002
        """Create a response and give it when it has ended."""
        await self.create(input, **fields)
        return await self.end()

    async def refused(self, message: Event | str | bytes) -> Event:
        """Send something that is refused, and give the `error` event; nothing else may come."""
        await self.send(message)
        event = await self.recv()
        assert event["type"] == "error", event
        return event

    async def silence(self, seconds: float = 0.05) -> None:
        """Fail if anything comes within so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                event = await self.socket.recv()
                msg = f"expected nothing, got {event}"
                raise AssertionError(msg)

    def of(self, *types: str) -> list[Event]:
        return [event for event in self.events if event["type"] in types]


@contextlib.asynccontextmanager
async def wire(simulator: Any, *, beta: bool = False, **options: Any) -> AsyncIterator[Wire]:
    """Connect; `beta` asks for several agents, and checks every event against that beta's types."""
    if beta:
        options["additional_headers"] = {"OpenAI-Beta": MULTI_AGENT_BETA}
    options.setdefault("max_size", None)
    # A client that stopped reading cannot read the close frame either, and closing would take long.
    options.setdefault("max_queue", 2**20)
    async with connect(simulator.url, **options) as socket:
        yield Wire(socket, beta=beta)


def text_of(response: Event) -> str:
    """All text of a response's messages."""
    return "".join(
        part.get("text", part.get("refusal", ""))
        for item in response["output"]
        if item["type"] == "message"
        for part in item["content"]
    )


PNG = "data:image/png;base64,iVBORw0KGgo="


def answer(call: Event, **fields: Any) -> Event:
    """Answer a call with something that tells itself apart."""
    kind = call["type"]
    if kind == "mcp_approval_request":
        return {
            "type": "mcp_approval_response",
            "approval_request_id": call["id"],
            "approve": True,
            **fields,
        }
    if kind == "local_shell_call":
        given = {"type": "local_shell_call_output", "id": call["call_id"], "output": '["a.md"]'}
        return given | fields
    item: Event = {"call_id": call["call_id"]}
    if kind == "function_call":
        item |= {"type": "function_call_output", "output": "18 °C and dry"}
    elif kind == "custom_tool_call":
        item |= {"type": "custom_tool_call_output", "output": "three hotels"}
    elif kind == "computer_call":
        item |= {
            "type": "computer_call_output",
            "output": {"type": "computer_screenshot", "image_url": PNG},
            "acknowledged_safety_checks": call["pending_safety_checks"],
        }
    elif kind == "shell_call":
        outcome = {"type": "exit", "exit_code": 3}
        outputs = [
            {"stdout": f"ran {command}", "stderr": "", "outcome": outcome}
            for command in call["action"]["commands"]
        ]
        item |= {"type": "shell_call_output", "output": outputs}
    elif kind == "apply_patch_call":
        item |= {"type": "apply_patch_call_output", "status": "completed", "output": "1 line"}
    elif kind == "tool_search_call":
        tool = {
            "type": "function",
            "name": "find_events",
            "parameters": {"type": "object", "properties": {"day": {"type": "string"}}},
            "strict": None,
        }
        item |= {"type": "tool_search_output", "execution": "client", "tools": [tool]}
    else:
        msg = f"no answer for {kind}"
        raise AssertionError(msg)
    return item | fields


def calls_of(response: Event) -> list[Event]:
    """The client-owned calls in a response's output."""
    return [item for item in response["output"] if stub_for(item) is not None]
