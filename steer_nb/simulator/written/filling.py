"""Placeholders: ``{prompt}``, ``{steer}``, ``{result}`` and some more, put into a script's texts.

Only the words of `PLACEHOLDERS` in braces are replaced, in one pass: what is put in is never looked
at again, nothing is evaluated, no attribute can be reached. All other braces are left alone, so
that JSON and code stand as they are; ``{{prompt}}`` writes ``{prompt}``.
"""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from steer_nb.simulator.turn import Turn

__all__ = ["NAMED", "PLACEHOLDERS", "fill", "unknown_placeholder"]

_WORD = r"[A-Za-z_]\w*(?:\.[\w.:-]+)?"
_PLACE = re.compile(rf"\{{\{{(?P<kept>{_WORD})\}}\}}|\{{(?P<name>{_WORD})\}}")

PLACEHOLDERS: Mapping[str, tuple[str, Callable[[Turn], str]]] = {
    "prompt": ("the user's newest words that are no steer", lambda turn: turn.prompt),
    "steer": ("the newest steer", lambda turn: _last(turn.steers)),
    "steers": ("all steers, one a line", lambda turn: "\n".join(turn.steers)),
    "result": ("the last result that came, in words", lambda turn: _result(turn, None)),
    "results": (
        "all results, one a line",
        lambda turn: "\n".join(result.text for result in turn.results.values()),
    ),
    "report": (
        "what the agent said last that finished last",
        lambda turn: _last(list(turn.reports.values())),
    ),
    "reports": (
        "what all agents that have finished said last, one a line",
        lambda turn: "\n".join(f"{name}: {text}" for name, text in turn.reports.items()),
    ),
    "agent": ("the agent that plays this, from /root on", lambda turn: turn.agent or ""),
    "tool": ("the first tool that the request offers", lambda turn: next(iter(_tools(turn)), "")),
    "lane": ("the lane's name", lambda turn: turn.lane or "(default)"),
    "model": ("the model that was asked for", lambda turn: str(turn.settings.get("model"))),
    "turn": ("the response's number in the conversation, from 1", lambda turn: str(turn.number)),
}
"""What each stands for, and how it is found."""

NAMED: Mapping[str, tuple[str, Callable[[Turn, str], str]]] = {
    "result": ("the result of one tool", lambda turn, name: _result(turn, name)),
    "report": ("what one agent said last", lambda turn, name: turn.reports.get(name, "")),
}
"""What may be asked of one by its name: ``{result.NAME}``."""


def _last(texts: list[str]) -> str:
    return texts[-1] if texts else ""


def _result(turn: Turn, name: str | None) -> str:
    return _last([r.text for r in turn.results.values() if name in (None, r.name)])


def _tools(turn: Turn) -> list[str]:
    return [str(tool.get("name") or tool.get("type")) for tool in turn.tools]


def _is_named(name: str) -> bool:
    kind, dot, _ = name.partition(".")
    return bool(dot) and kind in NAMED


def unknown_placeholder(text: str) -> str | None:
    """Say what is wrong with the placeholders of a text; None where nothing is.

    Examples
    --------
    >>> unknown_placeholder('{"city": "{prompt}"} and {{braces}}') is None
    True
    >>> unknown_placeholder("You said {promt}.").partition(";")[0]
    'there is no placeholder {promt}. Did you mean {prompt}? {{promt}} writes it as it is'
    """
    for found in _PLACE.finditer(text):
        name = found["name"]
        if name is None or name in PLACEHOLDERS or _is_named(name):
            continue
        close = difflib.get_close_matches(name, PLACEHOLDERS, n=1)
        hint = f" Did you mean {{{close[0]}}}?" if close else ""
        known = ", ".join(f"{{{word}}}" for word in PLACEHOLDERS)
        return (
            f"there is no placeholder {{{name}}}.{hint} {{{{{name}}}}} writes it as it is; "
            f"known are {known}, {{result.NAME}} and {{report.NAME}}."
        )
    return None


def fill(value: Any, turn: Turn) -> Any:
    """Put words in for the placeholders of a text, or of all texts in lists and mappings."""
    if isinstance(value, str):
        return _PLACE.sub(lambda found: _word(found, turn), value)
    if isinstance(value, list):
        return [fill(item, turn) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, turn) for key, item in value.items()}
    return value


def _word(found: re.Match[str], turn: Turn) -> str:
    if found["kept"] is not None:
        return f"{{{found['kept']}}}"
    name = found["name"]
    kind, dot, one = name.partition(".")
    if dot:
        return NAMED[kind][1](turn, one)
    return PLACEHOLDERS[name][1](turn)
