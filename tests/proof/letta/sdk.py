"""The official SDK in both its forms, behind one set of words, and what came over its wire."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import httpx
import letta_client
import pydantic

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FORMS = ("sync", "async")
PATIENCE = 30

# Fields that a server 0.16.8 sends and the SDK 1.12.1 has no place for.
UNKNOWN = {
    "Conversation": {"isolated_block_ids"},
    "Step": {"organization_id"},
    "AgentState": set(),
}


class Kept:
    """Everything that came over the wire, response by response."""

    def __init__(self) -> None:
        self.bodies: list[bytearray] = []
        self.statuses: list[int] = []

    def begin(self, response: httpx.Response) -> bytearray:
        self.statuses.append(response.status_code)
        self.bodies.append(bytearray())
        return self.bodies[-1]

    @property
    def frames(self) -> list[Any]:
        """The data of the last stream, in order; errors have their event's name before them."""
        found = []
        for block in self.bodies[-1].decode().split("\n\n"):
            lines = block.split("\n")
            if lines[-1].startswith("data: "):
                data = lines[-1].removeprefix("data: ")
                found.append(data if data == "[DONE]" else json.loads(data))
        return found


class Taps(httpx.BaseTransport):
    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._real = httpx.HTTPTransport(verify=False)  # reading certificates takes a while

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self._real.handle_request(request)
        response.stream = _Tapped(response.stream, self._kept.begin(response))
        return response

    def close(self) -> None:
        self._real.close()


class AsyncTaps(httpx.AsyncBaseTransport):
    def __init__(self, kept: Kept) -> None:
        self._kept = kept
        self._real = httpx.AsyncHTTPTransport(verify=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._real.handle_async_request(request)
        response.stream = _AsyncTapped(response.stream, self._kept.begin(response))
        return response

    async def aclose(self) -> None:
        await self._real.aclose()


class _Tapped(httpx.SyncByteStream):
    def __init__(self, stream: Any, body: bytearray) -> None:
        self._stream, self._body = stream, body

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            self._body += piece
            yield piece

    def close(self) -> None:
        self._stream.close()


class _AsyncTapped(httpx.AsyncByteStream):
    def __init__(self, stream: Any, body: bytearray) -> None:
        self._stream, self._body = stream, body

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._body += piece
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


class Sdk:
    """One client of the SDK. Methods are named as its own, with dots."""

    def __init__(self, form: str, base_url: str) -> None:
        self.form = form
        self.kept = Kept()
        options = {"base_url": base_url, "api_key": "any", "max_retries": 0, "timeout": PATIENCE}
        if form == "sync":
            http = httpx.Client(transport=Taps(self.kept))
            self.client: Any = letta_client.Letta(http_client=http, **options)
        else:
            http = httpx.AsyncClient(transport=AsyncTaps(self.kept))
            self.client = letta_client.AsyncLetta(http_client=http, **options)

    def _method(self, name: str) -> Any:
        found = self.client
        for part in name.split("."):
            found = getattr(found, part)
        return found

    async def __call__(self, method: str, /, *given: Any, **fields: Any) -> Any:
        """Call a method; what it gives is held against the wire."""
        async with asyncio.timeout(PATIENCE):
            if self.form == "sync":
                found = await asyncio.to_thread(self._method(method), *given, **fields)
            else:
                found = await self._method(method)(*given, **fields)
        if hasattr(found, "items") and not isinstance(found, dict):  # a page
            wire = json.loads(self.kept.bodies[-1])
            for one, other in zip(found.items, wire, strict=True):
                same(one, other)
            return found.items
        if isinstance(found, pydantic.BaseModel):
            same(found, json.loads(self.kept.bodies[-1]))
        return found

    async def stream(
        self, name: str, /, *given: Any, leave_after: int | None = None, **fields: Any
    ):
        """Read a stream, or so much of it; what was yielded is held against the wire."""
        seen: list[Any] = []
        begun = len(self.kept.bodies)
        try:
            async with asyncio.timeout(PATIENCE):
                if self.form == "sync":
                    await asyncio.to_thread(self._read, seen, leave_after, name, given, fields)
                else:
                    async with await self._method(name)(*given, **fields) as stream:
                        async for one in stream:
                            seen.append(one)
                            if len(seen) == leave_after:
                                break
        finally:
            if len(self.kept.bodies) > begun and self.kept.statuses[-1] == 200:
                wire = [one for one in self.kept.frames if one != "[DONE]"]
                wire = [one for one in wire if one["message_type"] != "error_message"]
                for one, other in zip(seen, wire, strict=leave_after is None):
                    same(one, other)
        return seen

    def _read(
        self, seen: list[Any], leave_after: int | None, name: str, given: Any, fields: Any
    ) -> None:
        with self._method(name)(*given, **fields) as stream:
            for one in stream:
                seen.append(one)
                if len(seen) == leave_after:
                    break

    async def close(self) -> None:
        if self.form == "sync":
            await asyncio.to_thread(self.client.close)
        else:
            await self.client.close()


def same(parsed: pydantic.BaseModel, wire: Any) -> None:
    """Fail unless the SDK's model has all that was sent, in its own types, and nothing else."""
    unknown(parsed)
    assert plain(parsed.to_dict(mode="python")) == plain(wire), wire


def unknown(value: Any) -> None:
    """Fail for a field that the SDK's types do not know."""
    if isinstance(value, pydantic.BaseModel):
        name = type(value).__name__
        known = {field.alias for field in type(value).model_fields.values()}
        more = set(value.model_extra or ()) - UNKNOWN.get(name, set()) - known
        assert not more, f"{name} does not know {more}"
        for field in type(value).model_fields:
            unknown(getattr(value, field))
    elif isinstance(value, list):
        for one in value:
            unknown(one)


def plain(value: Any) -> Any:
    """Write times in one way."""
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, str) and len(value) >= 19 and value[4:5] == "-" and value[10:11] == "T":
        return dt.datetime.fromisoformat(value)
    return value
