"""Recordings of others, which lie beside the checkout."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steer_nb.wire import FAMILIES, Event, decode

TRACES = Path(__file__).resolve().parents[3] / "shared" / "traces"

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not TRACES.is_dir(), reason=f"no recordings at {TRACES}"),
]

CHUNKS = sorted(TRACES.glob("vercel-ai/**/*.chunks.txt"))
SCRIPTS = sorted(TRACES.glob("synthetic/*.ndjson"))
UNKNOWN = {
    "response.apply_patch_call_operation_diff.delta",
    "response.apply_patch_call_operation_diff.done",
    "keepalive",
}


def read(path: Path) -> list[str]:
    return path.read_bytes().decode().split("\n")


def check(raw: str) -> Event:
    event = decode(raw)
    assert event.raw == raw
    assert event.family in FAMILIES
    assert repr(event)
    try:
        value = json.loads(raw)
    except ValueError:
        assert event.problem == "bad_json"
    else:
        assert event.problem in (None, "odd_field")
        assert event.to_dict() == value
        assert event.type == value.get("type", "")
    return event


@pytest.mark.parametrize("path", CHUNKS, ids=lambda path: path.name)
def test_real_streams(path: Path) -> None:
    events = [check(line) for line in read(path) if line.strip()]
    assert events
    odd = [event for event in events if event.problem is not None]
    if path.name.startswith("parallel-tool-call-wrapper.1"):
        assert odd
    else:
        assert not odd
    assert {event.type for event in events if not event.known} - {""} <= UNKNOWN


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_of_steering(path: Path) -> None:
    for line in read(path):
        row = json.loads(line) if line.strip() else {}
        if row.get("dir") != "in":
            continue
        event = check(row["raw"] if "raw" in row else json.dumps(row["frame"]))
        if event.family == "steer":
            assert event.problem is None
            assert type(event) is not Event
        if event.type == "error":
            assert event.error_fields.code
