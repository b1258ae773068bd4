"""Conditions: what must be true of a response for a rule to play."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.written import kinds as k
from steer_nb.simulator.written.nodes import MapNode, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from steer_nb.simulator.turn import Result, Turn
    from steer_nb.simulator.written.kinds import Kind
    from steer_nb.simulator.written.nodes import Node

__all__ = ["CONDITIONS", "Condition", "holds", "read_conditions"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: what it takes, what it asks, and how it is answered."""

    kind: Kind
    help: str
    holds: Callable[[Any, Turn], bool]


def _heard(words: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether one of some words stands in one of some texts, in any case, as a word of its own."""
    text = "\n".join(texts)
    return any(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) for word in words)


def _steered(wanted: Any, turn: Turn) -> bool:
    if isinstance(wanted, bool):
        return bool(turn.steers) is wanted
    return _heard(wanted, turn.steers)


def _names(result: Result) -> set[str]:
    return {result.name, str(result.call["type"]), result.type}


def _result(wanted: Any, turn: Turn) -> bool:
    if isinstance(wanted, bool):
        return bool(turn.results) is wanted
    return any(_names(result) & set(wanted) for result in turn.results.values())


def _tool(wanted: list[str], turn: Turn) -> bool:
    offered = {str(tool[key]) for tool in turn.tools for key in ("name", "type") if tool.get(key)}
    return bool(offered & set(wanted))


def _called(wanted: Any, turn: Turn) -> bool:
    if isinstance(wanted, bool):
        return turn.called() is wanted
    made = {str(i[key]) for i in turn.history for key in ("name", "type") if i.get(key)}
    return bool(made & set(wanted))


CONDITIONS: Mapping[str, Condition] = {
    "said": Condition(
        k.WORDS,
        "the user's new words, steers aside, hold one of these",
        lambda wanted, turn: _heard(wanted, turn.input_texts),
    ),
    "matches": Condition(
        k.PATTERN,
        "this regular expression is found in the user's new words, steers included",
        lambda wanted, turn: any(wanted.search(text) for text in (*turn.input_texts, *turn.steers)),
    ),
    "steered": Condition(
        k.either(None, k.WORDS), "steers were heard, or one that holds one of these", _steered
    ),
    "result": Condition(
        k.either(None, k.WORDS), "results came, or one of a tool or type of this name", _result
    ),
    "result_says": Condition(
        k.WORDS,
        "a result's words hold one of these: approved, denied, exit 0 …",
        lambda wanted, turn: _heard(wanted, (r.text for r in turn.results.values())),
    ),
    "tool": Condition(k.WORDS, "the request offers a tool of this name or type", _tool),
    "called": Condition(
        k.either(None, k.WORDS),
        "the conversation holds a call, or one of this name or type",
        _called,
    ),
    "turn": Condition(
        k.COUNT,
        "it is the response of this number in its conversation",
        lambda wanted, turn: bool(turn.number == wanted),
    ),
    "multi_agent": Condition(
        k.FLAG,
        "the request asks for several agents",
        lambda wanted, turn: (turn.agent is not None) is wanted,
    ),
    "lane": Condition(
        k.WORDS,
        "it runs on a lane of this name; the default lane is (default)",
        lambda wanted, turn: (turn.lane or "(default)") in wanted,
    ),
}
"""Every condition, by its name. All that stand together must hold."""


def read_conditions(node: Node) -> dict[str, Any]:
    """Read what stands behind `when` or `unless`.

    Raises
    ------
    ScenarioError
        With the line.
    """
    known = ", ".join(CONDITIONS)
    if not isinstance(node, MapNode):
        node.refuse(f"conditions are a mapping such as 'said: weather', not {shown(node)}.")
    if not node.values:
        node.refuse(f"no condition stands here; conditions are {known}.")
    found = {}
    for name, value in node.values.items():
        if name not in CONDITIONS:
            hint = k.did_you_mean(name, CONDITIONS)
            node.keys[name].refuse(f"there is no condition {name!r}.{hint} Conditions are {known}.")
        found[name] = CONDITIONS[name].kind.read(value)
    return found


def holds(conditions: Mapping[str, Any], turn: Turn) -> bool:
    """Whether all of them hold."""
    return all(CONDITIONS[name].holds(value, turn) for name, value in conditions.items())
