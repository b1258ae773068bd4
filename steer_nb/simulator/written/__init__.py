"""Scenarios written in YAML: what a model does, without a line of Python.

``steer-nb simulate --scenario trip.yaml``, ``%steer connect --simulate trip.yaml`` and
``Simulator("trip.yaml")`` read such a file; PyYAML is needed for it (the extra ``yaml``). Every
mistake is a `ScenarioError` that names file, line and column, and what may stand there. See a
whole file in the examples below.

The file
--------
A mapping with these keys; `turns` or `rules` has to be there.

``name``
    What people type. The file's name without its ending is the default.
``description``
    One sentence about it.
``dialect``
    ``letta`` for Letta's API; its files have tools, and fewer steps, see
    `steer_nb.simulator.letta.written`. Without it, or with ``responses``, this is for the Responses
    API.
``faults``
    What goes wrong on purpose from the start: a list of faults, each a mapping as the step `fault`
    below, such as ``{fault: drop, at: 5}``. `steer_nb.simulator.faults` describes them.
``turns``
    A list. The first response of a conversation plays the first turn, the second the second, and so
    on: continuations and the successors of steered responses count as well, and so does a response
    that a rule took. After the last turn, `otherwise` plays, or without it the last turn again.
``rules``
    A list, tried from the top before `turns` for each response; the first that fits is played. A
    rule has `play`, and `when` or `unless`, or both: each is a mapping of conditions, which must
    all hold, or for `unless` must not all hold.
``otherwise``
    What is played where no rule fits and no turn is left.
``agents``
    What subagents do that the step `spawn` lets begin, by name. See below.

A turn, `play` and `otherwise` are lists of steps; a single step needs no list.

Steps
-----
A step is a mapping: its name with a value, and beside it its options. Where the name alone is
enough, it may stand alone.

<steps>

Agents
------
In the multi-agent beta a response is written by a root agent, which plays `turns` and `rules`, and
by those that it spawns. Each agent of the file is a list of steps, or a mapping with `turns`,
`rules` and `otherwise` of its own. What it is told as its `task` is its ``{prompt}``. When its
calls are answered, it plays its next turn; where none is left and `otherwise` is not given, it says
which results it got. Then it has finished, and what it said last is its report::

    turns:
      - - spawn: scout
          as: lisbon
          task: Look up the weather in Lisbon.
        - spawn: scout
          as: porto
          task: Look up the weather in Porto.
        - wait_agents
        - say: "Lisbon: {report.lisbon} Porto: {report.porto}"
    agents:
      scout:
        turns:
          - call: get_weather
            arguments: {task: "{prompt}"}
          - say: "{result}"

Conditions
----------
Words are looked for in any case and as words of their own. A list means one of them.

<conditions>

Placeholders
------------
These stand in any text of a step, and are replaced when it is played:

<placeholders>

<named> Where there is none, the text is empty. Other braces
are left alone, as in JSON; ``{{prompt}}`` writes ``{prompt}``. A value that begins with a brace
needs quotes: ``say: "{prompt}"``.

Values
------
Plain words are read as in YAML 1.2: ``true``, ``false``, ``null`` and numbers are values, all
others are texts (``yes`` and ``2026-01-01``, too). Where a text is wanted, everything is taken as
it is written. Anchors, aliases, tags, duplicate keys and further documents are refused.

Examples
--------
>>> from pathlib import Path
>>> from steer_nb.simulator import Simulator
>>> file = Path("trip.yaml")
>>> _ = file.write_text('''
... description: Plans a trip, and looks up the weather.
... rules:
...   - when: {steered: true}
...     play:
...       - say: "You said: {steer}. I keep that in mind."
...   - when: {result: get_weather}
...     play:
...       - say: "The weather: {result}"
...   - when: {said: [weather, forecast], tool: get_weather}
...     play:
...       - think: I have to look it up.
...       - call: get_weather
...         arguments: {city: Lisbon}
... turns:
...   - - think: A plan is wanted.
...     - say: "Day 1. The old town."
...     - await_steer: 5
...     - say: "Day 2. The palace."
... otherwise:
...   say: "That was all."
... ''')
>>> with Simulator("trip.yaml", speed=0) as simulator:
...     simulator.scenario
<Scenario 'trip': Plans a trip, and looks up the weather.>
>>> _ = file.write_text("turns: [{sya: Hello.}]")
>>> Simulator("trip.yaml")  # doctest: +ELLIPSIS
Traceback (most recent call last):
steer_nb.errors.ScenarioError: trip.yaml, line 1, column 10: there is no step 'sya'. Did ...
>>> file.unlink()
"""

from __future__ import annotations

from steer_nb.simulator.written.filling import NAMED, PLACEHOLDERS
from steer_nb.simulator.written.rules import CONDITIONS
from steer_nb.simulator.written.script import load_written
from steer_nb.simulator.written.words import STEPS

__all__ = ["CONDITIONS", "PLACEHOLDERS", "STEPS", "load_written"]


def _steps() -> str:
    lines: list[str] = []
    for name, word in STEPS.items():
        alone = ", or nothing" if word.bare else ""
        lines += [f"``{name}``: {word.kind.says}{alone}", f"    {word.help}."]
        for option, kind in word.options.items():
            needed = ", required" if option in word.required else ""
            lines.append(f"    ``{option}``: {kind.says}{needed}.")
    return "\n".join(lines)


def _conditions() -> str:
    rows = CONDITIONS.items()
    return "\n".join(f"``{name}``: {one.kind.says}\n    {one.help}." for name, one in rows)


def _placeholders() -> str:
    return "\n".join(f"``{{{name}}}``\n    {says}." for name, (says, _) in PLACEHOLDERS.items())


def _named() -> str:
    return " ".join(f"``{{{name}.NAME}}`` is {says}." for name, (says, _) in NAMED.items())


# The lists above are made of the tables that the reader uses: they cannot tell different stories.
__doc__ = (
    (__doc__ or "")
    .replace("<steps>", _steps())
    .replace("<conditions>", _conditions())
    .replace("<placeholders>", _placeholders())
    .replace("<named>", _named())
)
