"""What a model is told of a Python function: a JSON schema of its arguments, and its meaning.

The schema comes from the signature (types, defaults), the words from the docstring (what the tool
and each parameter mean).
"""

from __future__ import annotations

import inspect
import typing
from typing import TYPE_CHECKING, Any

import msgspec

from steer_nb.errors import InvalidInput, ToolFailed
from steer_nb.wire import check_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["describe"]


def describe(
    function: Callable[..., Any], name: str
) -> tuple[inspect.Signature, type[msgspec.Struct], dict[str, Any], str]:
    """Read a function's signature and docstring.

    Parameters
    ----------
    function : callable
        A function, or an object that is called like one.
    name : str
        What the model calls it.

    Returns
    -------
    signature : inspect.Signature
        As Python sees it.
    arguments : type
        What a call's arguments are decoded into.
    schema : dict
        The same as JSON schema, for the model.
    text : str
        What the docstring says of it.

    Raises
    ------
    ToolFailed
        If a model could not call it.

    Examples
    --------
    >>> def add(a: int, b: int = 2) -> int:
    ...     '''Add.'''
    ...     return a + b
    >>> _, _, schema, text = describe(add, "add")
    >>> text, schema["required"]
    ('Add.', ['a'])
    """
    try:
        signature = inspect.signature(function)
        target = function if inspect.isroutine(function) else type(function).__call__
        hints = typing.get_type_hints(target, include_extras=True)
    except (TypeError, ValueError, NameError) as error:
        msg = f"The signature of {name} cannot be read: {error}."
        raise ToolFailed(msg) from error
    text, meanings = _documentation(function)
    fields: list[Any] = []
    defaults: dict[str, Any] = {}
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            msg = f"{name} takes {parameter}: a model needs named parameters. Write them out."
            raise ToolFailed(msg)
        kind: Any = hints.get(parameter.name, Any)
        meaning = meanings.get(parameter.name)
        if meaning:
            kind = typing.Annotated[kind, msgspec.Meta(description=meaning)]
        if parameter.default is parameter.empty:
            fields.append((parameter.name, kind))
        else:
            # UNSET keeps the function's own default: it need not be JSON, nor copied.
            fields.append((parameter.name, kind | msgspec.UnsetType, msgspec.UNSET))
            defaults[parameter.name] = parameter.default
    try:
        arguments = msgspec.defstruct(
            "Arguments", fields, forbid_unknown_fields=True, kw_only=True, gc=True
        )
        schema = _schema(arguments, defaults)
    except (TypeError, RuntimeError, ValueError, NameError) as error:
        odd = next(
            (
                f"{parameter}: {getattr(hints.get(parameter), '__name__', hints.get(parameter))}"
                for parameter, kind, *_ in fields
                if not _can(kind)
            ),
            "",
        )
        msg = (
            f"No schema can be made of {name}, parameter {odd or '?'}: a model writes JSON. Use "
            "str, int, float, bool, list, dict, Literal, Enum, a dataclass or a TypedDict."
        )
        raise ToolFailed(msg) from error
    return signature, arguments, schema, text


def _schema(arguments: type[msgspec.Struct], defaults: Mapping[str, Any]) -> dict[str, Any]:
    (root,), parts = msgspec.json.schema_components([arguments], ref_template="#/$defs/{name}")
    schema = dict(parts.pop(root["$ref"].rpartition("/")[2]))
    schema.pop("title", None)
    for name, default in defaults.items():
        inner = schema["properties"][name]
        if default is not None and isinstance(default, str | int | float | bool | list | dict):
            try:
                check_value(default)
            except InvalidInput:
                continue  # a default that JSON cannot say stays a secret of the function
            inner["default"] = default
        else:
            inner.pop("default", None)
    if parts:
        schema["$defs"] = parts
    return schema


def _can(kind: Any) -> bool:
    try:
        msgspec.json.schema(kind)
    except (TypeError, RuntimeError, ValueError, NameError):
        return False
    return True


def _documentation(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    documentation = inspect.getdoc(function)
    if not documentation or (
        not inspect.isroutine(function) and function.__doc__ == type(function).__doc__ is None
    ):
        return "", {}
    from docstring_parser import parse

    parsed = parse(documentation)
    text = "\n\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    meanings = {
        found.arg_name: " ".join(found.description.split())
        for found in parsed.params
        if found.description
    }
    return text, meanings
