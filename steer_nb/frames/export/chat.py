"""The items of a conversation as messages of Chat Completions.

Its messages know text, images, audio, files, and calls of functions and custom tools. Other calls
that a client answers become calls of a function with the kind's name; what the service did by
itself has no place in them and is named among what was left out.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from steer_nb.wire import is_answer, stub_for, stub_key

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["chat_messages"]

# What tells a call apart, and says nothing about what is called.
_CALL_FRAME: Final = frozenset({"type", "id", "call_id", "status", "caller", "agent"})


def chat_messages(
    items: list[dict[str, Any]], instructions: str | None, left_out: list[str]
) -> list[dict[str, Any]]:
    """Turn input items into messages of Chat Completions.

    Parameters
    ----------
    items : list of dict
        Items of the Responses API, each call with its answer.
    instructions : str, optional
        Become the first message, of the developer.
    left_out : list of str
        Grows by what has no place in such messages.

    Examples
    --------
    >>> chat_messages([{"role": "user", "content": "Hi."}], "Be brief.", [])
    [{'role': 'developer', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Hi.'}]
    """
    made: list[dict[str, Any]] = []
    if instructions:
        made.append({"role": "developer", "content": instructions})
    answers = {stub_key(item): item for item in items if is_answer(item)}
    waiting: list[dict[str, Any]] = []  # answers to the calls of the message that is being made
    for item in items:
        if is_answer(item):
            continue  # it stands behind its call, wherever it was sent
        call = _call(item)
        if call is not None:
            if not made or made[-1]["role"] != "assistant":
                made.append({"role": "assistant"})
            made[-1].setdefault("tool_calls", []).append(call)
            waiting.append(_tool(call["id"], answers.get(call["id"])))
            continue
        made += waiting
        waiting = []
        message = _message(item, left_out)
        if message is not None:
            made.append(message)
    return made + waiting


def _message(item: dict[str, Any], left_out: list[str]) -> dict[str, Any] | None:
    kind = item.get("type", "message")
    if kind != "message":
        left_out.append(f"{kind}: Chat Completions has no such message")
        return None
    role = item.get("role")
    if role == "assistant":
        return _assistant(item.get("content"))
    content = item.get("content")
    if isinstance(content, list):
        content = [part for part in (_part(part, left_out) for part in content) if part is not None]
        if role != "user":  # only people show pictures
            content = [part for part in content if part["type"] == "text"]
    return {"role": role, "content": content if content is not None else ""}


def _assistant(content: Any) -> dict[str, Any]:
    if not isinstance(content, list):
        return {"role": "assistant", "content": content or ""}
    texts = [part.get("text", "") for part in content if part.get("type") == "output_text"]
    refusals = [part.get("refusal", "") for part in content if part.get("type") == "refusal"]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts)}
    if refusals:
        message["refusal"] = "".join(refusals)
    return message


def _part(part: dict[str, Any], left_out: list[str]) -> dict[str, Any] | None:
    kind = str(part.get("type"))
    made = _PARTS[kind](part) if kind in _PARTS else None
    if made is None:
        left_out.append(f"{kind}: Chat Completions has no such part")
    return made


def _text(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": part.get("text", "")}


def _image(part: dict[str, Any]) -> dict[str, Any] | None:
    url = part.get("image_url")
    if not isinstance(url, str):
        return None  # a file of the service, which only the Responses API can show
    image = {"url": url}
    if part.get("detail") in ("auto", "low", "high"):
        image["detail"] = part["detail"]
    return {"type": "image_url", "image_url": image}


def _file(part: dict[str, Any]) -> dict[str, Any] | None:
    names = ("file_data", "file_id", "filename")
    file = {name: part[name] for name in names if isinstance(part.get(name), str)}
    return {"type": "file", "file": file} if {"file_data", "file_id"} & file.keys() else None


def _audio(part: dict[str, Any]) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": part.get("input_audio")}


_PARTS: Final[dict[str, Callable[[dict[str, Any]], dict[str, Any] | None]]] = {
    "input_text": _text,
    "output_text": _text,
    "text": _text,
    "input_image": _image,
    "input_file": _file,
    "input_audio": _audio,
}


def _call(item: dict[str, Any]) -> dict[str, Any] | None:
    """The call as one of a function or a custom tool; None for what is no call of ours."""
    stub = stub_for(item)
    key = None if stub is None else stub_key(stub)
    if key is None:
        return None
    kind = str(item["type"])
    if kind == "custom_tool_call":
        custom = {"name": item.get("name", ""), "input": item.get("input", "")}
        return {"type": "custom", "id": key, "custom": custom}
    if kind == "function_call":
        function = {"name": item.get("name", ""), "arguments": item.get("arguments", "")}
    else:
        given = {k: v for k, v in item.items() if k not in _CALL_FRAME}
        function = {"name": kind.removesuffix("_call"), "arguments": _json(given)}
    return {"type": "function", "id": key, "function": function}


def _tool(key: str, answer: dict[str, Any] | None) -> dict[str, Any]:
    """The message that answers a call."""
    if answer is None:
        return {"role": "tool", "tool_call_id": key, "content": ""}
    output = answer.get("output")
    if isinstance(output, list):
        parts = [part for part in output if isinstance(part, dict)]
        texts = [_text(part) for part in parts if part.get("type") in ("input_text", "output_text")]
        content: Any = texts if texts and len(texts) == len(parts) else _json(output)
    elif isinstance(output, str):
        content = output
    else:
        content = _json({k: v for k, v in answer.items() if k not in _CALL_FRAME})
    return {"role": "tool", "tool_call_id": key, "content": content}


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
