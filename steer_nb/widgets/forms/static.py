"""A form as plain HTML and text: what was asked, what was answered, what became of it.

For places where no widget lives: a saved notebook, a page made of it, a repository's preview.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from steer_nb.widgets.calls import answer_box, call_body, call_head, call_hint, call_title
from steer_nb.widgets.render import card, frame
from steer_nb.widgets.text import clip, esc, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from steer_nb.client import RequiredInput
    from steer_nb.widgets.forms.facts import FormFacts

__all__ = ["forms_html", "forms_text"]

_WORDS = {
    "open": "not answered",
    "filled": "answered, not sent",
    "sent": "sent",
    "confirmed": "sent",
    "stale": "not sent; the conversation went on",
    "cancelled": "no longer asked for",
}


def forms_html(forms: Sequence[FormFacts]) -> str:
    """Draw forms that nobody can fill in."""
    cards = []
    for facts in forms:
        stubs = "".join(_stub(asked, _word(facts, asked)) for asked in facts.asked)
        note = f'<div class="snb-need snb-hint">{esc(facts.note)}</div>' if facts.note else ""
        cards.append(card(facts.lane, facts.chip, facts.meta, stubs, note))
    return frame("<br>".join(cards), "What was asked and answered")


def _word(facts: FormFacts, asked: RequiredInput) -> str:
    missing = facts.drafts.get(asked.key)
    if missing is not None and asked.draft is not None:
        return f"draft, not complete: {clip(missing, 400)}"
    return _WORDS.get(asked.state, asked.state)


def _stub(asked: RequiredInput, word: str) -> str:
    call = asked.call or asked.stub
    answer = answer_box(asked.item) if asked.item is not None else ""
    return (
        f'<div class="snb-stub">{call_head(call, asked.key)}'
        f"{call_body(call) if asked.call else ''}{answer}"
        f'<div class="snb-hint">{esc(word)}</div></div>'
    )


def forms_text(forms: Sequence[FormFacts]) -> str:
    """Write forms as text."""
    lines = []
    for facts in forms:
        lines.append(f"{plain(facts.lane)}: {facts.head}, {facts.meta}")
        for asked in facts.asked:
            call = asked.call or asked.stub
            what = plain(clip(call_title(call), 60))
            word = plain(_word(facts, asked))
            lines.append(f"  {what} ({plain(call_hint(call, asked.key))}): {word}")
        if facts.note:
            lines.append(f"  {plain(facts.note)}")
    return "\n".join(lines)
