"""Calls and their answers as HTML: what a model asks for, what it was told.

Used by the lane view and by the forms, so that a person sees the same thing in both. Every
function takes plain dicts as they came from the wire, complete or not, of known kinds or not, and
never raises on odd ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.widgets.answers import (
    answer_box,
    as_list,
    as_map,
    content_text,
    cut,
    names,
    picture,
)
from steer_nb.widgets.arguments import (
    ARGS_CAP,
    arguments_table,
    hidden,
    json_text,
    pairs,
    scrolling,
)
from steer_nb.widgets.text import clip, count, esc, esc_strict, first_text, short_id, size
from steer_nb.wire import describe_call

if TYPE_CHECKING:
    from collections.abc import Mapping

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

_KINDS: Final = {
    "function_call": "function",
    "custom_tool_call": "custom tool",
    "computer_call": "computer",
    "shell_call": "shell",
    "local_shell_call": "local shell",
    "apply_patch_call": "apply patch",
    "tool_search_call": "tool search",
    "mcp_approval_request": "approval",
    "letta_approval": "asks for approval",
    "letta_tool_return": "function of yours",
    "letta_approval_call": "call for you",
    "letta_tool_call": "agent's own tool",
    "letta_tool_call_output": "result",
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
    return clip(first_text([as_map(item.get("agent")).get("agent_name")]), 80)


def call_hint(call: Mapping[str, Any], key: str = "", asks: str = "") -> str:
    """Kind, server and id, as in ``function · call_Qx1`` (plain text).

    A Letta agent's call is of one kind, whatever it waits for: `asks`, the type of what answers it,
    tells a decision from a result.
    """
    kind = first_text([call.get("type")])
    word = _KINDS.get(asks, _KINDS.get(kind, kind))
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


def call_head(
    call: Mapping[str, Any],
    key: str = "",
    more: str = "",
    *,
    asks: str = "",
    heading: bool = False,
) -> str:
    """Draw title and hint; a long id is shortened, and whole where one points at it.

    With `heading` it is one for screen readers, too: what follows belongs to it.
    """
    identifier = key or first_text([call.get("call_id"), call.get("id")])
    hint = call_hint(call, key, asks)
    if identifier and len(identifier) > 16 and hint.endswith(clip(identifier, 80)):
        hint = hint.removesuffix(clip(identifier, 80)) + short_id(identifier)
    whole = f' title="{esc_strict(clip(identifier, 256))}"' if identifier else ""
    role = ' role="heading" aria-level="4"' if heading else ""
    return (
        f'<div class="snb-calltop"{role}><b><bdi>{esc_strict(call_title(call))}</bdi></b> '
        f"<span{whole}>{esc_strict(hint)}{more}</span></div>"
    )


def call_body(call: Mapping[str, Any], arguments: str = "", *, table: bool = False) -> str:
    """What the call asks for, as HTML.

    Parameters
    ----------
    call : mapping
        The call.
    arguments : str
        What it was given so far, where that is still being written.
    table : bool
        Whether arguments are a table, with the JSON in a fold, and not lines.
    """
    kind = first_text([call.get("type")])
    draw = _BODIES.get(kind)
    inner = draw(call) if draw is not None else ""
    if not inner:
        text = arguments or first_text([call.get("arguments"), call.get("input"), call.get("code")])
        if not text and isinstance(call.get("arguments"), (dict, list)):
            text = json_text(call["arguments"], indent=None)
        if kind == "custom_tool_call":  # free text, even where it looks like JSON
            inner = esc_strict(text[:ARGS_CAP])
            inner += f"…\n{hidden(len(text) - ARGS_CAP)}" if len(text) > ARGS_CAP else ""
        elif table and (text or kind in _KINDS):
            return arguments_table(text)
        else:
            inner = pairs(text)
    if kind == "code_interpreter_call":
        inner = "\n".join(part for part in (inner, _code_outputs(call)) if part)
    if not inner and kind not in _KINDS:
        known = {"id", "type", "status", "call_id", "name"}
        rest = {name: value for name, value in call.items() if name not in known}
        inner = esc_strict(clip(json_text(rest), ARGS_CAP)) if rest else ""
    css = "snb-call snb-diff" if kind == "apply_patch_call" else "snb-call"
    return scrolling(inner, css) if inner else ""


def diff(text: str) -> str:
    """Colour a patch by its line marks; the marks stay, so colour is not the only sign."""
    lines = []
    for line in text.split("\n"):
        tag = {"+": "ins", "-": "del"}.get(line[:1])
        # The line break is in the element: without a style sheet it is all that parts the lines.
        shown = f"{esc_strict(line)}\n"
        lines.append(f"<{tag}>{shown}</{tag}>" if tag else shown)
    return "".join(lines).rstrip("\n")


def _commands(call: Mapping[str, Any]) -> int:
    return len(as_list(as_map(call.get("action")).get("commands")))


def _described(call: Mapping[str, Any]) -> str:
    """What a call of the client's own asks for, in the wire's own description of it."""
    entries = describe_call(dict(call))
    named = [label for label, _ in entries if label not in ("$", "diff", "safety check")]
    width = min(max(map(len, named), default=0), 24)
    lines = []
    for label, text in entries:
        shown = text if len(text) <= ARGS_CAP else text[:ARGS_CAP] + "…"
        if label == "diff":
            lines.append(diff(shown))
        elif label == "$":
            lines.append(f"$ {esc_strict(shown)}")
        elif label == "safety check":
            warned = '<span class="snb-wait">▲ safety check:</span>'
            lines.append(f"{warned} {esc_strict(shown)}")
        else:
            mark = f'<span class="snb-k">{esc_strict(label.ljust(width))}</span>'
            lines.append(f"{mark}  {esc_strict(shown)}")
        if shown is not text:
            lines.append(hidden(len(text) - ARGS_CAP))
    return "\n".join(lines)


def _web_search(call: Mapping[str, Any]) -> str:
    action = as_map(call.get("action"))
    return pairs(json_text(action, indent=None)) if action else ""


def _file_search(call: Mapping[str, Any]) -> str:
    return "\n".join(esc_strict(str(query)) for query in as_list(call.get("queries")))


def _code_outputs(call: Mapping[str, Any]) -> str:
    lines = []
    for output in map(as_map, as_list(call.get("outputs"))):
        logs, url = first_text([output.get("logs")]), first_text([output.get("url")])
        text = logs.rstrip("\n") or (f"[{picture(url)}]" if url else "")
        if text:
            lines.append(f'<span class="snb-k">→</span> {esc_strict(cut(text))}')
    return "\n".join(lines)


def _image(call: Mapping[str, Any]) -> str:
    lines = [esc_strict(cut(first_text([call.get("revised_prompt")])))]
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
    about = as_map(error)
    text = error if isinstance(error, str) else first_text([about.get("message")])
    if not text:
        content = about.get("content")
        text = content_text(content) if isinstance(content, list) and content else json_text(error)
    code = about.get("code")
    named = f"{code}: " if isinstance(code, str | int) else ""
    return f'<span class="snb-fail">▲ {esc_strict(cut(named + text))}</span>'


def _mcp_call(call: Mapping[str, Any]) -> str:
    lines = [pairs(first_text([call.get("arguments")]))]
    if call.get("output") is not None:
        lines.append(f'<span class="snb-k">→</span> {esc_strict(cut(str(call["output"])))}')
    lines.append(_failure(call.get("error")))
    return "\n".join(line for line in lines if line)


def _mcp_tools(call: Mapping[str, Any]) -> str:
    lines = [esc_strict(cut(", ".join(names(call.get("tools"))))), _failure(call.get("error"))]
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
