"""The official Python SDK in both its forms, behind one set of words.

Each test is written once and runs with ``OpenAI`` (its blocking calls on worker threads) and with
``AsyncOpenAI``. Everything goes through the SDK's own methods and its own iteration.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import openai
from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)

from tests.proof.checks import check_tap, code_of, is_refusal
from tests.support.simulated import ENDS, MODEL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from steer_nb.simulator import Simulator
    from tests.support.tap import Tap

KEY = "sk-test"
PATIENCE = 30
LIMITS = ResponsesWebSocketLimits(
    max_lanes=8,
    max_events_per_lane=4096,
    max_events=16384,
    max_bytes_per_lane=2**24,
    max_bytes=2**26,
)


class Call:
    """Calls of the SDK, awaited: as they are, or on a worker thread."""

    def __init__(self, form: str) -> None:
        self.blocking = form == "sync"

    async def __call__(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        async with asyncio.timeout(PATIENCE):
            if self.blocking:
                return await asyncio.to_thread(function, *args, **options)
            return await function(*args, **options)


class Line:
    """One connection of the SDK."""

    def __init__(self, connection: Any, stage: Stage) -> None:
        self.connection = connection
        self.stage = stage
        self._events = iter(connection) if stage.call.blocking else aiter(connection)

    async def send(self, event: dict[str, Any]) -> None:
        await self.stage.call(self.connection.send, event)

    async def create(self, input: Any = "Hello.", **fields: Any) -> None:  # noqa: A002
        """Create with the SDK's own method."""
        create = self.connection.response.create
        await self.stage.call(create, **{"model": MODEL, "input": input, **fields})

    async def steer(self, response_id: str, input: Any = "Shorter.") -> None:  # noqa: A002
        steer = self.connection.response.steer
        await self.stage.call(steer, previous_response_id=response_id, input=input)

    async def send_raw(self, text: str) -> None:
        """Send what the SDK itself would not write."""
        self.stage.raw.append(text)
        await self.stage.call(self.connection.send_raw, text)

    async def recv(self) -> Any:
        """Give the next typed event of the SDK's iteration; None at its end."""
        if self.stage.call.blocking:
            return await self.stage.call(next, self._events, None)
        return await self.stage.call(anext, self._events, None)

    async def until(self, *types: str) -> Any:
        while (event := await self.recv()) is not None:
            if event.type in types:
                return event
            assert not is_refusal(event.to_dict()), event
        msg = f"the connection ended before {types}"
        raise AssertionError(msg)

    async def started(self, *args: Any, **fields: Any) -> Any:
        """Create, and give the response as it begins."""
        await self.create(*args, **fields)
        return (await self.until("response.created")).response

    async def end(self) -> Any:
        return (await self.until(*ENDS)).response

    async def ask(self, *args: Any, **fields: Any) -> Any:
        """Create, and give the response as it ended."""
        await self.create(*args, **fields)
        return await self.end()

    async def refusal(self, code: str | None) -> Any:
        """Read on to an `error` or a failed steer, which has this code."""
        while True:
            event = await self.recv()
            if is_refusal(event.to_dict()):
                assert code_of(event.to_dict()) == str(code)
                self.stage.refused.append(str(code))
                return event

    async def close(self) -> None:
        await self.stage.call(self.connection.close)


class Lanes:
    """The SDK's lane helper on one connection."""

    def __init__(self, session: Any, stage: Stage) -> None:
        self.session = session
        self.stage = stage

    def lane(self, name: str | None = None) -> Lane:
        return Lane(self.session.default if name is None else self.session.lane(name), self.stage)


class Lane:
    """One lane of the helper."""

    def __init__(self, lane: Any, stage: Stage) -> None:
        self._lane = lane
        self._stage = stage

    async def create(self, input: Any, **fields: Any) -> None:  # noqa: A002
        event = {"type": "response.create", "model": MODEL, "input": input, **fields}
        await self._stage.call(self._lane.send, event)

    async def steer(self, response_id: str, input: Any) -> None:  # noqa: A002
        event = {"type": "response.steer", "previous_response_id": response_id, "input": input}
        await self._stage.call(self._lane.send, event)

    async def recv(self) -> Any:
        return await self._stage.call(self._lane.recv)

    async def final(self) -> Any:
        return await self._stage.call(self._lane.get_final_response)


class Stage:
    """A simulator, a tap on its wire, and the SDK in one form."""

    def __init__(self, form: str, simulator: Simulator, tap: Tap) -> None:
        self.call = Call(form)
        self.simulator = simulator
        self.tap = tap
        self.refused: list[str] = []
        self.raw: list[str] = []

    def sdk(self, **options: Any) -> Any:
        """Make a stock client: it is told `base_url`, and nothing else of where it is."""
        kind = openai.OpenAI if self.call.blocking else openai.AsyncOpenAI
        return kind(**{"base_url": self.tap.base_url, "api_key": KEY, "max_retries": 0, **options})

    @contextlib.asynccontextmanager
    async def connect(
        self, client: dict[str, Any] | None = None, **options: Any
    ) -> AsyncIterator[Line]:
        """Connect as the SDK's documentation shows."""
        sdk = self.sdk(**(client or {}))
        try:
            manager = sdk.responses.connect(**options)
            line = Line(await self.call(manager.enter), self)
            try:
                yield line
            finally:
                await line.close()
        finally:
            await self.call(sdk.close)

    @contextlib.asynccontextmanager
    async def lanes(self) -> AsyncIterator[Lanes]:
        """Connect with the SDK's lane helper."""
        options = {"websocket_connection_options": {"max_size": None}}
        async with self.connect(**options) as line:
            if self.call.blocking:
                session: Any = ResponsesWebSocketSession(line.connection, limits=LIMITS)
                await self.call(session.__enter__)
                end = session.__exit__
            else:
                session = AsyncResponsesWebSocketSession(line.connection, limits=LIMITS)
                await self.call(session.__aenter__)
                end = session.__aexit__
            try:
                yield Lanes(session, self)
            finally:
                await self.call(end, None, None, None)

    def check(self) -> None:
        """Check everything that passed, once nothing passes any more."""
        check_tap(self.tap, refused=self.refused, raw=self.raw)
