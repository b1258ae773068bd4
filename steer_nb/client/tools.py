"""Python functions as tools: their schema for the model, and their one run for a call.

Arguments are checked against the types of the signature before the function sees them.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from steer_nb.client.inputs import answer_output
from steer_nb.client.objects import plain
from steer_nb.client.schemas import describe
from steer_nb.errors import InvalidInput, ToolFailed
from steer_nb.wire import check_value
from steer_nb.wire.content import PART_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["POLICIES", "Policy", "Tool", "said", "split_tools", "tool"]

Policy = Literal["ask", "auto", "never"]
"""When a function runs: when a person says so, by itself, or never (the model may still ask)."""

POLICIES: tuple[Policy, ...] = ("ask", "auto", "never")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")
_LONGEST_SHOWN = 200


class Tool:
    """A Python function that a model may call.

    It runs on a thread of its own. What it prints there, what it displays, and its traceback are
    kept with the call and shown in its form, and never sent. Threads that the function starts
    itself are not followed: what they print or display goes to whatever cell runs at that moment.
    `asyncio.to_thread` carries the context along, and so does
    ``contextvars.copy_context().run``: what is printed there is kept. Display in the function
    itself, from what its threads return.

    Parameters
    ----------
    function : callable
        A plain or async function. Its parameters need names; ``*args`` and ``**kwargs`` have none.
    policy : {"ask", "auto", "never"}
        ``ask``: a person presses Run and sees the result before it is sent. ``auto``: it runs by
        itself on a worker thread as soon as its result is required, and once all calls of a
        response are answered that way, the continuation is sent too. ``never``: it only tells the
        model about the tool; a person types the result.
    name : str, optional
        How the model calls it; the function's name by default.
    description : str, optional
        What the model reads about it; the docstring's text by default.

    Attributes
    ----------
    definition : dict
        The tool as it goes into `tools` of a request.

    Raises
    ------
    ToolFailed
        If no schema can be made of the function.

    Examples
    --------
    >>> def get_weather(city: str, days: int = 1) -> str:
    ...     '''Weather forecast.
    ...
    ...     Parameters
    ...     ----------
    ...     city : str
    ...         Name of the city.
    ...     '''
    ...     return f"{city}: 18 C for {days} days"
    >>> weather = Tool(get_weather)
    >>> weather.definition["parameters"]["properties"]["city"]["description"]
    'Name of the city.'
    >>> weather.run('{"city": "Lisbon"}')
    'Lisbon: 18 C for 1 days'
    """

    def __init__(
        self,
        function: Callable[..., Any] | object,
        *,
        policy: Policy = "ask",
        name: str | None = None,
        description: str | None = None,
    ) -> None:
        if not callable(function):
            msg = f"A tool is a function, not {type(function).__name__} {_shown(function)}."
            raise ToolFailed(msg)
        if policy not in POLICIES:
            msg = f"policy must be one of 'ask', 'auto' or 'never', not {policy!r}."
            raise ToolFailed(msg)
        self.function = function
        self.policy: Policy = policy
        self.name = name if name is not None else getattr(function, "__name__", "")
        if not isinstance(self.name, str) or not _NAME.match(self.name):
            msg = (
                f"{self.name!r} is no tool name: 1 to 64 letters, digits, _ or -. "
                "Give one with tool(name=...)."
            )
            raise ToolFailed(msg)
        self._parameters, self._arguments, schema, text = describe(function, self.name)
        self.definition: dict[str, Any] = {
            "type": "function",
            "name": self.name,
            "description": description if description is not None else text,
            "parameters": schema,
            "strict": False,
        }
        self.__name__ = self.name
        self.__doc__ = function.__doc__
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, as Python code does."""
        return self.function(*args, **kwargs)

    def run(self, arguments: str) -> str | list[dict[str, Any]]:
        """Run the function for one call of the model and give its result as the wire's `output`.

        An async function runs on an event loop of its own, so this works on any thread that runs
        none.

        Parameters
        ----------
        arguments : str
            The call's arguments, a JSON object.

        Returns
        -------
        str or list of dict
            What the function returned: a string as it is, a DataFrame as CSV, pictures, files and
            bytes as content parts (see `steer_nb.client.inputs.answer_output`), all else as JSON.

        Raises
        ------
        ToolFailed
            If the arguments do not fit, the function raised (its error is the `__cause__`), or the
            result is no JSON.
        """
        values = self._decode(arguments)
        try:
            result = self.function(*values.args, **values.kwargs)
            if inspect.isawaitable(result):
                result = asyncio.run(_await(result))
        except Exception as error:
            msg = f"{self.name} raised {said(error)}"
            raise ToolFailed(msg) from error
        try:
            result = answer_output(result, "result")
        except InvalidInput as error:
            msg = f"{self.name} returned what cannot be sent: {error}"
            raise ToolFailed(msg) from error
        return result if _are_parts(result) else self._text(result)

    def _decode(self, arguments: str) -> inspect.BoundArguments:
        try:
            decoded = msgspec.json.decode(arguments or "{}", type=self._arguments)
        except msgspec.ValidationError as error:
            msg = f"The arguments of {self.name} do not fit: {_trim(str(error))}"
            raise ToolFailed(msg) from error
        except (msgspec.DecodeError, RecursionError) as error:
            msg = f"The arguments of {self.name} are no JSON: {_trim(str(error))}"
            raise ToolFailed(msg) from error
        bound = self._parameters.bind_partial()
        for name in self._parameters.parameters:
            value = getattr(decoded, name)
            if value is not msgspec.UNSET:
                bound.arguments[name] = value
        return bound

    def _text(self, result: object) -> str:
        if isinstance(result, str):
            return result
        try:
            value = plain(result, "result")
        except InvalidInput as error:
            msg = f"{self.name} returned what cannot be sent: {error}"
            raise ToolFailed(msg) from error
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        return f"<Tool {self.name} ({self.policy}): {', '.join(self._parameters.parameters)}>"


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    function: None = None,
    /,
    *,
    policy: Policy = ...,
    name: str | None = ...,
    description: str | None = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    policy: Policy = "ask",
    name: str | None = None,
    description: str | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool, as a decorator with or without options; see `Tool`.

    Examples
    --------
    >>> @tool(policy="auto")
    ... def add(a: int, b: int) -> int:
    ...     return a + b
    >>> add
    <Tool add (auto): a, b>
    >>> add(1, 2), add.run('{"a": 1, "b": 2}')
    (3, '3')
    """

    def make(target: Callable[..., Any]) -> Tool:
        return Tool(target, policy=policy, name=name, description=description)

    return make if function is None else make(function)


def split_tools(
    tools: Iterable[object] | object, *, where: str = "tools"
) -> tuple[list[dict[str, Any]], dict[str, Tool]]:
    """Split a mixed list into what goes on the wire and what can be run here.

    Parameters
    ----------
    tools : iterable
        Functions, `Tool` objects and the wire's own tool objects (dicts).

    Returns
    -------
    definitions : list of dict
        In the given order.
    functions : dict of str to Tool
        By the name the model uses.

    Raises
    ------
    InvalidInput
        If an element is none of these, or two have one name.
    """
    if callable(tools) or isinstance(tools, Mapping | str) or not hasattr(tools, "__iter__"):
        msg = f"{where} is a list of functions or tool objects, not {type(tools).__name__}."
        raise InvalidInput(msg, field=where, value=tools, rule="a list")
    definitions: list[dict[str, Any]] = []
    functions: dict[str, Tool] = {}
    for index, element in enumerate(tools):
        path = f"{where}[{index}]"
        if isinstance(element, Mapping):
            definition = dict(element)
            check_value(definition, path=path)
            if not isinstance(definition.get("type"), str):
                msg = f"{path} is no tool object: it needs a 'type', such as 'function'."
                raise InvalidInput(msg, field=f"{path}.type", value=None, rule="required")
        elif isinstance(element, Tool) or callable(element):
            made = element if isinstance(element, Tool) else Tool(element)
            if made.name in functions:
                msg = f"{path}: two tools are called {made.name!r}; give one another name."
                raise InvalidInput(msg, field=path, value=made.name, rule="unique names")
            functions[made.name] = made
            definition = made.definition
        else:
            msg = f"{path} is {_shown(element)}: neither a function nor a tool object (dict)."
            raise InvalidInput(msg, field=path, value=element, rule="function, Tool or dict")
        definitions.append(definition)
    return definitions, functions


def _are_parts(result: object) -> bool:
    return isinstance(result, list) and any(
        isinstance(part, dict) and part.get("type") in PART_TYPES for part in result
    )


async def _await(awaitable: Any) -> Any:
    return await awaitable


def said(error: BaseException) -> str:
    """An exception's type and message; a message that cannot be made is left out."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - its own __str__ raised; the call still needs its end
        return type(error).__name__


def _shown(value: object) -> str:
    return _trim(repr(value))


def _trim(text: str) -> str:
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."
