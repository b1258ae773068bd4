"""A YAML file as a tree whose every part knows its line.

The tree is built from the parser's events, so that what a scenario has no use for is refused where
it stands: aliases (which can multiply a small file to gigabytes), tags (which can name Python
objects), duplicate keys (of which a loader silently keeps one), more than one document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from steer_nb.errors import ScenarioError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["LARGEST", "ListNode", "MapNode", "Node", "TextNode", "read_nodes", "shown"]

LARGEST = 2**20
"""Bytes of the largest file that is read."""
DEEPEST = 50
"""So many levels may stand inside each other."""
_SHOWN = 40

# Plain scalars as in YAML 1.2 (core schema), which is JSON's: `yes`, `on` and `12:30` are texts.
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
}
_NUMBER = re.compile(r"[-+]?(?:\d+|(?P<float>(?:\d+\.\d*|\.\d+)(?:[eE][-+]?\d+)?|\d+[eE][-+]?\d+))")
_DIGITS = 100
"""A longer number is a text: it would be slow to read, and no script means it."""


@dataclass(frozen=True, slots=True)
class Node:
    """A part of the file.

    Attributes
    ----------
    file : str
        The file.
    line, column : int
        Where it begins, from 1.
    """

    file: str
    line: int
    column: int

    def refuse(self, what: str, *, cause: BaseException | None = None) -> NoReturn:
        """Raise a `ScenarioError` that names this place."""
        refuse(self.file, self.line, self.column, what, cause=cause)


@dataclass(frozen=True, slots=True)
class TextNode(Node):
    """A scalar: `text` as it is written, and whether quotes make it a text for certain."""

    text: str
    quoted: bool

    @property
    def value(self) -> Any:
        """What it is as JSON: a text, a number, true, false or null."""
        if self.quoted:
            return self.text
        if self.text in _WORDS:
            return _WORDS[self.text]
        found = _NUMBER.fullmatch(self.text) if len(self.text) <= _DIGITS else None
        if found is None or not self.text.isascii():
            return self.text
        number: Any = float(self.text) if found["float"] else int(self.text)
        return self.text if number in (float("inf"), float("-inf")) else number


@dataclass(frozen=True, slots=True)
class ListNode(Node):
    """A list."""

    items: list[Node]


@dataclass(frozen=True, slots=True)
class MapNode(Node):
    """A mapping: what stands behind each key, and the keys themselves, which know their lines."""

    values: dict[str, Node]
    keys: dict[str, TextNode]
    braces: bool


def refuse(
    file: str, line: int, column: int, what: str, *, cause: BaseException | None = None
) -> NoReturn:
    """Raise the error about one place of a file."""
    msg = f"{file}, line {line}, column {column}: {what}"
    raise ScenarioError(msg, path=file, line=line, column=column) from cause


def shown(node: Node) -> str:
    """Describe what stands there, for an error."""
    if isinstance(node, ListNode):
        return "a list"
    if isinstance(node, MapNode):
        return "a mapping"
    assert isinstance(node, TextNode)
    if node.value is None:
        return "nothing"
    text = node.text if len(node.text) <= _SHOWN else node.text[:_SHOWN] + "…"
    return repr(text) if isinstance(node.value, str) else text


def read_nodes(path: Path) -> Node:
    """Read a file.

    Parameters
    ----------
    path : Path
        The file.

    Raises
    ------
    ScenarioError
        It cannot be read, or is no YAML that a scenario may be; with the line where there is one.
    """
    try:
        import yaml
    except ImportError as error:
        msg = f'{path} is YAML, which needs PyYAML: pip install "steer-nb[yaml]"'
        raise ScenarioError(msg, path=str(path)) from error
    text = _text(path)
    try:
        return _build(yaml, str(path), yaml.parse(text, Loader=yaml.SafeLoader))
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        what = f"the character U+{ord(str(text[error.position])):04X} may not stand in a YAML file."
        refuse(str(path), line, column, what, cause=error)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        refuse(str(path), line, column, _syntax(error), cause=error)


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        msg = f"The scenario file {path} cannot be read ({error.strerror or error})."
        raise ScenarioError(msg, path=str(path)) from error
    if len(content) > LARGEST:
        msg = f"The scenario file {path} is larger than {LARGEST // 2**20} MiB."
        raise ScenarioError(msg, path=str(path))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        column = error.start - content.rfind(b"\n", 0, error.start)
        what = f"the byte 0x{content[error.start]:02x} is no UTF-8; save the file as UTF-8."
        refuse(str(path), line, column, what, cause=error)


def _syntax(error: Any) -> str:
    """Say what is wrong with the YAML, with a hint for what happens to everybody."""
    problem = str(error.problem or "it cannot be read")
    hint = ""
    if "\\t" in problem:
        hint = " Indent with blanks, not with tabs."
    elif "mapping values are not allowed" in problem:
        hint = " A text with a colon and a blank in it goes in quotes."
    elif "flow" in str(error.context):
        hint = " A text with a comma, a bracket or a brace in it goes in quotes."
    elif "anchor" in problem or "alias" in problem:
        hint = " A text that begins with & or * goes in quotes."
    elif "cannot start any token" in problem:
        hint = " A text that begins with such a character goes in quotes."
    about = f" {error.context}:" if error.context else ""
    return f"this is no YAML:{about} {problem}.{hint}"


def _build(yaml: Any, file: str, events: Iterator[Any]) -> Node:
    """Build the tree of the one document that there may be."""
    root: Node | None = None
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            if root is not None:
                mark = event.start_mark
                what = "a second document begins here; a file holds one scenario."
                refuse(file, mark.line + 1, mark.column + 1, what)
            root = _node(yaml, file, next(events), events, 0)
    if root is None or (isinstance(root, TextNode) and root.value is None):
        refuse(file, 1, 1, "the file is empty; a scenario needs 'turns' or 'rules'.")
    return root


def _node(yaml: Any, file: str, event: Any, events: Iterator[Any], depth: int) -> Node:
    """Build what begins with `event`. It is as deep as the file is, which is limited."""
    at = (file, event.start_mark.line + 1, event.start_mark.column + 1)
    if isinstance(event, yaml.AliasEvent):
        refuse(*at, f"aliases (*{event.anchor}) are not taken; write it out, or quote the text.")
    if event.anchor is not None:
        refuse(*at, f"anchors (&{event.anchor}) are not taken; quote a text that begins with &.")
    if event.tag not in (None, "!"):
        refuse(*at, f"tags ({event.tag}) are not taken; quote a text that begins with !.")
    if depth > DEEPEST:
        refuse(*at, f"this is nested too deeply, over {DEEPEST} levels.")
    if isinstance(event, yaml.ScalarEvent):
        return TextNode(*at, text=event.value, quoted=event.style is not None)
    if isinstance(event, yaml.SequenceStartEvent):
        items = [
            _node(yaml, file, inner, events, depth + 1)
            for inner in _until(yaml.SequenceEndEvent, events)
        ]
        return ListNode(*at, items=items)
    values: dict[str, Node] = {}
    keys: dict[str, TextNode] = {}
    for inner in _until(yaml.MappingEndEvent, events):
        key = _node(yaml, file, inner, events, depth + 1)
        if not isinstance(key, TextNode):
            key.refuse(f"a key is a word, not {shown(key)}.")
        if key.text in keys:
            first = keys[key.text].line
            key.refuse(f"{key.text!r} stands here twice; the first is in line {first}.")
        keys[key.text] = key
        values[key.text] = _node(yaml, file, next(events), events, depth + 1)
    return MapNode(*at, values=values, keys=keys, braces=bool(event.flow_style))


def _until(end: type, events: Iterable[Any]) -> Iterator[Any]:
    for event in events:
        if isinstance(event, end):
            return
        yield event
