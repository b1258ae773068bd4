"""Tools of the server: small pure functions, or words that are given back.

The simulator runs no code that a client sends: a tool that is made over HTTP says what it was
called with, unless the scenario has one of the same name.
"""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from steer_nb.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["RETURN_CHAR_LIMIT", "Outcome", "ServerTool", "cut_return", "name_in"]

_TYPES: Final = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
RETURN_CHAR_LIMIT: Final = 50_000
"""So many characters of what a tool gave are kept, where the tool says nothing else."""

_WHOLE: Final = frozenset(
    {"archival_memory_search", "conversation_search", "conversation_search_date"}
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool gave: its words, and what it wrote."""

    text: str
    status: str = "success"
    stdout: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()


@dataclass(frozen=True)
class ServerTool:
    """A tool that the server runs.

    Parameters
    ----------
    name : str
        What the model calls it.
    function : callable, optional
        Gives its words, or an `Outcome`, from its arguments; should depend on nothing else.
    requires_approval : bool
        Whether an agent that gets it asks before each call.
    description : str
        One sentence.
    parameters : mapping
        JSON Schema of its arguments; else it is read from the function's signature.
    seconds : float
        How long it takes, at speed 1.

    Examples
    --------
    >>> def get_weather(city: str) -> str:
    ...     '''Look up the weather.'''
    ...     return f"sunny in {city}"
    >>> ServerTool("get_weather", get_weather).run('{"city": "Oslo"}').text
    'sunny in Oslo'
    >>> ServerTool("get_weather", get_weather).run("{}").status
    'error'
    """

    name: str
    function: Callable[..., str | Outcome] | None = None
    requires_approval: bool = False
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.6

    @classmethod
    def of(cls, function: Callable[..., str | Outcome], **more: Any) -> ServerTool:
        """Make one of a function: its name, its docstring's first line, its parameters.

        Raises
        ------
        ScenarioError
            It has no name that a model could call.
        """
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            msg = f"A server tool needs a name: give ServerTool(name, function), not {function!r}."
            raise ScenarioError(msg)
        return cls(name, function, **more)

    @property
    def says(self) -> str:
        """What it is for."""
        doc = inspect.getdoc(self.function) if inspect.isfunction(self.function) else None
        return self.description or (doc or "").partition("\n")[0] or f"The tool {self.name}."

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema, as Letta keeps it."""
        parameters: Mapping[str, Any] = self.parameters
        if not parameters and inspect.isfunction(self.function):
            parameters = _parameters(self.function)
        empty = {"type": "object", "properties": {}, "required": []}
        return {
            "name": self.name,
            "description": self.says,
            "parameters": dict(parameters) or empty,
        }

    def run(self, arguments: str) -> Outcome:
        """Run it; whatever goes wrong is its outcome."""
        try:
            given = json.loads(arguments or "{}")
            if not isinstance(given, dict):
                msg = f"the arguments are no object: {arguments}"
                raise TypeError(msg)
            if self.function is None:
                return Outcome(_words(self.name, given))
            found = self.function(**given)
        except Exception as error:  # noqa: BLE001 - a tool that fails is the model's affair
            what = f"{type(error).__name__}: {error}"
            text = f"Error executing function {self.name}: {what}"
            return Outcome(text, "error", stderr=(f"{what}\n",))
        return found if isinstance(found, Outcome) else Outcome(str(found))


def cut_return(name: str, text: str, limit: int) -> str:
    """Cut what a tool of the server gave; what searches a memory is not cut, only noted.

    The server notes first that the text is too long, without cutting it, and cuts then: so its
    count is that of the text with the note.

    Source: `tool_execution_manager.py` and `validate_function_response` of the server 0.16.8.

    Examples
    --------
    >>> cut_return("roll", "123", 3)
    '123'
    >>> cut_return("roll", "1234", 3)[:66]
    '123... [NOTE: function output was truncated since it exceeded the '
    """
    if len(text) <= limit:
        return text
    why = "function output was truncated since it exceeded the character limit"
    noted = f"{text}... [NOTE: {why}: {len(text)} > {limit}]"
    if name in _WHOLE:
        return noted
    return f"{noted[:limit]}... [NOTE: {why} ({len(noted)} > {limit})]"


def name_in(source: str) -> str | None:
    """Find the name of the function that some source code defines, without running it.

    Examples
    --------
    >>> name_in("def roll(sides: int) -> int: ...")
    'roll'
    """
    try:
        body: Iterable[ast.stmt] = ast.parse(source).body
    except (SyntaxError, ValueError):
        return None
    names = [one.name for one in body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return names[-1] if names else None


def _words(name: str, given: Mapping[str, Any]) -> str:
    values = ", ".join(f"{key}={json.dumps(value)}" for key, value in given.items())
    return f"{name}({values}) is done."


def _parameters(function: Callable[..., Any]) -> dict[str, Any]:
    names = inspect.signature(function).parameters.values()
    kinds = {one.name: getattr(one.annotation, "__name__", str(one.annotation)) for one in names}
    properties = {name: {"type": _TYPES.get(kind, "string")} for name, kind in kinds.items()}
    required = [one.name for one in names if one.default is one.empty]
    return {"type": "object", "properties": properties, "required": required}
