"""From a YAML file to a scenario: which steps a response plays, and how the file is read."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.scenario import Scenario
from steer_nb.simulator.scenarios.common import answer
from steer_nb.simulator.steps import Say
from steer_nb.simulator.written import kinds as k
from steer_nb.simulator.written.faulting import read_faults
from steer_nb.simulator.written.filling import fill
from steer_nb.simulator.written.nodes import ListNode, MapNode, Node, read_nodes, shown
from steer_nb.simulator.written.plays import Play, read_step
from steer_nb.simulator.written.rules import holds, read_conditions
from steer_nb.simulator.written.words import STEPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from steer_nb.simulator.steps import Step
    from steer_nb.simulator.turn import Turn

__all__ = ["PLAYED", "Rule", "Script", "check_keys", "load_written", "read_script"]

PLAYED = ("turns", "rules", "otherwise")
_KEYS = ("name", "description", "dialect", "faults", *PLAYED, "agents")
_DIALECT = k.choice("responses", "letta")
_RULE_KEYS = ("when", "unless", "play")


@dataclass(frozen=True, slots=True)
class Rule:
    """Steps, and when they are played."""

    when: dict[str, Any]
    unless: dict[str, Any] | None
    play: tuple[Play, ...]

    def fits(self, turn: Turn) -> bool:
        """Whether it plays this response."""
        return holds(self.when, turn) and not (self.unless and holds(self.unless, turn))


@dataclass(frozen=True, slots=True)
class Script:
    """What a file says, or one of its agents; calling it plays one response, or the agent's part.

    With `again`, the last turn is played again where no other is left.
    """

    rules: tuple[Rule, ...]
    turns: tuple[tuple[Play, ...], ...]
    otherwise: tuple[Play, ...] | None
    again: bool = True

    def __call__(self, turn: Turn) -> Iterator[Step]:
        """Give the steps of one response."""
        plays = self.choose(turn)
        if plays is None:
            yield Say(answer(turn))  # a script never runs dry
            return
        for play in plays:
            values = {name: fill(value, turn) for name, value in play.values.items()}
            yield STEPS[play.word].make(**values)

    def choose(self, turn: Turn) -> tuple[Play, ...] | None:
        """Say which steps are played: a rule's, the next turn's, or the rest's."""
        for rule in self.rules:
            if rule.fits(turn):
                return rule.play
        if turn.number <= len(self.turns):
            return self.turns[turn.number - 1]
        if self.otherwise is not None:
            return self.otherwise
        return self.turns[-1] if self.turns and self.again else None

    @property
    def plays(self) -> Iterator[Play]:
        """All steps that it may play."""
        for steps in (*(rule.play for rule in self.rules), *self.turns, self.otherwise or ()):
            yield from steps


def load_written(path: Path) -> Scenario:
    """Read a scenario from a YAML file.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ScenarioError
        The file cannot be read, or something in it is wrong: with file, line and column.
    """
    root = read_nodes(path)
    if not isinstance(root, MapNode):
        root.refuse(f"a scenario is a mapping with 'turns' or 'rules', not {shown(root)}.")
    values = root.values
    if "dialect" in values and _DIALECT.read(values["dialect"]) == "letta":
        from steer_nb.simulator.letta.written import read_letta

        return read_letta(path, root)
    check_keys(root, _KEYS, "a scenario")
    if "turns" not in values and "rules" not in values:
        root.refuse("a scenario needs 'turns' or 'rules', and neither stands here.")
    name = k.PLAIN.read(values["name"]) if "name" in values else path.stem
    about = k.PLAIN.read(values["description"]) if "description" in values else ""
    script = read_script(values)
    _cast(script, _agents(values["agents"]) if "agents" in values else {})
    faults = read_faults(values["faults"]) if "faults" in values else ()
    return Scenario(name, about or f"Plays {path}.", script, str(path), faults=faults)


def read_script(values: dict[str, Node], *, agent: bool = False) -> Script:
    """Read what is played: `turns`, `rules` and `otherwise`.

    Raises
    ------
    ScenarioError
        With the line.
    """
    turns = _items(values["turns"], "turns") if "turns" in values else []
    rules = _items(values["rules"], "rules") if "rules" in values else []
    return Script(
        rules=tuple(_rule(item, agent=agent) for item in rules),
        turns=tuple(_plays(item, agent=agent) for item in turns),
        otherwise=_plays(values["otherwise"], agent=agent) if "otherwise" in values else None,
        again=not agent,
    )


# Agents


def _agents(node: Node) -> dict[str, Script]:
    """Read what the file's agents do, by their names."""
    if not isinstance(node, MapNode):
        node.refuse(f"'agents' must be a mapping of names to what they play, not {shown(node)}.")
    return {k.NAME.read(node.keys[name]): _agent(name, one) for name, one in node.values.items()}


def _agent(name: str, node: Node) -> Script:
    """Read one agent: its steps, or a mapping as the file's own with turns and rules."""
    if not isinstance(node, MapNode) or not set(node.values) & set(PLAYED):
        return Script((), (_plays(node, agent=True),), None, again=False)
    check_keys(node, PLAYED, f"the agent {name!r}")
    return read_script(node.values, agent=True)


def _cast(script: Script, agents: dict[str, Script]) -> None:
    """Give each step that spawns the script of its agent.

    Raises
    ------
    ScenarioError
        There is no such agent, or one would spawn itself, perhaps by way of others.
    """
    known = f" This file has {', '.join(agents)}." if agents else " This file has no 'agents'."
    begun: dict[str, bool] = {}

    def follow(one: Script) -> None:
        for play in one.plays:
            if play.word != "spawn":
                continue
            name = play.values["value"]
            if name not in agents:
                hint = k.did_you_mean(name, agents)
                play.value.refuse(f"there is no agent {name!r}.{hint}{known}")
            if begun.get(name):
                play.value.refuse(f"the agent {name!r} would spawn itself, and that without end.")
            play.values["script"] = partial(_perform, agents[name])
            if name not in begun:
                begun[name] = True
                follow(agents[name])
                begun[name] = False

    for one in (script, *agents.values()):
        follow(one)


def _perform(script: Script, turn: Turn) -> Iterator[Step]:
    return script(turn)


def check_keys(node: MapNode, known: Iterable[str], what: str) -> None:
    """Refuse a key that a mapping does not have.

    Raises
    ------
    ScenarioError
        With the line.
    """
    for name, key in node.keys.items():
        if name not in known:
            hint = k.did_you_mean(name, known)
            key.refuse(f"{what} has no key {name!r}.{hint} It may have {', '.join(known)}.")


def _items(node: Node, name: str) -> list[Node]:
    if not isinstance(node, ListNode):
        node.refuse(f"{name!r} must be a list, not {shown(node)}.")
    if not node.items:
        node.refuse(f"{name!r} is an empty list; there must be at least one.")
    return node.items


def _rule(node: Node, *, agent: bool) -> Rule:
    if not isinstance(node, MapNode):
        node.refuse(f"a rule is a mapping with 'when' and 'play', not {shown(node)}.")
    check_keys(node, _RULE_KEYS, "a rule")
    values = node.values
    if "play" not in values:
        node.refuse("this rule needs 'play', the steps that it plays.")
    if "when" not in values and "unless" not in values:
        node.refuse("this rule needs 'when' or 'unless'; what always plays is 'otherwise'.")
    return Rule(
        when=read_conditions(values["when"]) if "when" in values else {},
        unless=read_conditions(values["unless"]) if "unless" in values else None,
        play=_plays(values["play"], agent=agent),
    )


def _plays(node: Node, *, agent: bool) -> tuple[Play, ...]:
    """Read a list of steps, or one step."""
    items = node.items if isinstance(node, ListNode) else [node]
    if not items:
        node.refuse("this list of steps is empty; a model that says nothing is '- say: \"\"'.")
    plays: list[Play] = []
    for item in items:
        if plays and STEPS[plays[-1].word].ends:
            item.refuse(f"this is never played: {plays[-1].word!r} before it ends the response.")
        play = read_step(item)
        why = STEPS[play.word].first
        if why and agent:
            item.refuse(f"an agent cannot play {play.word!r}: the response has begun before it.")
        if why and plays:
            item.refuse(f"{play.word!r} must be the first step: {why}.")
        plays.append(play)
    return tuple(plays)
