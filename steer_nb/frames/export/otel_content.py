"""What was said, in the message shapes of the OpenTelemetry conventions; written only by opt-in.

The shapes are those of ``gen-ai-input-messages.json`` and ``gen-ai-output-messages.json`` beside
the conventions. They stand on spans as JSON text, as the conventions allow.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from steer_nb.frames.arrays import json_text
from steer_nb.frames.results import content_text
from steer_nb.ledger.context import as_items, said_to
from steer_nb.wire import is_answer, stub_for, stub_key

if TYPE_CHECKING:
    from steer_nb.ledger import ResponseState

__all__ = ["call_content", "response_content"]

# What tells an answer apart, and is no answer.
_FRAME: Final = frozenset({"type", "id", "call_id", "approval_request_id", "name", "status"})
_MODALITIES: Final = {"input_image": "image", "input_file": "document", "input_audio": "audio"}


def response_content(response: ResponseState, finish_reason: str) -> dict[str, str | None]:
    """What was said to a response, what it said, and under which instructions and tools."""
    body = {} if response.request is None else response.request.body
    instructions, tools = body.get("instructions"), body.get("tools")
    parts = [part for item in response.ordered if item.data for part in _parts(item.data)]
    said = {"role": "assistant", "parts": parts, "finish_reason": finish_reason}
    heard = [message for item in said_to(response) for message in _heard(item)]
    system = [{"type": "text", "content": instructions}] if isinstance(instructions, str) else None
    return {
        "gen_ai.input.messages": json_text(heard) if heard else None,
        "gen_ai.output.messages": json_text([said]) if parts else None,
        "gen_ai.system_instructions": json_text(system) if system else None,
        "gen_ai.tool.definitions": json_text(tools) if tools and as_items(tools) else None,
    }


def call_content(row: dict[str, Any]) -> dict[str, str | None]:
    """What a tool was called with, and what it gave."""
    return {
        "gen_ai.tool.call.arguments": row["arguments_json"] or row["arguments_text"],
        "gen_ai.tool.call.result": row["result_text"],
    }


def _heard(item: dict[str, Any]) -> list[dict[str, Any]]:
    parts = _parts(item)
    role = item.get("role")
    if not isinstance(role, str):
        role = "tool" if is_answer(item) else "assistant"
    return [{"role": role, "parts": parts}] if parts else []


def _parts(item: dict[str, Any]) -> list[dict[str, Any]]:
    kind = item.get("type", "message")
    if kind == "message":
        content = item.get("content")
        if isinstance(content, str):
            return [{"type": "text", "content": content}]
        return [_part(part) for part in as_items(content)]
    if kind == "reasoning":
        texts = [content_text(item.get("content")), content_text(item.get("summary"))]
        return [{"type": "reasoning", "content": text} for text in texts if text]
    if is_answer(item):
        given = {name: value for name, value in item.items() if name not in _FRAME}
        response = given["output"] if given.keys() == {"output"} else given
        return [{"type": "tool_call_response", "id": _key(item), "response": response}]
    stub = stub_for(item)
    if stub is not None:
        name = item.get("name") if isinstance(item.get("name"), str) else str(kind)
        arguments = _decoded(item.get("arguments", item.get("input", item.get("action"))))
        call = {"type": "tool_call", "id": stub_key(stub), "name": name}
        return [call if arguments is None else {**call, "arguments": arguments}]
    return [{"type": "server_tool_call", "id": _key(item), "name": kind, "server_tool_call": item}]


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if isinstance(part.get("text"), str):
        return {"type": "text", "content": part["text"]}
    if isinstance(part.get("refusal"), str):
        return {"type": "refusal", "content": part["refusal"]}
    modality = _MODALITIES.get(str(kind))
    where = part.get("image_url") or part.get("file_url") or part.get("file_data")
    if modality is not None and isinstance(where, str):
        head, comma, data = where.partition(";base64,")
        if comma:
            kind = head.removeprefix("data:") or None
            return {"type": "blob", "mime_type": kind, "modality": modality, "content": data}
        return {"type": "uri", "modality": modality, "uri": where}
    if modality is not None and isinstance(part.get("file_id"), str):
        return {"type": "file", "modality": modality, "file_id": part["file_id"]}
    return {**part, "type": str(kind)}


def _key(item: dict[str, Any]) -> str | None:
    for name in ("call_id", "approval_request_id", "id"):
        if isinstance(item.get(name), str):
            return str(item[name])
    return None


def _decoded(value: Any) -> Any:
    """Arguments as what they are, where the model wrote JSON."""
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value
