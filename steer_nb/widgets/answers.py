"""What a call was told, as HTML and as text: each stream, picture and check under its own name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from steer_nb.widgets.arguments import json_text, scrolling
from steer_nb.widgets.text import clip, esc, esc_strict, first_text, plain, size

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "answer_box",
    "answer_text",
    "as_list",
    "as_map",
    "content_text",
    "cut",
    "drawn",
    "names",
    "picture",
]

_OUT_CAP: Final = 8 * 1024
_KEPT_PICTURE: Final = 1_000_000
"""Longest address of a picture that a saved notebook is given a copy of."""

_PICTURE: Final = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=\s]*")


class _Line(NamedTuple):
    """A piece of an answer: its text, how it is marked, and the address where it is a picture."""

    text: str
    mark: str = ""
    url: str = ""


def answer_box(
    item: Mapping[str, Any], call: Mapping[str, Any] | None = None, *, pictures: bool = False
) -> str:
    """Draw what answered a call: a filled stub, or an output item of the service.

    Parameters
    ----------
    item : mapping
        The answer.
    call : mapping, optional
        What it answers: the commands of a shell call then stand above their output.
    pictures : bool
        Whether pictures that are in the answer itself are drawn, and not only described.
    """
    inner = "\n".join(_html(line, pictures=pictures) for line in _lines(item, call or {}))
    return scrolling(inner, "snb-call snb-out") if inner else ""


def answer_text(item: Mapping[str, Any], call: Mapping[str, Any] | None = None) -> str:
    """Write out what answered a call, as plain text.

    Examples
    --------
    >>> answer_text({"type": "mcp_approval_response", "approve": False, "reason": "not mine"})
    'denied: not mine'
    """
    return plain("\n".join(line.text for line in _lines(item, call or {})))


def content_text(parts: object) -> str:
    """Write out content, a string or a list of parts, as text."""
    return "\n".join(line.text for line in _content(parts))


def picture(url: str) -> str:
    """What kind of picture a URL is, in words: pictures are never fetched or drawn unasked.

    Examples
    --------
    >>> picture("data:image/png;base64,iVBORw0KGgo=")
    'image/png, 9 bytes'
    """
    if url.startswith("data:"):
        head, _, body = url.partition(",")
        return f"{clip(head[5:].split(';')[0], 40) or 'data'}, {_bytes(len(body) * 3 // 4)}"
    return clip(url, 200)


def drawn(url: str, name: str, limit: int) -> str:
    """Draw a picture that is in its address; empty where it is elsewhere, or longer than `limit`.

    Examples
    --------
    >>> drawn("https://example.org/a.png", "screenshot", 100)
    ''
    """
    if len(url) > limit or _PICTURE.fullmatch(url) is None:
        return ""
    return f'<img class="snb-shot" alt="{esc(name)}: {esc(picture(url))}" src="{esc(url)}">'


def _bytes(number: int) -> str:
    if number < 1000:
        return f"{number} bytes"
    return f"{number / 1000:.0f} kB" if number < 1_000_000 else f"{number / 1_000_000:.1f} MB"


def _html(line: _Line, *, pictures: bool) -> str:
    shown = drawn(line.url, line.text.partition(":")[0], _KEPT_PICTURE) if pictures else ""
    if shown:
        return shown
    text = esc_strict(line.text)
    return f'<span class="snb-{line.mark}">{text}</span>' if line.mark else text


def as_list(value: object) -> Sequence[Any]:
    """`value` where it is a list, else nothing."""
    return value if isinstance(value, list) else ()


def as_map(value: object) -> Mapping[str, Any]:
    """`value` where it is an object, else nothing."""
    return value if isinstance(value, dict) else {}


def names(tools: object) -> list[str]:
    """What each of a list of tools is called."""
    about = [as_map(tool) for tool in as_list(tools)]
    return [first_text(map(one.get, ("name", "server_label", "type"))) for one in about]


def cut(text: str) -> str:
    """Shorten what is long, and say by how much."""
    if len(text) <= _OUT_CAP:
        return text
    return f"{text[:_OUT_CAP]}… ({size(len(text) - _OUT_CAP)} more characters are not shown)"


def _lines(item: Mapping[str, Any], call: Mapping[str, Any]) -> list[_Line]:
    kind = first_text([item.get("type")])
    if kind in ("mcp_approval_response", "approval"):
        reason = first_text([item.get("reason")])
        word = "approved" if item.get("approve") is True else "denied"
        return [_Line(cut(f"{word}: {reason}" if reason else word))]
    if kind == "tool" and "tool_return" in item:
        failed = [_Line("error", "fail")] if item.get("status") == "error" else []
        return [*failed, *_content(item["tool_return"]), *_written(item)]
    if kind == "letta_approval_response":
        return [line for one in as_list(item.get("approvals")) for line in _lines(as_map(one), {})]
    if kind == "shell_call_output" and isinstance(item.get("output"), list):
        return _shell(item["output"], as_list(as_map(call.get("action")).get("commands")))
    if kind == "computer_call_output":
        return _computer(item)
    if kind == "tool_search_output":
        return [_Line(cut("tools: " + (", ".join(names(item.get("tools"))) or "none")))]
    if kind == "apply_patch_call_output":
        status, log = (first_text([item.get(name)]) for name in ("status", "output"))
        mark = {"completed": "run", "failed": "fail"}.get(status, "")
        lines = [_Line(cut(status), mark), *_named("log", log)]
        return [line for line in lines if line.text]
    if kind == "program_output":
        return [_Line(cut(first_text([item.get("result")]) or "(empty)"))]
    if "output" in item:
        failed = [_Line("error", "fail")] if item.get("status") == "error" else []
        return [*failed, *_content(item["output"]), *_written(item)]
    rest = {name: value for name, value in item.items() if name != "type"}
    return [_Line(cut(json_text(rest)))]


def _written(item: Mapping[str, Any]) -> list[_Line]:
    """What a tool wrote beside its result, where that is told apart."""
    return [
        line
        for name in ("stdout", "stderr")
        if isinstance(item.get(name), list)
        for line in _named(name, "\n".join(map(str, item[name])))
    ]


def _named(name: str, text: str) -> list[_Line]:
    return [_Line(name, "k"), _Line(cut(text.rstrip("\n")))] if text else []


def _shell(outputs: Sequence[Any], commands: Sequence[Any]) -> list[_Line]:
    """Each command with what it wrote and how it ended, apart from the next one."""
    lines: list[_Line] = []
    for number, part in enumerate(map(as_map, outputs)):
        if lines:
            lines.append(_Line(""))
        if number < len(commands):
            lines.append(_Line(f"$ {cut(str(commands[number]))}"))
        elif len(outputs) > 1:
            lines.append(_Line(f"command {number + 1}", "k"))
        streams = [
            line
            for name in ("stdout", "stderr")
            for line in _named(name, first_text([part.get(name)]))
        ]
        lines += [*(streams or [_Line("no output", "k")]), _outcome(part)]
    return lines


def _outcome(part: Mapping[str, Any]) -> _Line:
    outcome = as_map(part.get("outcome"))
    if outcome.get("type") == "timeout":
        return _Line("timed out", "wait")
    code = outcome.get("exit_code", "?")
    return _Line(f"exit {code}", "k" if code in (0, "?") else "fail")


def _computer(item: Mapping[str, Any]) -> list[_Line]:
    shot = as_map(item.get("output"))
    url = first_text([shot.get("image_url"), shot.get("file_id")])
    lines = [_Line(f"screenshot: {picture(url)}", url=url)]
    for check in map(as_map, as_list(item.get("acknowledged_safety_checks"))):
        about = [first_text([check.get(name)]) for name in ("code", "message")]
        words = ": ".join(word for word in about if word) or first_text([check.get("id")])
        lines.append(_Line(f"✓ acknowledged: {cut(words)}", "run"))
    return lines


def _content(output: object) -> list[_Line]:
    """Write out a function's output, a string or a list of parts."""
    if not isinstance(output, list):
        text = output if isinstance(output, str) else json_text(output)
        return [_Line(cut(text) or "(empty)")]
    lines = []
    for part in output:
        about = as_map(part)
        kind = first_text([about.get("type")])
        if kind in ("input_text", "output_text", "text"):
            lines.append(_Line(cut(first_text([about.get("text")]))))
        elif kind == "input_image":
            url = first_text([about.get("image_url"), about.get("file_id")])
            lines.append(_Line(f"picture: {picture(url)}", url=url))
        elif kind == "input_file":
            named = first_text([about.get("filename"), about.get("file_id"), about.get("file_url")])
            lines.append(_Line(f"[file {cut(named)}]"))
        else:
            lines.append(_Line(cut(json_text(part, indent=None))))
    return lines or [_Line("(empty)")]
