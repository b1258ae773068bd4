"""What a person may say to a model: text, and notebook objects turned into the wire's parts.

Which objects there are, and what each becomes, `steer_nb.client.objects` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from steer_nb.client.objects import checked_text, content_part
from steer_nb.errors import InvalidInput
from steer_nb.wire import check_value
from steer_nb.wire.content import PART_TYPES
from steer_nb.wire.stub_kinds import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["answer_fields", "answer_output", "create_input", "steer_input", "user_items"]

_TAKES = (
    "text, a Path, bytes, a PIL image, a matplotlib figure, a DataFrame, an item of the wire "
    "(dict), or a list of these"
)


def create_input(value: object) -> str | list[dict[str, Any]] | None:
    """Turn what a person gave into the `input` of a `response.create`.

    Parameters
    ----------
    value : object
        A string; a `pathlib.Path` or bytes (PNG, JPEG, WebP and GIF become `input_image`, the rest
        `input_file`); a PIL image or matplotlib figure (`input_image`); a DataFrame (its table as
        CSV text); a dict, an item of the wire, which is passed on (these objects may stand in its
        `content` or `output`, too); or a list of these. What is no complete item of its own becomes
        part of one user message. None gives no input at all.

    Returns
    -------
    str, list of dict, or None
        Ready for the wire.

    Raises
    ------
    InvalidInput
        If a value is empty, too large for the service, or nothing that can be sent.

    Examples
    --------
    >>> create_input("Plan a trip.")
    'Plan a trip.'
    >>> create_input(["Look:", {"type": "input_image", "file_id": "file_1", "detail": "low"}])
    [{'type': 'message', 'role': 'user', 'content': [{'type': 'input_text', 'text': 'Look:'}, \
{'type': 'input_image', 'file_id': 'file_1', 'detail': 'low'}]}]
    """
    if value is None:
        return None
    if isinstance(value, str):
        return checked_text(value, "input")
    many = isinstance(value, list | tuple)
    elements: list[Any] = list(value) if isinstance(value, list | tuple) else [value]
    if not elements:
        msg = f"input is an empty list; give {_TAKES}."
        raise InvalidInput(msg, field="input", value=value, rule="not empty")
    items: list[dict[str, Any]] = []
    parts: list[dict[str, Any]] = []
    for index, element in enumerate(elements):
        path = f"input[{index}]" if many else "input"
        if isinstance(element, Mapping) and element.get("type") not in PART_TYPES:
            if parts:
                items.append(_message(parts))
                parts = []
            item = _item(element, path)
            check_value(item, path=path)
            items.append(item)
        else:
            parts.append(_part(element, path))
    if parts:
        items.append(_message(parts))
    return items


def steer_input(value: object) -> str | list[dict[str, Any]]:
    """Turn what a person gave into the `input` of a `response.steer`; see `create_input`.

    Raises
    ------
    InvalidInput
        Also for None: a steer has to say something.
    """
    given = create_input(value)
    if given is None:
        msg = f"A steer has to say something: give {_TAKES}."
        raise InvalidInput(msg, field="input", value=value, rule="not empty")
    return given


def user_items(value: object) -> list[dict[str, Any]]:
    """Turn what a person gave into input items, to follow others."""
    given = create_input(value)
    if given is None:
        return []
    if isinstance(given, str):
        return [_message([{"type": "input_text", "text": given}])]
    return given


def answer_fields(stub: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Turn what a person gave for a stub into what `steer_nb.wire.fill_stub` takes.

    Parameters
    ----------
    stub : mapping
        The stub that is filled.
    fields : mapping
        Its result fields. Notebook objects stand where the wire has a place for them: in the
        `output` of a function or custom tool (see `answer_output`), as the screenshot of a computer
        call, and a table wherever text is wanted. The bytes of a process are its `stdout` and
        `stderr`. All else is passed on.

    Returns
    -------
    dict
        The fields, of JSON values wherever an object was recognised.

    Raises
    ------
    InvalidInput
        If an object is empty, too large for the service, or cannot be turned.

    Examples
    --------
    >>> stub = {"type": "computer_call_output", "call_id": "call_1"}
    >>> answer_fields(stub, {"output": b"GIF89a"})["output"]
    {'type': 'computer_screenshot', 'image_url': 'data:image/gif;base64,R0lGODlh'}
    """
    kind = kind_of(stub)
    turned = dict(fields)
    for name, value in fields.items():
        field = kind.field(name)
        turn = None if field is None else _TURNS.get(field.kind)
        if turn is not None:
            turned[name] = turn(value, name)
    return turned


def answer_output(value: object, path: str = "output") -> Any:
    """Turn a result into a tool's `output`, as `create_input` would turn it into what is said.

    Parameters
    ----------
    value : object
        A table becomes its text; pictures, files and bytes become content parts, and so does a list
        in which one of them stands beside text. Any other value is passed on.

    Returns
    -------
    object
        Text, a list of content parts, or `value` itself.

    Raises
    ------
    InvalidInput
        If an object is empty, too large for the service, or cannot be turned.

    Examples
    --------
    >>> answer_output({"sat": "18 °C"})
    {'sat': '18 °C'}
    >>> answer_output(["A dot:", b"GIF89a"])[1]
    {'type': 'input_image', 'image_url': 'data:image/gif;base64,R0lGODlh', 'detail': 'auto'}
    """
    if isinstance(value, list | tuple):
        turned = [content_part(element, f"{path}[{at}]") for at, element in enumerate(value)]
        if not any(turned):
            return value
        return [
            found if found is not None else _part(element, f"{path}[{at}]")
            for at, (element, found) in enumerate(zip(value, turned, strict=True))
        ]
    part = content_part(value, path)
    if part is None:
        return value
    return part["text"] if part["type"] == "input_text" else [part]


def _as_text(value: object, path: str) -> object:
    part = content_part(value, path)
    return part["text"] if part is not None and part["type"] == "input_text" else value


def _as_screenshot(value: object, path: str) -> object:
    part = content_part(value, path)
    if part is None:
        return value
    if part["type"] != "input_image":
        rule = "a screenshot is a picture: PNG, JPEG, WebP or GIF"
        msg = f"{path} is a {type(value).__name__} that holds no picture: {rule}."
        raise InvalidInput(msg, field=path, value=value, rule=rule)
    return {"type": "computer_screenshot", "image_url": part["image_url"]}


def _as_streams(value: object, path: str) -> object:  # noqa: ARG001 - like the others
    """What a process wrote, as text: `subprocess` gives bytes."""
    if not isinstance(value, list | tuple):
        return value
    return [
        {
            name: bytes(text).decode("utf-8", "replace")
            if isinstance(text, bytes | bytearray)
            else text
            for name, text in output.items()
        }
        if isinstance(output, Mapping)
        else output
        for output in value
    ]


_TURNS: dict[str, Callable[[object, str], Any]] = {
    "content": answer_output,
    "json_text": _as_text,
    "text": _as_text,
    "screenshot": _as_screenshot,
    "shell_output": _as_streams,
}


def _item(element: Mapping[str, Any], path: str) -> dict[str, Any]:
    """An item of the wire, with the objects in it turned."""
    item = dict(element)
    content = item.get("content")
    if isinstance(content, list | tuple):
        item["content"] = [
            part if isinstance(part, Mapping) else _part(part, f"{path}.content[{at}]")
            for at, part in enumerate(content)
        ]
    field = kind_of(item).field("output") if "output" in item else None
    if field is not None and field.kind in _TURNS:
        item["output"] = _TURNS[field.kind](item["output"], f"{path}.output")
    return item


def _message(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": parts}


def _part(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"type": "input_text", "text": checked_text(value, path)}
    if isinstance(value, Mapping):
        part = dict(value)
        check_value(part, path=path)
        return part
    found = content_part(value, path)
    if found is None:
        msg = f"{path} is a {type(value).__name__}, which cannot be sent; give {_TAKES}."
        raise InvalidInput(msg, field=path, value=value, rule=_TAKES)
    return found
