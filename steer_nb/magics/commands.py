"""What a word of ``%steer`` is made of: arguments, options, and what each value means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Argument", "Command", "Kind", "Option"]

Kind = Literal[
    "agent",
    "choice",
    "columns",
    "detached",
    "directory",
    "fault",
    "flag",
    "form",
    "frame",
    "integer",
    "json",
    "lane",
    "lanes",
    "letta_url",
    "model",
    "name",
    "new_lane",
    "number",
    "option",
    "origin",
    "path",
    "scenario",
    "text",
    "tools",
    "undecided",
    "url",
    "values",
    "word",
]
"""What a value is: how it is read, and what completes it."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A value known by its place.

    Attributes
    ----------
    name : str
        As shown: capital letters.
    help : str
        One line.
    kind : str
        What it is.
    required : bool
        Whether the command needs it.
    rest : bool
        Whether it takes the rest of the line exactly as written.
    """

    name: str
    help: str
    kind: Kind = "text"
    required: bool = True
    rest: bool = False

    @property
    def key(self) -> str:
        """Under which name its value is found."""
        return self.name.lower()

    @property
    def usage(self) -> str:
        """As shown in a usage line."""
        return self.name if self.required else f"[{self.name}]"


@dataclass(frozen=True, slots=True)
class Option:
    """A value known by its name.

    Attributes
    ----------
    name : str
        With its two dashes.
    help : str
        One line.
    kind : str
        What it is; ``flag`` takes no value.
    value : str
        How the value is shown.
    optional : bool
        Whether the value may be left out.
    many : bool
        Whether it may be given more than once.
    """

    name: str
    help: str
    kind: Kind = "flag"
    value: str = ""
    optional: bool = False
    many: bool = False

    @property
    def key(self) -> str:
        """Under which name its value is found."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def form(self) -> str:
        """The option with its value, as one types it."""
        if self.kind == "flag":
            return self.name
        return f"{self.name} [{self.value}]" if self.optional else f"{self.name} {self.value}"


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand.

    Attributes
    ----------
    name : str
        The word; empty for the cell magic.
    help : str
        One line.
    python : str
        The call that it stands for.
    arguments, options : tuple
        What it takes.
    exclusive : tuple of tuple of str
        Keys of which only one may be given.
    example : str
        A line that works.
    note : str
        What else one should know.
    """

    name: str
    help: str
    python: str
    arguments: tuple[Argument, ...] = ()
    options: tuple[Option, ...] = ()
    exclusive: tuple[tuple[str, ...], ...] = ()
    example: str = ""
    note: str = ""

    @property
    def magic(self) -> str:
        """What a person types before the arguments."""
        return f"%steer {self.name}" if self.name else "%%steer"

    @property
    def usage(self) -> str:
        """All that it takes, in one line."""
        shown: list[str] = [argument.usage for argument in self.arguments]
        done: set[str] = set()
        for option in self.options:
            group = next((keys for keys in self.exclusive if option.key in keys), ())
            peers = [other for other in self.options if other.key in group] or [option]
            if option.key not in done:
                done.update(peer.key for peer in peers)
                shown.append("[" + "|".join(peer.form for peer in peers) + "]")
        return " ".join([self.magic, *shown])

    def option(self, name: str) -> Option | None:
        """Find the option of that name."""
        return next((option for option in self.options if option.name == name), None)
