"""Kinds of values in a scenario file: what each takes, and how an error says so."""

from __future__ import annotations

import base64
import difflib
import math
import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from steer_nb.simulator.citing import ANNOTATIONS as CITED
from steer_nb.simulator.values import SENDABLE_CODES
from steer_nb.simulator.written.filling import unknown_placeholder
from steer_nb.simulator.written.nodes import ListNode, MapNode, Node, TextNode, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "ACTIONS",
    "ALONE",
    "ANNOTATIONS",
    "ARGUMENTS",
    "BASE64",
    "CHECKS",
    "CLOSE_CODE",
    "COMMAND",
    "COUNT",
    "FLAG",
    "INTEGER",
    "MAPPING",
    "MCP_TOOLS",
    "NAME",
    "NUMBER",
    "PATTERN",
    "PLAIN",
    "TEXT",
    "TEXTS",
    "TEXT_MAP",
    "TOOLS",
    "WORDS",
    "Kind",
    "choice",
    "did_you_mean",
    "either",
    "json_value",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """What a value may be: in words, and a function that reads it or raises with its line."""

    says: str
    read: Callable[[Node], Any]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Ask whether the nearest known word was meant; empty where none is near."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def _plain(node: Node) -> str:
    """A text as it is written: `yes`, `2.10` and dates are no longer anything else."""
    if isinstance(node, MapNode) and node.braces and len(node.values) == 1:
        word, value = next(iter(node.values.items()))
        if isinstance(value, TextNode) and value.value is None:
            quoted = f'"{{{word}}}"'
            node.refuse(f"this must be a text; write {quoted}, with quotes, for a placeholder.")
    if not isinstance(node, TextNode):
        node.refuse(f"this must be a text, not {shown(node)}.")
    if node.value is None:
        node.refuse('this must be a text, and nothing stands here; an empty text is "".')
    return node.text


def _text(node: Node) -> str:
    text = _plain(node)
    _check_places(node, text)
    return text


def _check_places(node: Node, text: str) -> None:
    wrong = unknown_placeholder(text)
    if wrong is not None:
        node.refuse(wrong)


def _texts(node: Node) -> list[str]:
    items = node.items if isinstance(node, ListNode) else [node]
    if not items:
        node.refuse("this must be a text, or a list of texts; the list is empty.")
    return [_text(item) for item in items]


def _words(node: Node) -> list[str]:
    items = node.items if isinstance(node, ListNode) else [node]
    if not items:
        node.refuse("this must be a text, or a list of texts; the list is empty.")
    return [_plain(item) for item in items]


def _flag(node: Node) -> bool:
    value = node.value if isinstance(node, TextNode) else None
    if not isinstance(value, bool):
        node.refuse(f"this must be true or false, not {shown(node)}.")
    return value


def _number(node: Node) -> float:
    value = node.value if isinstance(node, TextNode) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        node.refuse(f"this must be a number, 0 or more, not {shown(node)}.")
    if not math.isfinite(value):
        node.refuse(f"this must be a number, 0 or more, not {shown(node)}.")
    return value


def _integer(least: int) -> Callable[[Node], int]:
    def read(node: Node) -> int:
        value = node.value if isinstance(node, TextNode) else None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            node.refuse(f"this must be a whole number, {least} or more, not {shown(node)}.")
        return value

    return read


def json_value(node: Node) -> Any:
    """Give a value as JSON: what a tool's arguments are made of."""
    if isinstance(node, ListNode):
        return [json_value(item) for item in node.items]
    if isinstance(node, MapNode):
        return {key: json_value(value) for key, value in node.values.items()}
    assert isinstance(node, TextNode)
    value = node.value
    if isinstance(value, str):
        _check_places(node, value)
    return value


def _mapping(node: Node) -> dict[str, Any]:
    if not isinstance(node, MapNode):
        node.refuse(f"this must be a mapping, not {shown(node)}.")
    return {key: json_value(value) for key, value in node.values.items()}


def _arguments(node: Node) -> Any:
    if isinstance(node, MapNode):
        return _mapping(node)
    if isinstance(node, ListNode):
        node.refuse("this must be a mapping, or a text that goes out as it is, not a list.")
    return _text(node)


def _typed(field: str, what: str) -> Callable[[Node], list[dict[str, Any]]]:
    """Read a mapping, or a list of mappings, each with a text under `field`."""

    def read(node: Node) -> list[dict[str, Any]]:
        items = node.items if isinstance(node, ListNode) else [node]
        if not items:
            node.refuse(f"this must be {what}, or a list of them; the list is empty.")
        found = []
        for item in items:
            if not isinstance(item, MapNode):
                item.refuse(f"this must be {what}: a mapping with {field!r}, not {shown(item)}.")
            if not isinstance(item.values.get(field), TextNode):
                item.refuse(f"{what} needs {field!r}, a text.")
            found.append(_mapping(item))
        return found

    return read


def _tools(field: str) -> Callable[[Node], list[Any]]:
    """Read a tool, or a list of them: each a name, or a mapping with a text under `field`."""
    whole = _typed(field, "a tool")

    def read(node: Node) -> list[Any]:
        items = node.items if isinstance(node, ListNode) else [node]
        if not items:
            node.refuse("this must be a tool, or a list of them; the list is empty.")
        return [_text(item) if isinstance(item, TextNode) else whole(item)[0] for item in items]

    return read


def _annotations(node: Node) -> list[dict[str, Any]]:
    found = _typed("type", "an annotation")(node)
    for item, one in zip(node.items if isinstance(node, ListNode) else [node], found, strict=True):
        assert isinstance(item, MapNode)
        kind = one["type"]
        if kind not in CITED:
            hint = did_you_mean(str(kind), CITED)
            kinds = ", ".join(CITED)
            item.values["type"].refuse(f"an annotation's type is one of {kinds}.{hint}")
        texts, places = CITED[kind]
        for name in texts:
            if name not in item.values:
                item.refuse(f"a {kind} needs {name!r}, a text.")
        for name, key in item.keys.items():
            if name in texts:
                one[name] = _text(item.values[name])
            elif name in places:
                one[name] = INTEGER.read(item.values[name])
            elif name != "type":
                known = ", ".join((*texts, *places))
                key.refuse(f"a {kind} has no {name!r}; it may have {known}.")
    return found


def _text_map(node: Node) -> dict[str, str]:
    if not isinstance(node, MapNode):
        node.refuse(f"this must be a mapping of texts, not {shown(node)}.")
    return {key: _text(value) for key, value in node.values.items()}


def _command(node: Node) -> list[str]:
    if isinstance(node, ListNode):
        return _texts(node)
    try:
        words = shlex.split(_text(node))
    except ValueError as error:
        node.refuse(f"this is no command: {error}.", cause=error)
    if not words:
        node.refuse("this must be a command, and nothing stands here.")
    return words


def _base64(node: Node) -> str:
    text = "".join(_plain(node).split())
    try:
        base64.b64decode(text, validate=True)
    except ValueError as error:
        node.refuse(f"this must be base64: {error}.", cause=error)
    return text


def _name(node: Node) -> str:
    text = _plain(node)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", text):
        node.refuse(f"a name has letters, digits, _ and -, and nothing else; not {shown(node)}.")
    return text


def _alone(node: Node) -> bool:
    if not isinstance(node, TextNode) or node.value is not True:
        node.refuse(f"this takes no value: its name stands alone; not {shown(node)}.")
    return True


def _pattern(node: Node) -> re.Pattern[str]:
    text = _plain(node)
    try:
        return re.compile(text, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        node.refuse(f"{shown(node)} is no regular expression: {error}.", cause=error)


def _close_code(node: Node) -> int:
    value = node.value if isinstance(node, TextNode) else None
    if isinstance(value, bool) or not isinstance(value, int) or value not in SENDABLE_CODES:
        what = "1000 to 1003, 1007 to 1014 or 3000 to 4999"
        node.refuse(f"this must be a close code that may be sent, {what}, not {shown(node)}.")
    return value


def choice(*words: str) -> Kind:
    """One of some words."""
    says = f"one of {', '.join(words)}"

    def read(node: Node) -> str:
        text = node.text if isinstance(node, TextNode) else None
        if text not in words:
            hint = did_you_mean(text, words) if text else ""
            node.refuse(f"this must be {says}, not {shown(node)}.{hint}")
        return text

    return Kind(says, read)


def either(flag: bool | None, kind: Kind) -> Kind:
    """A kind, or true (or false, or either for None) in its place, which gives that very value."""
    words = {True: "true", False: "false", None: "true, false"}[flag]

    def read(node: Node) -> Any:
        value = node.value if isinstance(node, TextNode) else None
        if isinstance(value, bool) and flag in (None, value):
            return value
        return kind.read(node)

    return Kind(f"{words} or {kind.says}", read)


PLAIN = Kind("a text", _plain)
TEXT = Kind("a text", _text)
TEXTS = Kind("a text or a list of texts", _texts)
WORDS = Kind("a text or a list of texts", _words)
FLAG = Kind("true or false", _flag)
NUMBER = Kind("a number", _number)
INTEGER = Kind("a whole number", _integer(0))
COUNT = Kind("a whole number from 1", _integer(1))
MAPPING = Kind("a mapping", _mapping)
ARGUMENTS = Kind("a mapping or a text", _arguments)
ACTIONS = Kind("an action or a list of actions", _typed("type", "an action"))
CHECKS = Kind("a safety check or a list of them", _typed("code", "a safety check"))
ANNOTATIONS = Kind("an annotation or a list of them", _annotations)
MCP_TOOLS = Kind("a tool's name, a tool or a list of them", _tools("name"))
TOOLS = Kind("a tool's name, a tool or a list of them", _tools("type"))
TEXT_MAP = Kind("a mapping of texts", _text_map)
COMMAND = Kind("a command or a list of its words", _command)
BASE64 = Kind("base64", _base64)
NAME = Kind("a name", _name)
ALONE = Kind("true", _alone)
PATTERN = Kind("a regular expression", _pattern)
CLOSE_CODE = Kind("a close code", _close_code)
