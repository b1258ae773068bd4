"""Write a live trace as the kinds of recordings that others make."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import yaml
from openai._models import construct_type
from openai.types.responses import ResponsesServerEvent

import steer_nb
from steer_nb.simulator import Simulator

if TYPE_CHECKING:
    from steer_nb.trace import Trace

URL = "https://api.openai.com/v1/responses"
SECRET = "sk-secret-1234567890"


def live(scenario: str = "weather", *, lane: str = "a", steer: bool = False) -> Trace:
    """A chain of responses on one lane, really played: a call, its result, one more question."""
    simulator = Simulator(scenario, speed=0)
    with steer_nb.connect(simulate=simulator, journal=False, quiet=True) as session:
        talk = session.lane(lane)
        talk.create("What is the weather in Lisbon? Olá 🎈")
        talk.wait(30)
        if talk.required_input:
            talk.fill(talk.required_input[0].key, output="18 °C")
            talk.send_continuation().wait(30)
        talk.create("Thanks.").wait(30)
    return session.trace


def messages(trace: Trace) -> list[tuple[str, str]]:
    return [(entry.kind, entry.raw) for entry in trace if entry.kind != "note"]


def as_lines(trace: Trace) -> bytes:
    """Every message, one a line."""
    return "".join(f"{raw}\n" for _, raw in messages(trace)).encode()


def as_wrapped_lines(trace: Trace) -> bytes:
    """Every message, with the way it went and its time."""
    return b"".join(
        b'{"t": %.6f, "dir": "%s", "frame": %s}\n' % (e.t, e.kind.encode(), e.raw.encode())
        for e in trace
        if e.kind != "note"
    )


def as_sdk_log(trace: Trace, indent: int | None = None) -> bytes:
    """The events as the official SDK dumps them."""
    made = (
        construct_type(value=json.loads(raw), type_=ResponsesServerEvent)
        for kind, raw in messages(trace)
        if kind == "in"
    )
    return "".join(f"{event.model_dump_json(indent=indent)}\n" for event in made).encode()


def exchanges(trace: Trace) -> list[tuple[dict[str, Any], list[str]]]:
    """The requests over HTTP, without lanes, and the events that answered each."""
    found: list[tuple[dict[str, Any], list[str]]] = []
    for kind, raw in messages(trace):
        message = json.loads(raw)
        message.pop("stream_id", None)
        if kind == "out":
            assert message.pop("type") == "response.create"
            found.append(({**message, "stream": True}, []))
        else:
            found[-1][1].append(json.dumps(message, ensure_ascii=False))
    return found


def as_sse(events: list[str], end: str = "\n", *, names: bool = True) -> bytes:
    parts = []
    for raw in events:
        name = f"event: {json.loads(raw)['type']}{end}" if names else ""
        parts.append(f"{name}data: {raw}{end}{end}")
    return "".join(parts).encode()


def whole(events: list[str]) -> dict[str, Any]:
    """The response object that a request without a stream would have given."""
    return json.loads(events[-1])["response"]


def as_cassette(trace: Trace, *, stream: bool = True, packed: str = "") -> bytes:
    """A cassette as vcrpy writes it."""
    interactions = []
    for request, events in exchanges(trace):
        body: Any = as_sse(events).decode()
        headers = {"Content-Type": ["text/event-stream"], "Set-Cookie": [f"id={SECRET}"]}
        if not stream:
            body = json.dumps(whole(events), ensure_ascii=False, indent=2)
        if packed:
            body = _packed(body.encode(), packed)
            headers["Content-Encoding"] = [packed]
        sent = {
            "body": json.dumps({**request, "stream": stream}, ensure_ascii=False),
            "headers": {"authorization": [f"Bearer {SECRET}"]},
            "method": "POST",
            "uri": f"{URL}?api_key={SECRET}",
        }
        answer = {"body": {"string": body}, "headers": headers}
        answer["status"] = {"code": 200, "message": "OK"}
        interactions.append({"request": sent, "response": answer})
    held = {"interactions": interactions, "version": 1}
    return yaml.safe_dump(held, allow_unicode=True).encode()


def _packed(body: bytes, how: str) -> bytes:
    if how == "br":
        import brotli

        return brotli.compress(body)
    if how == "zstd":
        import zstandard

        return zstandard.ZstdCompressor().compress(body)
    if how == "deflate":
        import zlib

        return zlib.compress(body)
    return gzip.compress(body)


def as_har(trace: Trace) -> bytes:
    """What a browser saves of requests over HTTP."""
    entries = []
    start = trace.header.started_at
    for number, (request, events) in enumerate(exchanges(trace)):
        content: dict[str, Any] = {"mimeType": "text/event-stream", "text": as_sse(events).decode()}
        if number:  # browsers give the one or the other
            coded = base64.b64encode(as_sse(events)).decode()
            content.update(text=coded, encoding="base64")
        entries.append(
            {
                "startedDateTime": datetime.fromtimestamp(start + number, UTC).isoformat(),
                "time": 250.0,
                "request": {
                    "method": "POST",
                    "url": f"{URL}?key={SECRET}",
                    "headers": [{"name": "Authorization", "value": f"Bearer {SECRET}"}],
                    "cookies": [{"name": "session", "value": SECRET}],
                    "postData": {"mimeType": "application/json", "text": json.dumps(request)},
                },
                "response": {"status": 200, "headers": [], "content": content},
            }
        )
    return json.dumps({"log": {"version": "1.2", "entries": entries}}).encode()


def as_socket_har(trace: Trace) -> bytes:
    """What Chromium saves of a WebSocket."""
    found = [
        {
            "type": "send" if entry.kind == "out" else "receive",
            "time": entry.at,
            "opcode": 1,
            "data": entry.raw,
        }
        for entry in trace
        if entry.kind != "note"
    ]
    entry = {
        "startedDateTime": datetime.fromtimestamp(trace.header.started_at, UTC).isoformat(),
        "time": 0,
        "request": {"method": "GET", "url": f"wss://api.openai.com/v1/responses?key={SECRET}"},
        "response": {"status": 101, "content": {}},
        "_webSocketMessages": found,
    }
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()
