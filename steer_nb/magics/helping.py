"""Help texts, all made from the table."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, NoReturn

from steer_nb.magics.grammar import CELL, COMMANDS
from steer_nb.magics.parsing import refuse
from steer_nb.magics.reader import did_you_mean

if TYPE_CHECKING:
    from steer_nb.magics.commands import Command, Kind

__all__ = ["describe", "docstring", "overview", "topic"]

_WIDTH = 10


def overview() -> str:
    """List all subcommands, one line each."""
    lines = [f"  {CELL.usage}", f"      {CELL.help}", ""]
    lines += [f"  {command.name:<{_WIDTH}}{command.help}" for command in COMMANDS.values()]
    head = "Steer running model responses. %steer SUBCOMMAND …, and %%steer LANE for text:"
    foot = "%steer help SUBCOMMAND tells its options."
    return "\n".join([head, "", *lines, "", foot])


def describe(command: Command) -> str:
    """Tell one subcommand: what it does, takes, and is in Python."""
    rows = [(argument.usage, argument.help) for argument in command.arguments]
    rows += [(option.form, option.help) for option in command.options]
    width = max((len(form) for form, _ in rows), default=0) + 2
    parts = [command.usage, f"  {command.help}"]
    if rows:
        parts += ["", *(f"  {form:<{width}}{text}" for form, text in rows)]
    for text in (command.note, *_lists(_kinds(command))):
        if text:
            parts += ["", fill(text, 88, initial_indent="  ", subsequent_indent="  ")]
    example = command.example.replace("\n", "\n             ")
    return "\n".join([*parts, "", f"  Example:   {example}", f"  In Python: {command.python}"])


def _kinds(command: Command) -> set[Kind]:
    arguments = {argument.kind for argument in command.arguments}
    return arguments | {option.kind for option in command.options}


def _lists(kinds: set[Kind]) -> list[str]:
    """What there is of each kind whose words are fixed; loaded when somebody asks for help."""
    told = []
    if "scenario" in kinds:
        from steer_nb.simulator import SCENARIOS

        told.append(f"Scenarios: {', '.join(SCENARIOS)}.")
    if "frame" in kinds:
        from steer_nb.frames import FRAME_NAMES

        told.append(f"Frames: {', '.join(FRAME_NAMES)}.")
    return told


def topic(word: str | None) -> str:
    """Give help on one word: a subcommand, an option, ``%%steer``; without a word, the overview.

    Raises
    ------
    Mistake
        Nothing is known by that word.
    """
    if not word:
        return overview()
    plain = word.removeprefix("%steer").strip()
    if word.startswith("%%") or plain == "":
        return describe(CELL)
    if plain in COMMANDS:
        return describe(COMMANDS[plain])
    everyone = (CELL, *COMMANDS.values())
    name = "--" + plain.lstrip("-")
    having = [command for command in everyone if command.option(name)]
    if not having:
        _refuse(word, plain)
    return "\n\n".join(describe(command) for command in having)


def _refuse(word: str, plain: str) -> NoReturn:
    everyone = (CELL, *COMMANDS.values())
    options = {option.name for command in everyone for option in command.options}
    near = did_you_mean(plain, [*COMMANDS, *sorted(options)])
    refuse(f"There is no help on {word!r}.{near} See %steer help.", word)


def docstring() -> str:
    """Write the magic's own docstring, which ``%steer?`` shows."""
    usages = "\n".join(f"    {command.usage}" for command in (CELL, *COMMANDS.values()))
    return f"{overview()}\n\nUsage::\n\n{usages}\n"
