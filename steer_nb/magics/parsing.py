"""A magic line to values, by the table; and the errors that a typing mistake deserves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from steer_nb.errors import InvalidInput
from steer_nb.magics.grammar import CELL, COMMANDS
from steer_nb.magics.reader import Reader, Word, did_you_mean

if TYPE_CHECKING:
    from steer_nb.magics.commands import Argument, Command, Option

__all__ = ["Mistake", "Parsed", "is_blank", "parse_cell", "parse_line", "refuse"]


class Mistake(InvalidInput):
    """A magic line that cannot be read; the message is one line."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A magic line that was understood.

    Attributes
    ----------
    command : Command
        Which one.
    values : dict
        What was given, by key. Keys that were not given are missing.
    silenced : bool
        Whether a semicolon at the end asks for no output.
    """

    command: Command
    values: dict[str, Any] = field(default_factory=dict)
    silenced: bool = False

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of one key."""
        return self.values.get(key, default)


def is_blank(line: str) -> bool:
    """Whether nothing stands behind ``%steer``, a comment aside.

    Examples
    --------
    >>> is_blank("  # what is there?"), is_blank("status")
    (True, False)
    """
    return Reader(line).done


def parse_line(line: str) -> Parsed:
    """Read what stands behind ``%steer``.

    Parameters
    ----------
    line : str
        Not empty.

    Raises
    ------
    Mistake
        The line cannot be read.

    Examples
    --------
    >>> parse_line("send planner Keep it under {x}  euros").values
    {'lane': 'planner', 'text': 'Keep it under {x}  euros'}
    >>> parse_line("frame steers  # as a table").values
    {'name': 'steers'}
    """
    first = COMMANDS.get(Reader(line).word().text)
    # A semicolon or a number sign in a text belongs to the text.
    takes_text = first is not None and any(argument.rest for argument in first.arguments)
    reader = Reader(line, free=takes_text)
    word = reader.word().text
    command = COMMANDS.get(word)
    if command is None:
        near = did_you_mean(word, COMMANDS)
        refuse(f"%steer has no subcommand {word!r}.{near} See %steer help.", word)
    return _parse(command, reader)


def parse_cell(line: str) -> Parsed:
    """Read what stands behind ``%%steer``: the first word is always the lane.

    Examples
    --------
    >>> parse_cell("wait --vars a,b").values
    {'lane': 'wait', 'vars': ['a', 'b']}
    """
    return _parse(CELL, Reader(line))


def _parse(command: Command, reader: Reader) -> Parsed:
    values: dict[str, Any] = {}
    places = list(command.arguments)
    while not reader.done:
        if places and places[0].rest:
            values[places.pop(0).key] = reader.rest()
            break
        word = reader.word()
        if not word.closed:
            refuse(f"The quote before {word.text!r} is not closed.", word.text)
        # `%steer help --vars` asks about an option, and gives none.
        if word.is_option and not (places and places[0].kind == "word"):
            _take_option(command, word, reader, values)
        elif places:
            argument = places.pop(0)
            if not word.text:
                refuse(f"{argument.name} is empty. Usage: {command.usage}", word.text)
            values[argument.key] = word.text
        else:
            refuse(_too_much(command, word), word.text)
    _check(command, places, values)
    return Parsed(command, values, reader.silenced)


def _take_option(command: Command, word: Word, reader: Reader, values: dict[str, Any]) -> None:
    name, equals, inline = word.text.partition("=")
    option = command.option(name)
    if option is None:
        names = [one.name for one in command.options]
        near = did_you_mean(name, names)
        takes = f"It takes {', '.join(names)}." if names else "It takes no options."
        refuse(f"{command.magic} has no option {name!r}.{near or ' ' + takes}", name)
    if option.key in values and not option.many:
        refuse(f"{option.name} is given twice.", option.name)
    if option.kind == "flag":
        if equals:
            refuse(f"{option.name} takes no value.", inline)
        values[option.key] = True
    elif option.kind == "json":
        if equals:
            reader.at = word.start + len(name) + 1
        key, value = reader.assignment()
        values.setdefault(option.key, {})[key] = value
    else:
        text = inline if equals else _value(option, reader)
        if option.kind in ("tools", "values", "lanes"):
            values.setdefault(option.key, []).extend(_names(option, text, reader))
        elif option.many:
            values.setdefault(option.key, []).append(text)
        else:
            values[option.key] = text if text is True else _convert(option, str(text))


def _value(option: Option, reader: Reader) -> Any:
    word = reader.peek()
    if word is None or word.is_option:
        if option.optional:
            return True
        refuse(f"{option.name} needs a value: {option.form}", option.name)
    reader.word()
    if not word.closed:
        refuse(f"The quote before {word.text!r} is not closed.", word.text)
    return word.text


def _names(option: Option, text: str, reader: Reader) -> list[str]:
    """Names with commas between them; blanks behind a comma are no mistake."""
    while text.endswith(",") and (word := reader.peek()) and not word.is_option:
        text += reader.word().text
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        refuse(f"{option.name} needs a name: {option.form}", text)
    return names


def _convert(option: Option, text: str) -> Any:
    if option.kind not in ("number", "integer"):
        return text
    rule = "a whole number" if option.kind == "integer" else "a number, 0 or more"
    try:
        value = int(text) if option.kind == "integer" else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or (option.kind == "number" and value < 0):
        refuse(f"{option.name} takes {rule}, not {text!r}.", text)
    return value


def _check(command: Command, places: list[Argument], values: dict[str, Any]) -> None:
    for argument in places:
        if argument.required:
            example = command.example.replace("\n", " ⏎ ")
            refuse(f"{command.magic} needs {argument.name}, {argument.help}: {example}")
    for keys in command.exclusive:
        given = [key for key in keys if key in values]
        if len(given) > 1:
            shown = " and ".join(_shown(command, key) for key in given)
            refuse(f"{shown} exclude each other. Usage: {command.usage}", given)


def _shown(command: Command, key: str) -> str:
    return next((option.name for option in command.options if option.key == key), key.upper())


def _too_much(command: Command, word: Word) -> str:
    if command is CELL:
        return (
            f"%%steer takes one lane, and the cell is the text: {word.text!r} is too much. "
            "Subcommands are written with one percent sign."
        )
    hint = " Text with blanks goes in quotes." if command.options else ""
    return f"{command.magic} has no place for {word.text!r}.{hint} Usage: {command.usage}"


def refuse(message: str, value: object = None) -> NoReturn:
    """Raise a `Mistake` about one value."""
    raise Mistake(message, field="%steer", value=value, rule="see %steer help")
