"""Turn the scripted recordings that lie beside the checkout into traces."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from steer_nb.trace import SCHEMA, Entry, Header, Trace

FOLDER = Path(__file__).parents[3] / "shared" / "traces" / "synthetic"
START = 1_795_996_800.0


def names() -> list[str]:
    return [path.name.removesuffix(".frames.ndjson") for path in sorted(FOLDER.glob("*.ndjson"))]


def recording(name: str) -> Trace:
    """Read one; each row of it is a message, or the end of the connection."""
    path = FOLDER / f"{name}.frames.ndjson"
    if not path.exists():
        pytest.skip(f"no recordings beside the checkout ({FOLDER})")
    rows = [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
    trace = Trace(Header(SCHEMA, "ab" * 16, START, source="jsonl"))
    trace.file = path.name
    opened = {"url": "wss://api.openai.com/v1/responses", "limit_s": 3600}
    trace.append(Entry(0, START, 0.0, "note", 1, note="connected", data=opened))
    for seq, row in enumerate(rows[1:], start=1):
        t = row["t"]
        if row["dir"] == "close":
            data = {"code": row["code"], "reason": row["reason"], "by": "network"}
            trace.append(Entry(seq, START + t, t, "note", 1, note="closed", data=data))
        else:
            raw = row["raw"] if "raw" in row else json.dumps(row["frame"])
            trace.append(Entry(seq, START + t, t, row["dir"], 1, raw=raw))
    return trace


STREAMS = {
    path.name.removesuffix(".chunks.txt"): path
    for path in sorted((FOLDER.parent / "vercel-ai").rglob("*.chunks.txt"))
}


def stream(name: str) -> Trace:
    """Read a recording of one stream: an event a line, without times."""
    if name not in STREAMS:
        pytest.skip(f"no recordings beside the checkout ({FOLDER.parent / 'vercel-ai'})")
    lines = [line for line in STREAMS[name].read_text("utf-8").split("\n") if line.strip()]
    entries = [Entry(seq, None, None, "in", 1, raw=line) for seq, line in enumerate(lines)]
    return Trace(Header(SCHEMA, "cd" * 16, source="jsonl"), entries)
