"""The official Python SDK in all its forms, behind one set of words.

Each test is written once and runs with ``OpenAI`` (its blocking calls on worker threads) and with
``AsyncOpenAI``; where nothing hinders it, also through the SDK's lane helper on top of each.
Everything goes through the SDK's own methods and its own iteration.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from openai.lib.responses_websocket import (
    AsyncResponsesWebSocketSession,
    ResponsesWebSocketLimits,
    ResponsesWebSocketSession,
)

from steer_nb.wire import MULTI_AGENT_BETA
from tests.proof.checks import check_tap, code_of, is_refusal
from tests.support.simulated import ENDS, MODEL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from steer_nb.simulator import Simulator
    from tests.support.tap import Tap

CONNECTIONS = ("sync", "async")
LANES = ("sync lanes", "async lanes")
on_a_connection = pytest.mark.parametrize("form", CONNECTIONS)
by_the_lane_helper = pytest.mark.parametrize("form", LANES)

KEY = "sk-test"
PATIENCE = 30
LIMITS = ResponsesWebSocketLimits(
    max_lanes=64,
    max_events_per_lane=4096,
    max_events=16384,
    max_bytes_per_lane=2**24,
    max_bytes=2**26,
)


class Call:
    """Calls of the SDK, awaited: as they are, or on a worker thread."""

    def __init__(self, form: str) -> None:
        self.blocking = form.startswith("sync")

    async def __call__(self, function: Callable[..., Any], *args: Any, **options: Any) -> Any:
        async with asyncio.timeout(PATIENCE):
            if self.blocking:
                return await asyncio.to_thread(function, *args, **options)
            return await function(*args, **options)


class Talk:
    """One conversation with the service, however the SDK is asked to carry it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    async def send(self, event: dict[str, Any]) -> None:
        raise NotImplementedError

    async def recv(self) -> Any:
        """Give the next typed event; None at the end of the connection."""
        raise NotImplementedError

    async def send_unknown(self, event: dict[str, Any]) -> None:
        """Send what the SDK has no type for, but takes."""
        self.stage.raw.append(json.dumps(event))
        await self.send(event)

    async def create(self, input: Any = "Hello.", **fields: Any) -> None:  # noqa: A002
        await self.send({"type": "response.create", "model": MODEL, "input": input, **fields})

    async def steer(self, response_id: str, input: Any = "Shorter.") -> None:  # noqa: A002
        steer = {"type": "response.steer", "previous_response_id": response_id, "input": input}
        await self.send(steer)

    async def inject(self, response_id: str, *items: dict[str, Any]) -> None:
        inject = {"type": "response.inject", "response_id": response_id, "input": list(items)}
        await self.send(inject)

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
            assert event is not None, f"the connection ended before {code}"
            if is_refusal(event.to_dict()):
                assert code_of(event.to_dict()) == str(code)
                self.stage.refused.append(str(code))
                return event


class Line(Talk):
    """One connection of the SDK, or of its multi-agent beta, and its own iteration."""

    def __init__(self, connection: Any, stage: Stage) -> None:
        super().__init__(stage)
        self.connection = connection
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

    async def inject(self, response_id: str, *items: dict[str, Any]) -> None:
        inject = self.connection.response.inject
        await self.stage.call(inject, response_id=response_id, input=list(items))

    async def send_raw(self, text: str) -> None:
        """Send what the SDK itself would not write."""
        self.stage.raw.append(text)
        await self.stage.call(self.connection.send_raw, text)

    async def recv(self) -> Any:
        if self.stage.call.blocking:
            return await self.stage.call(next, self._events, None)
        return await self.stage.call(anext, self._events, None)

    async def close(self) -> None:
        await self.stage.call(self.connection.close)


class Lane(Talk):
    """One lane of the SDK's lane helper."""

    def __init__(self, lane: Any, stage: Stage) -> None:
        super().__init__(stage)
        self.own = lane

    async def send(self, event: dict[str, Any]) -> None:
        await self.stage.call(self.own.send, event)

    async def recv(self) -> Any:
        try:
            return await self.stage.call(self.own.recv)
        except EOFError:
            return None

    async def final(self) -> Any:
        return await self.stage.call(self.own.get_final_response)

    def detach(self) -> None:
        self.own.close()


class Lanes(Talk):
    """A connection in the hands of the lane helper. What it reads is the lane it last wrote to."""

    def __init__(self, session: Any, stage: Stage) -> None:
        super().__init__(stage)
        self.connection = session.connection
        self._session = session
        self._lanes = {None: Lane(session.default, stage)}
        self._at = self.lane()

    def lane(self, name: str | None = None) -> Lane:
        if name not in self._lanes:
            self._lanes[name] = Lane(self._session.lane(name), self.stage)
        return self._lanes[name]

    async def send(self, event: dict[str, Any]) -> None:
        await self._at.send(event)

    async def create(
        self,
        input: Any = "Hello.",  # noqa: A002
        *,
        stream_id: str | None = None,
        **fields: Any,
    ) -> None:
        self._at = self.lane(stream_id)
        await super().create(input, **fields)

    async def recv(self) -> Any:
        return await self._at.recv()

    async def close(self) -> None:
        await self.stage.call(self._session.close)


class Stage:
    """A simulator, a tap on its wire, and the SDK in one form."""

    def __init__(self, form: str, simulator: Simulator, tap: Tap) -> None:
        self.form = form
        self.call = Call(form)
        self.simulator = simulator
        self.tap = tap
        self.beta = False
        self.refused: list[str] = []
        self.raw: list[str] = []
        self.unknown: set[str] = set()
        """Types of events that nobody documents, and that this test lets come."""

    def sdk(self, **options: Any) -> Any:
        """Make a stock client: it is told `base_url`, and nothing else of where it is."""
        kind = openai.OpenAI if self.call.blocking else openai.AsyncOpenAI
        return kind(**{"base_url": self.tap.base_url, "api_key": KEY, "max_retries": 0, **options})

    @contextlib.asynccontextmanager
    async def connect(
        self, client: dict[str, Any] | None = None, **options: Any
    ) -> AsyncIterator[Any]:
        """Connect as the SDK's documentation shows, in this stage's form."""
        async with self._connected(options, client, lanes=self.form in LANES) as talk:
            yield talk

    @contextlib.asynccontextmanager
    async def lanes(self, **options: Any) -> AsyncIterator[Lanes]:
        """Connect with the SDK's lane helper, whatever the form."""
        async with self._connected(options, lanes=True) as talk:
            yield talk

    @contextlib.asynccontextmanager
    async def agents(self, **options: Any) -> AsyncIterator[Any]:
        """Connect with the SDK's multi-agent beta, in this stage's form."""
        self.beta = True
        options = {"extra_headers": {"OpenAI-Beta": MULTI_AGENT_BETA}, **options}
        async with self._connected(options, lanes=self.form in LANES) as talk:
            yield talk

    @contextlib.asynccontextmanager
    async def _connected(
        self, options: dict[str, Any], client: dict[str, Any] | None = None, *, lanes: bool
    ) -> AsyncIterator[Any]:
        sdk = self.sdk(**(client or {}))
        try:
            responses = sdk.beta.responses if self.beta else sdk.responses
            connection = await self.call(responses.connect(**options).enter)
            own = await self._session(connection) if lanes else connection
            talk = (Lanes if lanes else Line)(own, self)
            try:
                yield talk
            finally:
                await talk.close()
        finally:
            await self.call(sdk.close)

    async def _session(self, connection: Any) -> Any:
        if self.call.blocking:
            session: Any = ResponsesWebSocketSession(connection, limits=LIMITS)
            return await self.call(session.__enter__)
        session = AsyncResponsesWebSocketSession(connection, limits=LIMITS)
        return await self.call(session.__aenter__)

    def check(self) -> None:
        """Check everything that passed, once nothing passes any more."""
        check_tap(
            self.tap, refused=self.refused, raw=self.raw, unknown=self.unknown, beta=self.beta
        )
