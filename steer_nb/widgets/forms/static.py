"""A form as plain HTML and text: what was asked, what was answered, what became of it.

For places where no widget lives: a saved notebook, a page made of it, a repository's preview.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from steer_nb.widgets.answers import answer_box, answer_text
from steer_nb.widgets.arguments import scrolling
from steer_nb.widgets.calls import call_body, call_head, call_hint, call_title
from steer_nb.widgets.forms.ran import ran_html, ran_text
from steer_nb.widgets.render import card, frame
from steer_nb.widgets.text import clip, esc, esc_strict, plain, shortened
from steer_nb.wire import describe_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from steer_nb.client import RequiredInput
    from steer_nb.widgets.forms.facts import FormFacts

__all__ = ["forms_html", "forms_text", "record_html"]

_WORDS: Final = {
    "open": "not answered",
    "filled": "answered, not sent",
    "sent": "sent",
    "confirmed": "sent",
    "stale": "not sent; the conversation went on",
    "cancelled": "no longer asked for",
}
_TEXT_CAP: Final = 2000

# It stands, too, where ipywidgets gave up too early on a kernel that runs: see `style_talk`.
_GONE: Final = (
    "This belongs to a kernel that has ended, or it is only looked at. "
    "Does the kernel still run? Reload the page."
)
_GO_ON: Final = (
    f"{_GONE} Else, to go on: <code>%steer recover</code>, then <code>%steer pending</code>; "
    "what was typed is kept."
)
_NO_JOURNAL: Final = (
    f"{_GONE} Else it is lost: its session had no journal. It is in no file, and cannot be taken "
    "up again."
)

# In a page with the living form the record is hidden. The rule names no front end's classes:
# wherever record and form stand in two neighbours, at whatever depth, the first goes. What holds
# both stays: a cell beside another one with the same form, a notebook beside a second view of it.
# Where the outputs of a cell are no neighbours both are seen, the record first: read twice, never
# not at all.
_HIDE: Final = (
    "<style>:has(.{mark}):not(:has(.snb-forms.{mark})):has(+* .snb-forms.{mark})"
    "{{display:none}}</style>"
)


def forms_html(forms: Sequence[FormFacts]) -> str:
    """Draw forms that nobody can fill in."""
    return frame(_cards(forms), "What was asked and answered")


def record_html(forms: Sequence[FormFacts], mark: str, *, journal: bool) -> str:
    """Draw what stands in front of living forms, seen once they are gone with their kernel.

    Parameters
    ----------
    forms : sequence of FormFacts
        As they are now.
    mark : str
        The class that the widget with these forms has, and no other.
    journal : bool
        Whether a later kernel can take the session up again.
    """
    said = f'<p class="snb-gone">{_GO_ON if journal else _NO_JOURNAL}</p>'
    kept = f'<div class="snb-kept {mark}">{_cards(forms)}{said}</div>'
    return _HIDE.format(mark=mark) + frame(kept, "What was asked and answered")


def _cards(forms: Sequence[FormFacts]) -> str:
    cards = []
    for facts in forms:
        stubs = "".join(_stub(facts, asked) for asked in facts.asked)
        note = ""
        if facts.note:
            note = f'<div class="snb-need snb-hint">{esc(shortened(facts.note))}</div>'
        cards.append(card(facts.lane, facts.chip, facts.meta, stubs, note))
    return "<br>".join(cards)


def _word(facts: FormFacts, asked: RequiredInput) -> str:
    missing = facts.drafts.get(asked.key)
    if missing is not None and asked.draft is not None:
        return f"draft, not complete: {clip(missing, 400)}"
    return _WORDS.get(asked.state, asked.state)


def _stub(facts: FormFacts, asked: RequiredInput) -> str:
    call = asked.call or asked.stub
    body = call_body(_asked(asked), table=True) if asked.call else ""
    answer = "" if asked.item is None else answer_box(asked.item, asked.call, pictures=True)
    # Where the whole form was sent, its last line says so.
    told = facts.phase in ("sending", "committed") and asked.state in ("sent", "confirmed")
    word = "" if told else f'<div class="snb-hint">{esc(_word(facts, asked))}</div>'
    return (
        f'<div class="snb-stub">{call_head(call, asked.key, asks=asked.type, heading=True)}{body}'
        f"{ran_html(asked.tool)}{answer}{_draft(asked)}{word}</div>"
    )


def _draft(asked: RequiredInput) -> str:
    """What is half typed, as it is kept."""
    if asked.item is not None or asked.draft is None:
        return ""
    again = asked.draft.get("item")  # an answer whose response failed
    shown = answer_box(again, asked.call, pictures=True) if isinstance(again, dict) else ""
    return shown + "".join(
        f'<div class="snb-hint">{esc_strict(clip(field, 40))}</div>'
        + scrolling(esc_strict(clip(text, _TEXT_CAP)))
        for field, text in _half_typed(asked.draft)
    )


def _half_typed(draft: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for field, value in draft.items():
        if field == "ticked" and isinstance(value, list) and value:
            yield field, ", ".join(str(one) for one in value)
        elif field in ("shot", "parts") and value:
            yield field, "(kept)"
        elif field not in ("mode", "shot", "parts") and isinstance(value, str) and value:
            yield field, value


def _asked(asked: RequiredInput) -> Mapping[str, Any]:
    """The call, without what stands at its answer: commands, and checks that warn no more."""
    call = asked.call or {}
    if asked.item is None:
        return call
    kept = {name: value for name, value in call.items() if name != "pending_safety_checks"}
    action = kept.get("action")
    if kept.get("type") == "shell_call" and isinstance(action, dict):
        kept["action"] = {name: value for name, value in action.items() if name != "commands"}
    return kept


def forms_text(forms: Sequence[FormFacts]) -> str:
    """Write forms as text."""
    lines = []
    for facts in forms:
        lines.append(f"{plain(facts.lane)}: {facts.head}, {facts.meta}")
        for asked in facts.asked:
            lines += _text(facts, asked)
        if facts.note:
            lines.append(f"  {plain(facts.note)}")
    return "\n".join(lines)


def _text(facts: FormFacts, asked: RequiredInput) -> list[str]:
    call = asked.call or asked.stub
    what = plain(clip(call_title(call), 60))
    word = plain(_word(facts, asked))
    lines = [f"  {what} ({plain(call_hint(call, asked.key, asked.type))}): {word}"]
    if asked.call is not None:
        entries = describe_call(dict(_asked(asked)))
        lines += [_indented(f"{label} {text}" if label else text) for label, text in entries]
    lines += [_indented(text) for text in ran_text(asked.tool)]
    if asked.item is not None:
        answer = answer_text(asked.item, asked.call)
        lines.append(_indented(f"→ {answer}"))
    elif asked.draft is not None:
        lines += [_indented(f"{field}: {text}") for field, text in _half_typed(asked.draft)]
    return lines


def _indented(text: str) -> str:
    return "    " + plain(clip(text, _TEXT_CAP)).replace("\n", "\n      ")
