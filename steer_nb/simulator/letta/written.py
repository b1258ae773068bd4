"""Scenarios for Letta in YAML: what its model says, and which tools its server has.

A file says ``dialect: letta``. Its `name`, `description`, `turns`, `rules` and `otherwise`, the
conditions and the placeholders are those of `steer_nb.simulator.written`; a turn is one call of the
model. Steps are ``say``, ``think``, ``call``, ``pause`` and ``fail``; `faults` are those of
`steer_nb.simulator.letta.faults`. Words behind answers to calls count as a steer.

``tools``
    A list of the server's tools, each a mapping: ``name``; ``returns``, a text in which an
    argument's name in braces stands for its value; ``fails``, true where that is an error;
    ``requires_approval``; ``description``; ``parameters``, a JSON Schema; the ``seconds`` that it
    takes.

Examples
--------
>>> from pathlib import Path
>>> from steer_nb.simulator.letta import LettaSimulator
>>> file = Path("cleaner.yaml")
>>> _ = file.write_text('''
... dialect: letta
... description: Deletes what you say, if you agree.
... tools:
...   - name: delete_file
...     returns: "deleted {path}"
...     requires_approval: true
... rules:
...   - when: {result: delete_file}
...     play:
...       say: "It gave: {result}"
... turns:
...   - - say: I want to delete it.
...     - call: delete_file
...       arguments: {path: /srv/old.log}
... ''')
>>> with LettaSimulator("cleaner.yaml", speed=0) as simulator:
...     simulator.scenario.tools[0].run('{"path": "/srv/a"}').text
'deleted /srv/a'
>>> _ = file.write_text("{dialect: letta, turns: [{search_web: cats}]}")
>>> LettaSimulator("cleaner.yaml")  # doctest: +ELLIPSIS
Traceback (most recent call last):
steer_nb.errors.ScenarioError: cleaner.yaml, line 1, column 27: Letta's model has no step ...
>>> file.unlink()
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from steer_nb.simulator.letta.faults import LettaFault
from steer_nb.simulator.letta.scenario import LettaScenario
from steer_nb.simulator.letta.tools import Outcome, ServerTool
from steer_nb.simulator.written import kinds as k
from steer_nb.simulator.written.faulting import read_faults
from steer_nb.simulator.written.nodes import ListNode, MapNode, Node, shown
from steer_nb.simulator.written.script import PLAYED, check_keys, read_script

if TYPE_CHECKING:
    from pathlib import Path

    from steer_nb.simulator.written.script import Script

__all__ = ["STEPS", "read_letta"]

STEPS: Final = ("say", "think", "call", "pause", "fail")
"""The steps that Letta's model has."""

_KEYS: Final = ("name", "description", "dialect", "tools", "faults", *PLAYED)
_TOOL: Final = {
    "name": k.NAME,
    "returns": k.PLAIN,
    "fails": k.FLAG,
    "requires_approval": k.FLAG,
    "description": k.PLAIN,
    "parameters": k.MAPPING,
    "seconds": k.NUMBER,
}
_ARGUMENT: Final = re.compile(r"\{(\w+)\}")


def read_letta(path: Path, root: MapNode) -> LettaScenario:
    """Read a scenario for Letta.

    Parameters
    ----------
    path : Path
        The file.
    root : MapNode
        What it holds.

    Raises
    ------
    ScenarioError
        Something in it is wrong: with file, line and column.
    """
    check_keys(root, _KEYS, "a scenario for Letta")
    values = root.values
    if "turns" not in values and "rules" not in values:
        root.refuse("a scenario needs 'turns' or 'rules', and neither stands here.")
    script = read_script(values)
    _check(script)
    about = k.PLAIN.read(values["description"]) if "description" in values else f"Plays {path}."
    return LettaScenario(
        k.PLAIN.read(values["name"]) if "name" in values else path.stem,
        about,
        script,
        str(path),
        faults=read_faults(values["faults"], LettaFault) if "faults" in values else (),
        tools=_tools(values["tools"]) if "tools" in values else (),
    )


def _check(script: Script) -> None:
    """Refuse steps that only the other dialect has."""
    for play in script.plays:
        if play.word not in STEPS:
            place = play.node.keys[play.word] if isinstance(play.node, MapNode) else play.node
            place.refuse(f"Letta's model has no step {play.word!r}; it has {', '.join(STEPS)}.")


def _tools(node: Node) -> tuple[ServerTool, ...]:
    if not isinstance(node, ListNode):
        node.refuse(f"'tools' must be a list, not {shown(node)}.")
    made: dict[str, ServerTool] = {}
    for item in node.items:
        tool = _tool(item)
        if tool.name in made:
            item.refuse(f"there are two tools with the name {tool.name!r}.")
        made[tool.name] = tool
    return tuple(made.values())


def _tool(node: Node) -> ServerTool:
    if not isinstance(node, MapNode):
        node.refuse(f"a tool is a mapping with 'name', not {shown(node)}.")
    check_keys(node, _TOOL, "a tool")
    given: dict[str, Any] = {key: _TOOL[key].read(value) for key, value in node.values.items()}
    if "name" not in given:
        node.refuse("this tool needs 'name', which the model calls it by.")
    said, fails = given.pop("returns", None), given.pop("fails", False)
    if said is None and fails:
        node.refuse("this tool fails, and needs 'returns', which says how.")
    function = None if said is None else partial(_give, said, fails)
    return ServerTool(given.pop("name"), function, **given)


def _give(said: str, fails: bool, /, **arguments: Any) -> Outcome:
    """Say what a tool gives; braces that name no argument stay."""

    def word(found: re.Match[str]) -> str:
        return str(arguments.get(found[1], found[0]))

    return Outcome(_ARGUMENT.sub(word, said), "error" if fails else "success")
