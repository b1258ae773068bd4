"""Reading one magic line: words, shell-like quotes, and a rest that is left exactly as written."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Reader", "Word", "did_you_mean"]

# A quote opens where a word begins, or where an option's value begins (`--model="…"`). Anywhere
# else it is a plain character: apostrophes in free text and quotes in JSON stay what they are.
_OPTION_PREFIX = re.compile(r"--[A-Za-z][\w-]*=")

# As in Python: what stands behind a number sign is a comment, and a semicolon asks for no output.
_END = re.compile(r"(?P<silent>;?)\s*(?:#.*)?$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the line.

    Attributes
    ----------
    text : str
        Without the quotes around it.
    start, end : int
        Where it stands in the line, quotes included.
    quoted : bool
        Whether it began with a quote: such a word is never an option.
    closed : bool
        Whether its quote was closed.
    """

    text: str
    start: int
    end: int
    quoted: bool = False
    closed: bool = True

    @property
    def is_option(self) -> bool:
        """Whether it names an option."""
        return self.text.startswith("--") and not self.quoted


class Reader:
    """A cursor over one line.

    Parameters
    ----------
    line : str
        The line behind ``%steer``.
    free : bool
        Whether it ends in free text, where a number sign or a semicolon is a character like others.

    Examples
    --------
    >>> reader = Reader('open planner --instructions "Be brief."  # in short')
    >>> [reader.word().text for _ in range(4)], reader.done
    (['open', 'planner', '--instructions', 'Be brief.'], True)
    """

    def __init__(self, line: str, *, free: bool = False) -> None:
        self.line = line
        self.free = free
        self.at = 0
        self.skip()

    def skip(self) -> None:
        """Step over white space."""
        while self.at < len(self.line) and self.line[self.at].isspace():
            self.at += 1

    @property
    def done(self) -> bool:
        """Whether nothing is left but white space, a semicolon, a comment."""
        return self.at >= len(self.line) or self._ends(self.at)

    @property
    def silenced(self) -> bool:
        """Whether a semicolon stands at the end, which asks for no output."""
        match = None if self.free else _END.match(self.line, self.at)
        return match is not None and match["silent"] == ";"

    def _ends(self, at: int) -> bool:
        """Whether the line's end begins at `at`, which is not inside quotes."""
        return not self.free and self.line[at] in "#;" and _END.match(self.line, at) is not None

    def rest(self) -> str:
        """Take everything that is left, exactly as written."""
        text, self.at = self.line[self.at :], len(self.line)
        return text

    def peek(self) -> Word | None:
        """Look at the next word, without stepping over it."""
        if self.done:
            return None
        at = self.at
        word = self.word()
        self.at = at
        return word

    def word(self) -> Word:
        """Take the next word; its quotes are taken off."""
        line, start = self.line, self.at
        prefix = _OPTION_PREFIX.match(line, start)
        at = prefix.end() if prefix else start
        text = line[start:at]
        quoted, closed = False, True
        if line[at : at + 1] in ("'", '"'):
            quoted = prefix is None
            inner, at, closed = self._quoted(at)
            text += inner
        while at < len(line) and not line[at].isspace():
            if line[at] == ";" and self._ends(at):
                break
            text += line[at]
            at += 1
        self.at = at
        self.skip()
        return Word(text, start, at, quoted, closed)

    def _quoted(self, at: int) -> tuple[str, int, bool]:
        """Read from the quote at `at` to its partner; a backslash guards nothing but a quote."""
        line, quote = self.line, self.line[at]
        text, at = "", at + 1
        while at < len(line):
            if line[at : at + 2] == "\\" + quote and quote in line[at + 2 :]:
                text += quote
                at += 2
            elif line[at] == quote:
                return text, at + 1, True
            else:
                text += line[at]
                at += 1
        return text, at, False

    def assignment(self) -> tuple[str, Any]:
        """Take ``KEY=JSON``, where the JSON may hold spaces and quotes without further quoting.

        Raises
        ------
        InvalidInput
            The text is no assignment, or its value is no JSON.
        """
        start = self.at
        match = re.compile(r"([A-Za-z_]\w*)=").match(self.line, start)
        if match:
            key, source, begin = match[1], self.line, match.end()
        else:
            word = self.word()
            match = re.compile(r"([A-Za-z_]\w*)=").match(word.text)
            if match is None:
                msg = f"--set takes KEY=JSON, not {word.text!r}: --set temperature=0.2"
                raise InvalidInput(msg, field="--set", value=word.text, rule="KEY=JSON")
            key, source, begin = match[1], word.text, match.end()
        try:
            value, end = json.JSONDecoder(parse_constant=_no_constant).raw_decode(source, begin)
        except ValueError:
            value, end = None, -1
        whole = not source[end : end + 1].strip() or (source is self.line and self._ends(end))
        if end < 0 or not whole:
            text = source[begin:].split(maxsplit=1)
            shown = text[0] if text else ""
            hint = f'{key}="{shown}"' if shown.isidentifier() else f"{key}=0.2"
            msg = f"--set {key}: {shown!r} is no JSON. Text goes in quotes: --set {hint}"
            raise InvalidInput(msg, field=f"--set {key}", value=shown, rule="JSON")
        if source is self.line:
            self.at = end
            self.skip()
        return key, value


def _no_constant(word: str) -> Any:
    msg = f"{word} is no JSON"
    raise ValueError(msg)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Ask ``" Did you mean …?"`` with the nearest known word; empty if none is near.

    Examples
    --------
    >>> did_you_mean("plannr", ["planner", "budget"])
    ' Did you mean planner?'
    >>> did_you_mean("xyz", ["planner"])
    ''
    """
    names = list(known)
    folded = {name.casefold(): name for name in names}
    near = get_close_matches(word.casefold(), list(folded), n=1, cutoff=0.6)
    return f" Did you mean {folded[near[0]]}?" if near else ""
