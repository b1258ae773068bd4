"""Reading one step of a file, by the table of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from steer_nb.simulator.written import kinds as k
from steer_nb.simulator.written.nodes import MapNode, Node, TextNode, shown
from steer_nb.simulator.written.words import STEPS

__all__ = ["Play", "read_step"]

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Play:
    """A step as it was read: its values still hold their placeholders."""

    word: str
    values: Values
    node: Node

    @property
    def value(self) -> Node:
        """What stands behind its name, or the name where it stands alone."""
        return self.node.values[self.word] if isinstance(self.node, MapNode) else self.node


_OPTION_WORDS = {name for word in STEPS.values() for name in word.options}
_OTHER_WORDS = {
    "function": "call", "tool": "call", "text": "say", "message": "say", "wait": "pause",
    "sleep": "pause", "approve": "ask_approval", "approval": "ask_approval", "bash": "shell",
    "reasoning": "think", "screenshot": "computer", "close": "disconnect",
}  # fmt: skip


def read_step(node: Node) -> Play:
    """Read one step: a name alone, or a mapping of the name and its options.

    Raises
    ------
    ScenarioError
        With the line.
    """
    if isinstance(node, TextNode) and isinstance(node.value, str):
        return _bare(node)
    if not isinstance(node, MapNode):
        node.refuse(f"a step is a mapping such as 'say: Hello.', not {shown(node)}.")
    names = [name for name in node.values if name in STEPS]
    # `error` is a step, and an option of others
    names = [one for one in names if set(names) <= {one, *STEPS[one].options}] or names
    if len(names) > 1:
        # `search_tools: …` beside `call: …`: the writer forgot the dash
        second = node.keys[names[1]]
        second.refuse(
            f"this step says both {names[0]!r} and {names[1]!r}; each step begins with a dash."
        )
    if not names:
        _unknown(node)
    name = names[0]
    word = STEPS[name]
    if word.read is not None:
        return Play(name, {"value": word.read(node)}, node)
    values: Values = {}
    for key, value in node.values.items():
        if key == name:
            if word.bare and isinstance(value, TextNode) and value.value is None:
                continue
            values["value"] = word.kind.read(value)
        elif key in word.options:
            values[key] = word.options[key].read(value)
        else:
            takes = f"it takes {', '.join(word.options)}" if word.options else "it takes no options"
            hint = k.did_you_mean(key, word.options)
            node.keys[key].refuse(f"{name!r} has no option {key!r}; {takes}.{hint}")
    for key in word.required:
        if key not in values:
            node.refuse(f"{name!r} needs {key!r}, {word.options[key].says}.")
    return Play(name, values, node)


def _bare(node: TextNode) -> Play:
    word = STEPS.get(node.text)
    if word is None:
        hint = k.did_you_mean(node.text, STEPS)
        if not hint:
            hint = " To let the model say it, write 'say:' before it."
        node.refuse(f"{shown(node)} is no step.{hint}")
    if not word.bare:
        node.refuse(f"{node.text!r} needs a value, {word.kind.says}: '{node.text}: …'.")
    return Play(node.text, {}, node)


def _unknown(node: MapNode) -> None:
    key = next(iter(node.values), None)
    known = ", ".join(STEPS)
    if key is None:
        node.refuse(f"this step is empty; steps are {known}.")
    place = next((node.keys[name] for name in node.keys if name not in _OPTION_WORDS), None)
    if place is None:
        node.refuse(f"{key!r} is an option, and no step stands beside it; steps are {known}.")
    other = _OTHER_WORDS.get(place.text.lower())
    hint = f" Did you mean {other!r}?" if other else k.did_you_mean(place.text, STEPS)
    place.refuse(f"there is no step {place.text!r}.{hint} Steps are {known}.")
