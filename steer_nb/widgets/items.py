"""One output item as HTML: a message, a thought, a call with its answer, each told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.widgets.calls import agent_of, answer_box, call_body, call_head
from steer_nb.widgets.reading import Window
from steer_nb.widgets.text import CAP, clip, esc, esc_strict, first_text, paragraphs, seconds, size
from steer_nb.widgets.words import continued, elapsed, gone, part_tail

if TYPE_CHECKING:
    from steer_nb.ledger.contents import ItemState, RequiredInputState
    from steer_nb.ledger.state import ResponseState
    from steer_nb.widgets.reading import Reader

__all__ = ["LIVE_CAP", "item_html"]

LIVE_CAP: Final = 16 * 1024
"""Most characters of what is being written: it is sent anew with each paint."""

_SOURCES: Final = 8
_SUMMARY_CAP: Final = 8 * 1024
_ARGUMENTS_CAP: Final = 16 * 1024


def item_html(
    response: ResponseState, item: ItemState, now: float, cap: int, reader: Reader
) -> tuple[str, int]:
    """Draw an item, and count the characters of it that are left out.

    Parameters
    ----------
    response : ResponseState
        What it belongs to.
    item : ItemState
        The item, whole or half written.
    now : float
        Seconds since the trace began.
    cap : int
        Most characters of a message.
    reader : Reader
        What was drawn before.
    """
    html, hidden = _drawn(response, item, now, cap, reader)
    if not html:
        return "", hidden
    key = block_key(response, item.output_index)
    return f'<div class="snb-item" {key}>{_by_agent(item, html)}</div>', hidden


def block_key(response: ResponseState, output_index: int, part: str = "") -> str:
    """Write the attribute by which a page finds the same block again in the next picture.

    Not an item's id, which may be another one when the item is done: the place of its response in
    the trace, and its own in the response.
    """
    return f'data-snb-key="{response.started.seq}.{output_index}{part}"'


def _by_agent(item: ItemState, html: str) -> str:
    """Put the agent's name above what it wrote; a call has it in its own head."""
    name = item.agent_name
    if not html or name is None or (item.type.endswith("_call") and agent_of(item.data)):
        return html
    return f'<p class="snb-agent"><bdi>{esc_strict(clip(name, 120))}</bdi></p>{html}'


def _between_agents(item: ItemState) -> tuple[str, int]:
    """What one agent says to another: to whom, and the words, if they can be read at all."""
    to = esc_strict(clip(first_text([item.data.get("recipient")]) or "another agent", 120))
    text, hidden = part_tail(item, "message", _SUMMARY_CAP)
    said = f"<div>{paragraphs(text)}</div>" if text else ""
    sealed = "" if text else ", encrypted"
    return f'<p class="snb-note">message to <bdi>{to}</bdi>{sealed}</p>{said}', hidden


def _drawn(
    response: ResponseState, item: ItemState, now: float, cap: int, reader: Reader
) -> tuple[str, int]:
    kind = item.type or (
        "message" if any(key[0] in ("text", "transcript") for key in item.parts) else ""
    )
    if kind == "message":
        return _message(response, item, cap, reader)
    if kind == "reasoning":
        return _reasoning(response, item, now, reader)
    if kind == "agent_message":
        return _between_agents(item)
    if kind == "letta_approval_response" and response.request is not None:
        return "", 0  # the server's word for the answers that stand with their calls
    if kind.endswith("_output") or kind in ("mcp_approval_response", "letta_approval_response"):
        return _of_whom(response, item) + _output(item), 0
    call = item.data or {"type": kind}
    # Which text a call is made of depends on its kind; one of them at most has any.
    arguments, hidden = "", 0
    for channel in ("arguments", "code", "command"):
        if not arguments:
            arguments, hidden = part_tail(item, channel, _ARGUMENTS_CAP)
    asked = _asked(response, item)
    answer = answer_box(asked.item) if asked is not None and asked.item is not None else ""
    head = call_head(call, asks="" if asked is None else asked.type)
    note = _answer_note(asked, gone(response.lane))
    return head + call_body(call, arguments) + answer + note, hidden


def _of_whom(response: ResponseState, item: ItemState) -> str:
    """Whose result it is, where the call stands in the run before: a Letta agent's."""
    key = first_text([item.data.get("call_id")])
    if item.type != "letta_tool_call_output" or _call(response, key) is not None:
        return ""
    before = continued(response)
    call = None if before is None else _call(before, key)
    named = (item if call is None else call).data.get("name")
    return call_head({"type": item.type, "name": named, "call_id": key})


def _call(response: ResponseState, key: str) -> ItemState | None:
    found = (one for one in response.items.values() if one.data.get("call_id") == key)
    return next((one for one in found if not (one.type or "").endswith("_output")), None)


def _output(item: ItemState) -> str:
    """What a call gave; of a hosted shell, what it has written so far."""
    written = [part_tail(item, name, _ARGUMENTS_CAP)[0] for name in ("stdout", "stderr")]
    if item.source == "added" and any(written):
        return answer_box({"output": "\n".join(text for text in written if text)})
    return answer_box(item.data)


def _asked(response: ResponseState, item: ItemState) -> RequiredInputState | None:
    key = first_text([item.data.get("call_id"), item.data.get("id")])
    return response.required.get(key)


def _answer_note(asked: RequiredInputState | None, too_late: bool) -> str:
    if asked is None:
        return ""
    run = asked.tool
    parts = []
    if run is not None and run.finished is None:
        parts.append(f"{clip(run.name, 80)} is running")
    elif run is not None:
        took = "" if run.duration_s is None else f" in {seconds(run.duration_s)}"
        edited = ", then edited" if asked.filled_by == "user" else ""
        why = (run.error or "an error").removeprefix(f"{run.name} raised ")
        ran = f"ran{took}" if run.ok else f"raised {clip(why, 200)}"
        parts.append(ran + edited)
    words = {
        "open": "optional, not answered" if asked.optional else "waits for your answer",
        "filled": "answered, not sent" if too_late else "answered, not sent yet",
        "sent": "answer sent",
        "confirmed": "answer injected" if asked.injected else "",
        "stale": "not answered; the conversation went on",
        "cancelled": "no longer asked for",
    }
    if too_late and not asked.optional:
        words["open"] = "not answered"
    if words.get(asked.state):
        parts.append(words[asked.state])
    css = "snb-wait" if words.get(asked.state) == "waits for your answer" else "snb-soft"
    text = " · ".join(parts)
    return f'<p class="snb-note {css}">{esc(text)}</p>' if text else ""


def _writes(response: ResponseState, item: ItemState) -> bool:
    return item.done is None and response.is_live


def _message(response: ResponseState, item: ItemState, cap: int, reader: Reader) -> tuple[str, int]:
    most = LIVE_CAP if _writes(response, item) else CAP
    window = reader.window(item, "text", most)
    if not window.text:
        window = reader.window(item, "transcript", most)
    refusal, unsaid = part_tail(item, "refusal", cap)
    if not window.text and not refusal:
        text, refusal = _whole_content(item.data, cap)
        window = Window(most)
        window.feed(text)
    html, hidden = reader.markdown(window, cap)
    html = f'<div class="snb-md">{html}</div>' if html else ""
    if refusal:
        html += f'<div class="snb-refusal"><b>Refused:</b> <bdi>{esc(refusal)}</bdi></div>'
    if sources := _sources(item.data):
        html += f'<p class="snb-note">{sources}</p>'
    return html, hidden + unsaid


def _sources(data: dict[str, Any]) -> str:
    """What a message cites, by title and address: as text, since nobody asked to go there."""
    parts = [part for part in _listed(data.get("content")) if isinstance(part, dict)]
    found: dict[str, None] = {}
    for one in (note for part in parts for note in _listed(part.get("annotations"))):
        about = one if isinstance(one, dict) else {}
        named = [about.get(name) for name in ("title", "filename", "file_id")]
        words = [first_text([word]) for word in (first_text(named), about.get("url"))]
        found[" ".join(clip(word, 200) for word in words if word)] = None
    texts = [f"<bdi>{esc_strict(text)}</bdi>" for text in found if text]
    if not texts:
        return ""
    more = f" and {len(texts) - _SOURCES} more" if len(texts) > _SOURCES else ""
    return f"{'Source' if len(texts) == 1 else 'Sources'}: {', '.join(texts[:_SOURCES])}{more}"


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole_content(data: dict[str, Any], cap: int) -> tuple[str, str]:
    """Texts of a message that came whole, without deltas."""
    parts = data.get("content")
    shown = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    text = "\n\n".join(first_text([part.get("text")]) for part in shown if part.get("text"))
    refusal = "\n\n".join(first_text([part.get("refusal")]) for part in shown)
    return text[-cap:], refusal.strip()[-cap:]


def _reasoning(
    response: ResponseState, item: ItemState, now: float, reader: Reader
) -> tuple[str, int]:
    live = _writes(response, item)
    took = elapsed(item.added, item.done, now if live else None)
    word = "Thinking" if live else "Thought"
    line = word if took is None else f"{word} for {took:.1f} s"
    if item.interrupted:
        line += ", interrupted"
    said = ""
    for channel in ("summary", "reasoning"):
        window = reader.window(item, channel, _SUMMARY_CAP)
        html, hidden = reader.markdown(window, _SUMMARY_CAP)
        if html and said:
            said += '<p class="snb-note">The thoughts themselves:</p>'
        if hidden:
            said += f'<p class="snb-note">… {size(hidden)} characters before this</p>'
        said += html
    if not said:
        return f'<p class="snb-soft">{line}</p>', 0
    key = block_key(response, item.output_index, ".said")  # the line above it counts seconds
    body = f'<div class="snb-md" {key}>{said}</div>'
    return f"<details><summary>{line}</summary>{body}</details>", 0
