"""Recorded exchanges with a real server 0.16.8, and what it means that an answer is like one."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "letta-captures"

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ID = re.compile(rf"{UUID.pattern}|call_fake\d+_\d+|call_[0-9a-f]{{24}}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)?")
# What a text holds of the machine that it comes from.
MACHINE = (
    (re.compile(r"datetime\.datetime\([^)]*\)\)|datetime\.datetime\([\d, ]+\)"), "MOMENT"),
    (re.compile(r"LETTA_REDIS_PORT: \d+"), "PORT"),
    (re.compile(r"'type': '(server_error|rate_limit_exceeded)'"), "PROVIDER"),
)
# What an agent or a run is configured with is not the protocol's affair: fields and types are.
CONFIGURED = {
    "llm_config", "embedding_config", "model_settings", "compaction_settings", "model",
    "model_handle", "model_endpoint", "embedding", "name_of_agent", "metadata_", "provider_id",
    "total_duration_ns", "completed_at",
}  # fmt: skip


@dataclass
class Exchange:
    """One recorded request and its answer."""

    name: str
    method: str
    path: str
    body: Any
    status: Any
    frames: list[tuple[str, Any]] | None
    answer: Any

    @property
    def owner(self) -> str:
        """The agent or conversation that it is about."""
        text = f"{self.path} {json.dumps(self.body)}"
        found = re.search(rf"(conv|agent)-{UUID.pattern}", text)
        return found.group() if found else ""


def load() -> list[Exchange]:
    found = []
    for file in sorted(FOLDER.iterdir()):
        if file.name.endswith(".meta.json"):
            given = json.loads(file.read_text("utf-8"))
            stream = file.with_name(file.name.replace(".meta.json", ".sse")).read_text("utf-8")
            frames, answer = frames_in(stream), None
        elif file.suffix == ".json" and file.name != "openapi_subset.json":
            given = json.loads(file.read_text("utf-8"))
            frames, answer = None, given["body"]
        else:
            continue
        asked = given["request"]
        name = file.name.split(".")[0]
        method = asked.get("method", "POST")
        status = given["status"]
        one = Exchange(name, method, asked["path"], asked["body"], status, frames, answer)
        found.append(one)
    return found


def frames_in(text: str) -> list[tuple[str, Any]]:
    """Read a stream: each frame's event, and its data."""
    found = []
    for block in text.split("\n\n"):
        if not block:
            continue
        event, data = "", None
        for line in block.split("\n"):
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            else:
                assert name == "data", line
                data = value if value == "[DONE]" else json.loads(value)
        found.append((event, data))
    return found


def without_late_pings(frames: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Leave pings of silence out: they depend on how long the model took."""
    kinds = [is_ping(data) for _, data in frames]
    return [one for at, one in enumerate(frames) if at == 0 or not kinds[at]]


def is_ping(data: Any) -> bool:
    return isinstance(data, dict) and data.get("message_type") == "ping"


class Likeness:
    """Ids of two servers, in pairs: what is equal there is equal here, and what differs differs."""

    def __init__(self) -> None:
        self.ours: dict[str, str] = {}
        self.theirs: dict[str, str] = {}

    def translate(self, text: str) -> str:
        """Put our ids for theirs."""
        return ID.sub(lambda found: self.ours.get(found.group(), found.group()), text)

    def pair(self, theirs: str, ours: str, where: str) -> None:
        assert self.ours.setdefault(theirs, ours) == ours, f"{where}: {theirs} is {ours} now"
        assert self.theirs.setdefault(ours, theirs) == theirs, f"{where}: {ours} was another"

    def check(self, theirs: Any, ours: Any, where: str = "") -> None:
        """Hold two values against each other."""
        key = where.rpartition(".")[2]
        if key in CONFIGURED:
            assert (theirs is None or ours is None) or type(theirs) is type(ours), where
            return
        assert type(theirs) is type(ours), f"{where}: {theirs!r} is not {ours!r}"
        if isinstance(theirs, dict):
            assert len(theirs) == len(ours), f"{where}: {list(theirs)} became {list(ours)}"
            for (name, value), (other, own) in zip(theirs.items(), ours.items(), strict=True):
                self._text(name, other, f"{where}.{name}")  # some are ids
                self.check(value, own, f"{where}.{name}")
            self._otid(theirs, ours, where)
        elif isinstance(theirs, list):
            assert len(theirs) == len(ours), f"{where}: {len(theirs)} became {len(ours)}"
            for at, (one, other) in enumerate(zip(theirs, ours, strict=True)):
                self.check(one, other, f"{where}[{at}]")
        elif isinstance(theirs, str):
            self._text(theirs, ours, where)
        else:
            assert theirs == ours, f"{where}: {theirs!r} is not {ours!r}"

    def _text(self, theirs: str, ours: str, where: str) -> None:
        if theirs == "<elided>":
            return
        if TIME.fullmatch(theirs):
            assert TIME.fullmatch(ours), f"{where}: {ours} is no time"
            assert bool(TIME.fullmatch(theirs)[1]) == bool(TIME.fullmatch(ours)[1]), where
            assert TIME.fullmatch(theirs)[2] == TIME.fullmatch(ours)[2], where
            return
        for pattern, word in MACHINE:
            theirs, ours = pattern.sub(word, theirs), pattern.sub(word, ours)
        # Of UUIDs in one text, ids come first: an otid is held against the id, see `_otid`.
        parts = ID.split(theirs), ID.split(ours)
        assert parts[0] == parts[1], f"{where}: {theirs!r} is not {ours!r}"
        for one, other in zip(ID.findall(theirs), ID.findall(ours), strict=True):
            self.pair(one, other, where)

    def _otid(self, theirs: dict[str, Any], ours: dict[str, Any], where: str) -> None:
        for one in (theirs, ours):
            if one.get("message_type") == "ping":
                assert one["otid"] is None
        if isinstance(theirs.get("otid"), str):
            assert relation(theirs) == relation(ours), f"{where}: another otid for this id"


def relation(message: dict[str, Any]) -> str | int:
    """Say how a message's otid follows from its id (2.1)."""
    if message["otid"] == message["id"]:
        return "same"
    own = uuid.UUID(message["id"].removeprefix("message-")).int
    try:
        other = uuid.UUID(message["otid"]).int
    except ValueError:
        return "the client's"
    return other & 0x7F if own >> 7 == other >> 7 else "the client's"


def distances(frames: list[tuple[str, Any]]) -> list[int | None]:
    """Say how the ids of one stream follow each other where they are neighbours."""
    ids = [data["id"] for _, data in frames if isinstance(data, dict) and "id" in data]
    numbers = [uuid.UUID(UUID.search(one).group()).int for one in ids]
    steps = [b - a for a, b in pairwise(numbers)]
    return [step if abs(step) < 128 else None for step in steps]
