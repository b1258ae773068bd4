"""Traces in which everything that somebody wrote is marked, to look for it in what goes out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow.parquet as pq
from hypothesis import strategies as st

from steer_nb.trace import SCHEMA, Header, Trace

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MARK = "Zq7 märk"
NUMBER = 271_828_183
"""Stands for a number that somebody wrote."""

# What is structure, said here apart from the list that is tested.
_STRUCTURE = """
    type id object call_id item_id response_id previous_response_id approval_request_id stream_id
    role status phase model name server_label agent_name execution detail effort service_tier
    truncation tool_choice button environment mode recipient author caller_id container_id file_id
    lane parent key by code url limit_s connection media_type finish_reason
"""
STRUCTURE = set(_STRUCTURE.split())
FREE = {"arguments", "parameters", "input_schema", "metadata", "schema", "extra"}


def marked(trace: Trace, more: dict[str, Any]) -> Trace:
    """Put marks in the place of every text, and fields that nobody knows into every message."""
    entries = []
    for entry in trace:
        changes: dict[str, Any] = {}
        if entry.raw is not None:
            message = _marked(json.loads(entry.raw), "")
            changes["raw"] = json.dumps({**message, **more}, ensure_ascii=False)
        if entry.data is not None:
            changes["data"] = _marked(entry.data, "")
        entries.append(msgspec.structs.replace(entry, **changes))
    made = Trace(Header(SCHEMA, trace.trace_id, trace.header.started_at), entries)
    made.file = f"/home/{MARK}/run.jsonl"
    return made


def _marked(value: Any, key: str, *, free: bool = False) -> Any:
    if isinstance(value, dict):
        free = free or key in FREE
        made = {k: _marked(v, k, free=free) for k, v in value.items()}
        if key == "item" or "content" in value:
            made["extra"] = {MARK: MARK, "more": [MARK, {"deep": NUMBER}]}
        return made
    if isinstance(value, list):
        return [_marked(inner, key, free=free) for inner in value]
    if isinstance(value, str):
        if key in ("arguments", "input") and value.startswith("{"):
            return json.dumps({MARK: f"{MARK} {value}"})
        return value if key in STRUCTURE and not free else f"{MARK} {value}"
    if isinstance(value, int) and free and not isinstance(value, bool):
        return NUMBER
    return value


ODD = st.dictionaries(
    st.sampled_from(["note", "reasoning", "text", "payload", "content", "error", "output", MARK]),
    st.recursive(
        st.sampled_from([MARK, f"{{{MARK}}}", f'{{"a": "{MARK}"}}', NUMBER, None, True]),
        lambda inner: (
            st.lists(inner, max_size=2)
            | st.dictionaries(st.sampled_from(["text", "x", MARK, "value"]), inner, max_size=2)
        ),
        max_leaves=5,
    ),
    max_size=3,
)
"""Fields that a service may send one day."""


def everything_in(folder: Path) -> str:
    """All that stands in the files of a folder: their bytes, and what they hold unpacked."""
    found = []
    for path in sorted(folder.rglob("*")):
        if path.is_dir():
            continue
        found += [path.read_bytes().decode("utf-8", "replace"), str(path.relative_to(folder))]
        if path.suffix == ".parquet":
            table = pq.read_table(path, partitioning=None)
            found.append(json.dumps(table.to_pylist(), default=str, ensure_ascii=False))
            found.append(str(table.schema.metadata))
        elif path.suffix in (".json", ".jsonl"):
            for line in path.read_text("utf-8").split("\n") if path.suffix == ".jsonl" else ():
                found.append(_unpacked(json.loads(line)) if line else "")
            if path.suffix == ".json":
                found.append(_unpacked(json.loads(path.read_text("utf-8"))))
    return "\n".join(found)


def _unpacked(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def holds(text: str, mark: str = MARK) -> bool:
    """Whether a mark stands in a text, in any of the ways in which it may be written."""
    forms: list[Callable[[str], str]] = [
        str,
        lambda s: json.dumps(s)[1:-1],
        lambda s: json.dumps(json.dumps(s)[1:-1])[1:-1],
    ]
    return any(form(mark) in text for form in forms)
