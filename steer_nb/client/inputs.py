"""What a person may say to a model: text, and notebook objects turned into the wire's parts.

Nothing is imported for this: a figure, an image or a DataFrame is recognised by what its class says
of itself, so its library is there already.
"""

from __future__ import annotations

import base64
import io
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from steer_nb.errors import InvalidInput
from steer_nb.wire import check_value
from steer_nb.wire.content import PART_TYPES
from steer_nb.wire.limits import FILE_DATA_LIMIT, IMAGE_URL_LIMIT, TEXT_LIMIT

__all__ = ["create_input", "steer_input"]

_IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
_PNG_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I", "I;16"}
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
        CSV text); a dict, which is passed on; or a list of these. What is no complete item of its
        own becomes part of one user message. None gives no input at all.

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
        return _text(value, "input")
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
            item = dict(element)
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


def _message(parts: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": parts}


def _text(value: str, path: str) -> str:
    if not value.strip():
        msg = f"{path} is empty: there is nothing to send."
        raise InvalidInput(msg, field=path, value=value, rule="not empty")
    check_value(value, path=path)
    _fits(len(value), TEXT_LIMIT, path, "text")
    return value


def _part(value: Any, path: str) -> dict[str, Any]:
    if isinstance(value, str):
        return {"type": "input_text", "text": _text(value, path)}
    if isinstance(value, Mapping):
        part = dict(value)
        check_value(part, path=path)
        return part
    if isinstance(value, Path):
        return _path(value, path)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value), path)
    roots = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    if "PIL" in roots and hasattr(value, "save"):
        picture = value if value.mode in _PNG_MODES else value.convert("RGB")
        buffer = io.BytesIO()
        picture.save(buffer, format="PNG")
        return _image(buffer.getvalue(), "image/png", path)
    if "matplotlib" in roots and not hasattr(value, "savefig"):
        value = getattr(value, "figure", value)  # axes stand for the figure they are in
    if hasattr(value, "savefig"):
        buffer = io.BytesIO()
        value.savefig(buffer, format="png")
        return _image(buffer.getvalue(), "image/png", path)
    if "pandas" in roots and hasattr(value, "to_csv"):
        numbered = type(value.index).__name__ == "RangeIndex"
        return {"type": "input_text", "text": _table(value.to_csv(index=not numbered), path)}
    if "polars" in roots and hasattr(value, "write_csv"):
        return {"type": "input_text", "text": _table(value.write_csv(), path)}
    msg = f"{path} is a {type(value).__name__}, which cannot be sent; give {_TAKES}."
    raise InvalidInput(msg, field=path, value=value, rule=_TAKES)


def _table(text: str, path: str) -> str:
    _fits(len(text), TEXT_LIMIT, path, "table", "Send fewer rows, or a summary.")
    return text


def _path(file: Path, path: str) -> dict[str, Any]:
    kind = _IMAGES.get(file.suffix.lower())
    limit = FILE_DATA_LIMIT if kind is None else IMAGE_URL_LIMIT
    try:
        # Base64 makes four characters of three bytes: a file that cannot fit is not even read.
        _fits(file.stat().st_size * 4 // 3, limit, path, f"file {file.name}")
        data = file.read_bytes()
    except OSError as error:
        msg = f"{path}: the file {file} cannot be read ({error.strerror})."
        raise InvalidInput(msg, field=path, value=file, rule="a readable file") from error
    if kind is not None:
        return _image(data, kind, path)
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return _file(data, kind, file.name, path)


def _bytes(data: bytes, path: str) -> dict[str, Any]:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _image(data, "image/png", path)
    if data.startswith(b"\xff\xd8\xff"):
        return _image(data, "image/jpeg", path)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _image(data, "image/gif", path)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _image(data, "image/webp", path)
    if data.startswith(b"%PDF-"):
        return _file(data, "application/pdf", "data.pdf", path)
    return _file(data, "application/octet-stream", "data.bin", path)


def _image(data: bytes, kind: str, path: str) -> dict[str, Any]:
    url = _data_url(data, kind, path)
    _fits(len(url), IMAGE_URL_LIMIT, path, "image", "Make it smaller.")
    return {"type": "input_image", "image_url": url, "detail": "auto"}


def _file(data: bytes, kind: str, name: str, path: str) -> dict[str, Any]:
    url = _data_url(data, kind, path)
    _fits(len(url), FILE_DATA_LIMIT, path, f"file {name}", "Upload it and give its file_id.")
    return {"type": "input_file", "filename": name, "file_data": url}


def _data_url(data: bytes, kind: str, path: str) -> str:
    if not data:
        msg = f"{path} is empty: there is nothing to send."
        raise InvalidInput(msg, field=path, value=data, rule="not empty")
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _fits(size: int, limit: int, path: str, what: str, advice: str = "Make it shorter.") -> None:
    if size > limit:
        rule = f"at most {limit:,} characters as sent"
        msg = f"{path}: the {what} would be {size:,} characters, and {rule} are allowed. {advice}"
        raise InvalidInput(msg, field=path, value=None, rule=rule)
