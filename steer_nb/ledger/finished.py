"""Output items in their final form, as facts: from the stream, or from a whole response object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.ledger import facts as f
from steer_nb.wire import stub_for

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["dicts", "finished_item", "finished_items"]


def finished_items(
    stream_id: str | None, response: Mapping[str, Any]
) -> tuple[f.ItemFinished, ...]:
    """Say what the output of a whole response object states, item by item."""
    output = response.get("output")
    items = output if isinstance(output, list) else []
    answered = {_call_id(item) for item in items if _is_output(item)} - {None}
    return tuple(
        finished_item(stream_id, index, item, answered)
        for index, item in enumerate(items)
        if isinstance(item, dict)
    )


def _call_id(item: dict[str, Any]) -> str | None:
    value = item.get("call_id")
    return value if isinstance(value, str) else None


def _is_output(item: object) -> bool:
    return isinstance(item, dict) and str(item.get("type", "")).endswith("_output")


def finished_item(
    stream_id: str | None,
    index: int | None,
    item: dict[str, Any],
    answered: set[str | None],
    sequence_number: int | None = None,
    agent_name: str | None = None,
) -> f.ItemFinished:
    """Say what an item's final form states; `answered` are calls whose output stands beside it."""
    # A call whose output stands in the same response was run by the service.
    stub = None if _call_id(item) in answered else stub_for(item)
    return f.ItemFinished(
        stream_id,
        index,
        item,
        stub,
        # Asynchronous calls let the model go on; nobody has to wait for them (guide: async tools).
        stub is not None and item.get("async") is True,
        _texts(item),
        agent_name,
        sequence_number=sequence_number,
    )


def _texts(item: dict[str, Any]) -> tuple[tuple[str, int, str], ...]:
    """The full texts of a finished item, by channel."""
    between = _BETWEEN_AGENTS.get(str(item.get("type")))
    if between is not None:
        # None of it is the answer: what agents say to each other has channels of its own.
        field, channel = between
        said = ((index, part.get("text")) for index, part in enumerate(dicts(item.get(field))))
        return tuple((channel, index, text) for index, text in said if isinstance(text, str))
    texts: list[tuple[str, int, str]] = []
    content = item.get("content")
    for index, part in enumerate(content if isinstance(content, list) else ()):
        if not isinstance(part, dict):
            continue
        for kind, name, channel in _CONTENT:
            text = part.get(name)
            if part.get("type") == kind and isinstance(text, str):
                texts.append((channel, index, text))
    summary = item.get("summary")
    for index, part in enumerate(summary if isinstance(summary, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(("summary", index, part["text"]))
    for name, channel in (("arguments", "arguments"), ("input", "arguments"), ("code", "code")):
        text = item.get(name)
        if isinstance(text, str):
            texts.append((channel, 0, text))
    return tuple(texts)


def dicts(value: object) -> tuple[dict[str, Any], ...]:
    """Return the objects of a list; nothing where it is none."""
    listed = value if isinstance(value, list) else []
    return tuple(item for item in listed if isinstance(item, dict))


_BETWEEN_AGENTS: Final[dict[str, tuple[str, str]]] = {
    "agent_message": ("content", "message"),
    "multi_agent_call_output": ("output", "output"),
}
_CONTENT: Final = (
    ("output_text", "text", "text"),
    ("refusal", "refusal", "refusal"),
    ("reasoning_text", "text", "reasoning"),
)
