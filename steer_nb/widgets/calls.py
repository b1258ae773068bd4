"""Calls and their answers as HTML: what a model asks for, what it was told.

Used by the lane view and by the forms, so that a person sees the same thing in both. Every
function takes plain dicts as they came from the wire, complete or not, of known kinds or not, and
never raises on odd ones.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from steer_nb.widgets.text import clip, count, esc, esc_strict, first_text, readable, short_id, size
from steer_nb.wire import describe_call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "agent_of",
    "answer_box",
    "call_body",
    "call_head",
    "call_hint",
    "call_title",
    "diff",
    "json_text",
    "picture",
]

_ARGS_CAP: Final = 16 * 1024
_OUT_CAP: Final = 8 * 1024

_KINDS: Final = {
    "function_call": "function",
    "custom_tool_call": "custom tool",
    "computer_call": "computer",
    "shell_call": "shell",
    "local_shell_call": "local shell",
    "apply_patch_call": "apply patch",
    "tool_search_call": "tool search",
    "mcp_approval_request": "approval",
    "mcp_call": "MCP call",
    "mcp_list_tools": "MCP tools",
    "web_search_call": "web search",
    "file_search_call": "file search",
    "code_interpreter_call": "code interpreter",
    "image_generation_call": "image generation",
    "multi_agent_call": "agents",
    "program": "program",
    "compaction": "compaction",
}


def json_text(value: object, *, indent: int | None = 1) -> str:
    """`value` as JSON for reading; anything JSON cannot say, as its repr."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def call_title(call: Mapping[str, Any]) -> str:
    """What to call it: the tool's own name where it has one, else its kind (plain text)."""
    kind = first_text([call.get("type")])
    if kind.endswith("_output"):  # all that is known is the stub of what should answer it
        kind = kind.removesuffix("_output").removesuffix("_call").replace("_", " ")
    named = first_text([call.get("name")])
    if kind == "multi_agent_call":
        named = first_text([call.get("action")]).replace("_", " ")
    return clip(named or _KINDS.get(kind, kind) or "call", 120)


def agent_of(item: Mapping[str, Any]) -> str:
    """Which agent of a multi-agent response an item comes from; empty where it names none."""
    return clip(first_text([_map(item.get("agent")).get("agent_name")]), 80)


def call_hint(call: Mapping[str, Any], key: str = "") -> str:
    """Kind, server and id, as in ``function · call_Qx1`` (plain text)."""
    kind = first_text([call.get("type")])
    word = _KINDS.get(kind, kind)
    parts = [word if word != call_title(call) else ""]
    if kind == "shell_call":
        parts = [count(_commands(call), "command")]
    if agent := agent_of(call):
        parts.append(agent)
    if server := first_text([call.get("server_label")]):
        parts.append(f"server {clip(server, 80)}")
    if call.get("async") is True:
        parts.append("asynchronous: need not be answered now")
    identifier = key or first_text([call.get("call_id"), call.get("id")])
    if identifier:
        parts.append(clip(identifier, 80))
    return " · ".join(part for part in parts if part)


def call_head(call: Mapping[str, Any], key: str = "", more: str = "") -> str:
    """Draw title and hint; a long id is shortened, and whole where one points at it."""
    identifier = key or first_text([call.get("call_id"), call.get("id")])
    hint = call_hint(call, key)
    if identifier and len(identifier) > 16 and hint.endswith(clip(identifier, 80)):
        hint = hint.removesuffix(clip(identifier, 80)) + short_id(identifier)
    whole = f' title="{esc_strict(clip(identifier, 256))}"' if identifier else ""
    return (
        f'<div class="snb-calltop"><b><bdi>{esc_strict(call_title(call))}</bdi></b>'
        f"<span{whole}>{esc_strict(hint)}{more}</span></div>"
    )


def call_body(call: Mapping[str, Any], arguments: str = "") -> str:
    """What the call asks for, as HTML; `arguments` where they are still being written."""
    kind = first_text([call.get("type")])
    draw = _BODIES.get(kind)
    inner = draw(call) if draw is not None else ""
    if not inner:
        text = arguments or first_text([call.get("arguments"), call.get("input"), call.get("code")])
        if not text and isinstance(call.get("arguments"), (dict, list)):
            text = json_text(call["arguments"], indent=None)
        inner = _pairs(text)
    if kind == "code_interpreter_call":
        inner = "\n".join(part for part in (inner, _code_outputs(call)) if part)
    if not inner and kind not in _KINDS:
        known = {"id", "type", "status", "call_id", "name"}
        rest = {name: value for name, value in call.items() if name not in known}
        inner = esc_strict(clip(json_text(rest), _ARGS_CAP)) if rest else ""
    return _box(inner) if inner else ""


def answer_box(item: Mapping[str, Any]) -> str:
    """Draw what answered a call: a filled stub, or an output item of the service."""
    inner = _answer(item)
    return _box(inner, "snb-call snb-out") if inner else ""


def picture(url: str) -> str:
    """What kind of picture a URL is, in words: pictures are never fetched or drawn unasked."""
    if url.startswith("data:"):
        head, _, body = url.partition(",")
        return f"{clip(head[5:].split(';')[0], 40) or 'data'}, {size(len(body) * 3 // 4)} bytes"
    return clip(url, 200)


def diff(text: str) -> str:
    """Colour a patch by its line marks; the marks stay, so colour is not the only sign."""
    lines = []
    for line in text.split("\n"):
        tag = {"+": "ins", "-": "del"}.get(line[:1])
        shown = esc_strict(line)
        lines.append(f"<{tag}>{shown}</{tag}>" if tag else shown + "\n")
    return "".join(lines).rstrip("\n")


def _box(inner: str, css: str = "snb-call") -> str:
    # tabindex: a box that scrolls must be reachable without a mouse.
    return f'<div class="{css}" dir="auto" tabindex="0">{inner}</div>'


def _pairs(text: str) -> str:
    """Arguments as ``name  value`` lines, or as they are while they are no JSON object yet."""
    if len(text) > _ARGS_CAP:
        hidden = len(text) - _ARGS_CAP
        return f"{esc_strict(text[:_ARGS_CAP])}…\n{_hidden(hidden)}"
    pairs = readable(text)
    if pairs is None:
        return esc_strict(text)
    if not pairs:
        return '<span class="snb-k">no arguments</span>'
    width = min(max(len(name) for name, _ in pairs), 24)
    return "\n".join(
        f'<span class="snb-k">{esc_strict(name.ljust(width))}</span>  {esc_strict(value)}'
        for name, value in pairs
    )


def _hidden(number: int) -> str:
    return f'<span class="snb-k">{esc(size(number))} more characters are not shown</span>'


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _map(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _commands(call: Mapping[str, Any]) -> int:
    return len(_list(_map(call.get("action")).get("commands")))


def _described(call: Mapping[str, Any]) -> str:
    """What a call of the client's own asks for, in the wire's own description of it."""
    entries = describe_call(dict(call))
    named = [label for label, _ in entries if label not in ("$", "diff", "safety check")]
    width = min(max(map(len, named), default=0), 24)
    lines = []
    for label, text in entries:
        shown = text if len(text) <= _ARGS_CAP else text[:_ARGS_CAP] + "…"
        if label == "diff":
            lines.append(diff(shown))
        elif label == "$":
            lines.append(f"$ {esc_strict(shown)}")
        elif label == "safety check":
            lines.append(f'<span class="snb-wait">▲ safety check: {esc_strict(shown)}</span>')
        else:
            mark = f'<span class="snb-k">{esc_strict(label.ljust(width))}</span>'
            lines.append(f"{mark}  {esc_strict(shown)}")
        if shown is not text:
            lines.append(_hidden(len(text) - _ARGS_CAP))
    return "\n".join(lines)


def _web_search(call: Mapping[str, Any]) -> str:
    action = _map(call.get("action"))
    return _pairs(json_text(action, indent=None)) if action else ""


def _file_search(call: Mapping[str, Any]) -> str:
    return "\n".join(esc_strict(str(query)) for query in _list(call.get("queries")))


def _code_outputs(call: Mapping[str, Any]) -> str:
    lines = []
    for output in map(_map, _list(call.get("outputs"))):
        logs, url = first_text([output.get("logs")]), first_text([output.get("url")])
        text = logs.rstrip("\n") or (f"[{picture(url)}]" if url else "")
        if text:
            lines.append(f'<span class="snb-k">→</span> {esc_strict(_cut(text))}')
    return "\n".join(lines)


def _image(call: Mapping[str, Any]) -> str:
    lines = [esc_strict(_cut(first_text([call.get("revised_prompt")])))]
    result, across = first_text([call.get("result")]), first_text([call.get("size")])
    if result:
        made = f"picture, {size(len(result) * 3 // 4)} bytes" + (f", {across}" if across else "")
        lines.append(f'<span class="snb-k">→</span> {esc_strict(clip(made, 200))}')
    lines.append(_failure(call.get("error")))
    return "\n".join(line for line in lines if line)


def _compaction(call: Mapping[str, Any]) -> str:
    sealed = len(first_text([call.get("encrypted_content")]))
    return esc(f"the conversation in fewer tokens, encrypted: {size(sealed)} characters")


def _failure(error: object) -> str:
    """Why the service's own tool failed: in its words, or all that it says."""
    if error is None:
        return ""
    about = _map(error)
    text = error if isinstance(error, str) else first_text([about.get("message")])
    if not text:
        content = _content(about.get("content"))
        text = content if content and isinstance(about.get("content"), list) else json_text(error)
    code = about.get("code")
    named = f"{code}: " if isinstance(code, str | int) else ""
    return f'<span class="snb-fail">▲ {esc_strict(_cut(named + text))}</span>'


def _mcp_call(call: Mapping[str, Any]) -> str:
    lines = [_pairs(first_text([call.get("arguments")]))]
    if call.get("output") is not None:
        lines.append(f'<span class="snb-k">→</span> {esc_strict(_cut(str(call["output"])))}')
    lines.append(_failure(call.get("error")))
    return "\n".join(line for line in lines if line)


def _mcp_tools(call: Mapping[str, Any]) -> str:
    lines = [esc_strict(_cut(", ".join(_names(call.get("tools"))))), _failure(call.get("error"))]
    return "\n".join(line for line in lines if line)


_BODIES: Final = {
    "shell_call": _described,
    "local_shell_call": _described,
    "computer_call": _described,
    "apply_patch_call": _described,
    "web_search_call": _web_search,
    "file_search_call": _file_search,
    "image_generation_call": _image,
    "mcp_call": _mcp_call,
    "mcp_list_tools": _mcp_tools,
    "compaction": _compaction,
}


def _names(tools: object) -> list[str]:
    return [
        first_text([_map(tool).get("name"), _map(tool).get("server_label"), _map(tool).get("type")])
        for tool in _list(tools)
    ]


def _cut(text: str) -> str:
    if len(text) <= _OUT_CAP:
        return text
    return f"{text[:_OUT_CAP]}… ({size(len(text) - _OUT_CAP)} more characters are not shown)"


def _content(output: object) -> str:
    """Write out a function's output, a string or a list of parts, as text."""
    if isinstance(output, str):
        return output
    lines = []
    for part in _list(output):
        about = _map(part)
        kind = first_text([about.get("type")])
        if kind in ("input_text", "output_text", "text"):
            lines.append(first_text([about.get("text")]))
        elif kind == "input_image":
            lines.append(f"[{picture(first_text([about.get('image_url'), about.get('file_id')]))}]")
        elif kind == "input_file":
            name = first_text([about.get("filename"), about.get("file_id"), about.get("file_url")])
            lines.append(f"[file {name}]")
        else:
            lines.append(json_text(part, indent=None))
    return "\n".join(lines)


def _outcome(part: Mapping[str, Any]) -> str:
    outcome = _map(part.get("outcome"))
    if outcome.get("type") == "timeout":
        return "timed out"
    return f"exit {outcome.get('exit_code', '?')}"


def _answer(item: Mapping[str, Any]) -> str:
    kind = first_text([item.get("type")])
    if kind == "mcp_approval_response":
        reason = first_text([item.get("reason")])
        word = "approved" if item.get("approve") is True else "denied"
        return esc_strict(_cut(f"{word}: {reason}" if reason else word))
    if kind == "shell_call_output" and isinstance(item.get("output"), list):
        lines = []
        for part in map(_map, item["output"]):
            streams = [first_text([part.get(name)]).rstrip("\n") for name in ("stdout", "stderr")]
            text = "\n".join(stream for stream in streams if stream)
            lines.append(f"{esc_strict(_cut(text))}\n" if text else "")
            lines.append(f'<span class="snb-k">{esc_strict(_outcome(part))}</span>\n')
        return "".join(lines).rstrip("\n")
    if kind == "computer_call_output":
        shot = _map(item.get("output"))
        text = f"screenshot: {picture(first_text([shot.get('image_url'), shot.get('file_id')]))}"
        checks = len(_list(item.get("acknowledged_safety_checks")))
        return esc_strict(text + (f" · {count(checks, 'check')} acknowledged" if checks else ""))
    if kind == "tool_search_output":
        names = _names(item.get("tools"))
        return esc_strict(_cut("tools: " + (", ".join(names) or "none")))
    if kind == "apply_patch_call_output":
        text = f"{first_text([item.get('status')])}\n{first_text([item.get('output')])}"
        return esc_strict(_cut(text.strip()))
    if kind == "program_output":
        return esc_strict(_cut(first_text([item.get("result")]) or "(empty)"))
    if "output" in item:
        text = _content(item["output"]) or "(empty)"
        return esc_strict(_cut(text))
    rest = {name: value for name, value in item.items() if name != "type"}
    return esc_strict(_cut(json_text(rest)))
