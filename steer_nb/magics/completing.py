"""What may stand at the cursor of a magic line, by the table. Knows no IPython."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from steer_nb.magics.commands import Argument, Command, Kind, Option
from steer_nb.magics.grammar import CELL, COMMANDS
from steer_nb.magics.reader import Reader, Word

__all__ = ["Offer", "Offers", "complete"]

_SEPARATORS: dict[Kind, str] = {"columns": "+", "lanes": ",", "tools": ",", "values": ","}
_FILES: tuple[Kind, ...] = ("path", "directory")


class Offers(Protocol):
    """Where the words of a running kernel come from."""

    def words(self, kind: Kind, given: list[str]) -> list[str]:
        """List what may stand for `kind`; `given` are the words before it."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What may stand at the cursor.

    Attributes
    ----------
    words : list of str
        Those that begin as the fragment does.
    fragment : str
        What is typed of it so far: the end of the line.
    files : bool
        File names are wanted, which IPython completes better.
    """

    words: list[str]
    fragment: str
    files: bool = False


def complete(text: str, offers: Offers, *, cell: bool = False) -> Offer:
    """Tell what may follow `text`.

    Parameters
    ----------
    text : str
        What stands between ``%steer`` and the cursor.
    offers : Offers
        Lanes, frames, functions … that exist now.
    cell : bool
        Whether it is the first line of a cell magic.
    """
    split = _split(text)
    if split is None:
        return Offer([], "")
    words, fragment = split
    if cell:
        return _inside(CELL, words, fragment, offers)
    if not words:
        return _matching(list(COMMANDS), fragment)
    command = COMMANDS.get(words[0].text)
    if command is None:
        return Offer([], fragment)
    return _inside(command, words[1:], fragment, offers)


def _split(text: str) -> tuple[list[Word], str] | None:
    """Split into finished words and the one that is being typed; None inside a comment."""
    reader, words = Reader(text), []
    while not reader.done:
        words.append(reader.word())
    if reader.at < len(text):  # inside a comment nothing is offered
        return None
    if words and (not text[-1].isspace() or not words[-1].closed):
        return words[:-1], text[words[-1].start :]
    return words, ""


def _inside(command: Command, words: list[Word], fragment: str, offers: Offers) -> Offer:
    places, given, used = list(command.arguments), [word.text for word in words], set[str]()
    expected: Option | None = None
    for word in words:
        if word.is_option:
            expected = command.option(word.text.partition("=")[0])
            if expected is not None:
                used.add(expected.key)
            if expected is None or "=" in word.text or expected.kind == "flag":
                expected = None
        elif expected is not None:
            # A comma at the end goes on with the same list: `--tools a, b`.
            expected = expected if word.text.endswith(",") else None
        elif places and not places[0].rest:
            used.add(places.pop(0).key)
    if expected is not None and not fragment.startswith("--"):
        return _value(expected, fragment, given, offers)
    if fragment.startswith("-") and not (places and places[0].kind == "word"):
        name, equals, value = fragment.partition("=")
        option = command.option(name) if equals else None
        if option is not None:
            return _value(option, value, given, offers)
        return _matching(_options(command, used), fragment)
    if places:
        return _value(places[0], fragment, given, offers, _options(command, used))
    return _matching([] if fragment else _options(command, used), fragment)


def _value(
    wanted: Argument | Option,
    fragment: str,
    given: list[str],
    offers: Offers,
    options: list[str] | None = None,
) -> Offer:
    if wanted.kind in _FILES:
        return Offer([], fragment, files=True)
    typed = fragment
    separator = _SEPARATORS.get(wanted.kind)
    if separator:
        typed = fragment.rpartition(separator)[2]
    if wanted.kind == "fault" and fragment[:1] in ("'", '"'):
        # Inside its quotes: the fault's word, then what it takes.
        *given, typed = fragment[1:].split(" ")
    words = offers.words(wanted.kind, given)
    # Where a word may be left out, what may stand there instead is shown as well.
    may_skip = isinstance(wanted, Argument) and not wanted.required
    return _matching(words + (options or [] if may_skip and not fragment else []), typed)


def _options(command: Command, used: set[str]) -> list[str]:
    barred = {key for keys in command.exclusive for key in keys if used.intersection(keys)}
    return [
        option.name
        for option in command.options
        if (option.many or option.key not in used) and option.key not in barred
    ]


def _matching(words: list[str], fragment: str) -> Offer:
    return Offer([word for word in words if word.startswith(fragment)], fragment)
