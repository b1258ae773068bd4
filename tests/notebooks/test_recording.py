"""The recording that a lesson reads is what its script makes, and holds what is to be found."""

from __future__ import annotations

import importlib.util
import json
import re
from typing import TYPE_CHECKING, Any

import pytest

import steer_nb
from tests.notebooks.lessons import FOLDER

if TYPE_CHECKING:
    from types import ModuleType

    from steer_nb.trace import Trace

SCRIPT = FOLDER / "recordings" / "travel_desk.py"
RECORDING = SCRIPT.with_suffix(".jsonl")

# A steer comes when the machine gets to it: where its acknowledgement stands among the pieces of
# text, and what is numbered behind it, is not the script's.
_OF_THE_MOMENT = {"sequence_number", "created_at", "completed_at"}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("travel_desk", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in _OF_THE_MOMENT}
    return [_timeless(one) for one in value] if isinstance(value, list) else value


def _by_lane(trace: Trace) -> dict[str, list[Any]]:
    """All that was said on each lane, in both directions, but for the moment."""
    found: dict[str, list[Any]] = {}
    steering: list[Any] = []
    for entry in trace:
        if entry.raw is None:
            continue
        message = _timeless(json.loads(entry.raw))
        if message["type"].startswith("response.steer"):
            steering.append(message)
        else:
            found.setdefault(message["stream_id"], []).append(message)
    found["steering"] = steering
    return found


def test_the_script_makes_the_same_events_again(script: ModuleType) -> None:
    made, kept = script.record(pace=4.0), steer_nb.load(RECORDING, strict=True)
    again, before = _by_lane(made), _by_lane(kept)
    assert list(again) != []
    assert set(again) == {"plan", "letter", "evening", "steering"}
    for lane, messages in before.items():
        assert again[lane] == messages, lane


def test_all_three_are_in_it(script: ModuleType) -> None:
    trace = steer_nb.load(RECORDING, strict=True)
    gaps, waits = trace.metrics.gaps, trace.frames.required_inputs.set_index("name")
    [stall] = gaps["gap_s"][gaps["stall"]]
    assert stall == pytest.approx(script.STALL_S, abs=0.3)
    assert waits["tool_s"].idxmax() == "museum_hours"
    assert waits["tool_s"].max() == pytest.approx(script.LATE_S, abs=0.3)
    [steer] = trace.frames.steers.itertuples()
    assert steer.state == "committed"
    assert steer.characters_after_send > 200


def test_it_is_small_and_keeps_no_secret() -> None:
    text = RECORDING.read_text(encoding="utf-8")
    assert len(text.encode()) < 300_000
    assert not re.search(r"sk-\w{8}|Bearer|/home/|/root/|/tmp/|[A-Za-z]:\\\\", text)
    assert set(re.findall(r"wss?://([^:/]+)", text)) == {"127.0.0.1"}
