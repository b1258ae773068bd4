"""A notebook's objects as the wire's content parts and values: figures, pictures, tables, files.

Nothing is imported for this: a figure, an image or a DataFrame is recognised by what its class says
of itself, so its library is there already.
"""

from __future__ import annotations

import base64
import io
import mimetypes
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from steer_nb.errors import InvalidInput
from steer_nb.wire import check_value
from steer_nb.wire.limits import FILE_DATA_LIMIT, IMAGE_URL_LIMIT, TEXT_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

__all__ = ["ObjectKind", "checked_text", "content_part", "object_kind", "plain"]

ObjectKind = Literal["picture", "table", "file"]
"""What an object is sent as."""

_IMAGES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
}
_PNG_MODES = {"1", "L", "LA", "P", "RGB", "RGBA", "I;16"}
_NEAREST = {"I": "I;16", "La": "LA", "PA": "RGBA", "RGBa": "RGBA"}


def object_kind(value: object) -> ObjectKind | None:
    """Say what a notebook object would be sent as; None for what is none, and plain values.

    Examples
    --------
    >>> object_kind(b"GIF89a"), object_kind(Path("plan.pdf")), object_kind("text")
    ('picture', 'file', None)
    """
    if isinstance(value, Path):
        return "picture" if value.suffix.lower() in _IMAGES else "file"
    if isinstance(value, bytes | bytearray | memoryview):
        return "picture" if _sniffed(bytes(value[:12])) else "file"
    if isinstance(value, type):
        return None
    roots = {kind.__module__.partition(".")[0] for kind in type(value).__mro__}
    if ("PIL" in roots and hasattr(value, "save")) or hasattr(_figure(value, roots), "savefig"):
        return "picture"
    return "table" if _writer(value, roots) else None


def content_part(value: Any, path: str) -> dict[str, Any] | None:
    """Turn a notebook object into the content part that it is; None for what is none.

    Raises
    ------
    InvalidInput
        It is empty, too large for the service, or cannot be turned.

    Examples
    --------
    >>> content_part(b"GIF89a", "input")
    {'type': 'input_image', 'image_url': 'data:image/gif;base64,R0lGODlh', 'detail': 'auto'}
    >>> content_part("text", "input")
    """
    kind = object_kind(value)
    if kind is None:
        return None
    if isinstance(value, Path):
        return _path(value, path)
    if isinstance(value, bytes | bytearray | memoryview):
        return _bytes(bytes(value), path)
    roots = {one.__module__.partition(".")[0] for one in type(value).__mro__}
    if kind == "table":
        return _table(value, path, getattr(value, _writer(value, roots)))
    if "PIL" in roots:
        return _drawn(value, path, "PNG", lambda: _png(value))
    return _drawn(value, path, "PNG", lambda: _saved(_figure(value, roots)))


def plain(value: object, path: str) -> Any:
    """Turn what a person or a tool gives into JSON values: numpy's and pandas', dataclasses too.

    Raises
    ------
    InvalidInput
        There is something in it that JSON cannot say.

    Examples
    --------
    >>> plain({"sat": (1, 2)}, "output")
    {'sat': (1, 2)}
    """
    try:
        made = msgspec.to_builtins(value, enc_hook=_simple, str_keys=True)
    except (NotImplementedError, TypeError, ValueError, RecursionError) as error:
        msg = f"{path}: {error}"
        raise InvalidInput(msg, field=path, value=value, rule="text or JSON") from error
    check_value(made, path=path)
    return made


def _simple(value: Any) -> object:
    module = type(value).__module__.partition(".")[0]
    if module == "pandas" and hasattr(value, "to_dict"):
        if not hasattr(value, "columns"):
            return value.to_dict()
        return (value if _numbered(value) else value.reset_index()).to_dict(orient="records")
    if module in ("pandas", "numpy"):
        for method in ("isoformat", "tolist"):
            if hasattr(value, method):
                return getattr(value, method)()
    msg = f"{type(value).__name__} is no JSON; give text, numbers, lists or dicts."
    raise NotImplementedError(msg)


def _numbered(table: Any) -> bool:
    return type(table.index).__name__ == "RangeIndex"


def _figure(value: Any, roots: set[str]) -> Any:
    """The figure that axes, or a part of a figure, stand in; anything else as it is."""
    if "matplotlib" in roots:
        while not hasattr(value, "savefig") and getattr(value, "figure", value) is not value:
            value = value.figure
    return value


def _writer(value: object, roots: set[str]) -> str:
    """The method that writes a table as CSV; empty for what is no table."""
    for root, method in (("pandas", "to_csv"), ("polars", "write_csv")):
        if root in roots and hasattr(value, method):
            return method
    return ""


def _made(value: object, path: str, what: str, make: Callable[[], T]) -> T:
    """What another library makes of its own object; what it raises is said as ours."""
    try:
        return make()
    except Exception as error:
        rule = f"it cannot be turned into {what}"
        msg = f"{path} is a {type(value).__name__}, and {rule}: {type(error).__name__}: {error}"
        raise InvalidInput(msg, field=path, value=value, rule=rule) from error


def _drawn(value: object, path: str, what: str, make: Callable[[], bytes]) -> dict[str, Any]:
    return _image(_made(value, path, f"a {what}", make), "image/png", path)


def _png(picture: Any) -> bytes:
    if picture.mode not in _PNG_MODES:
        picture = picture.convert(_NEAREST.get(picture.mode, "RGB"))
    buffer = io.BytesIO()
    picture.save(buffer, format="PNG")
    return buffer.getvalue()


def _saved(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _table(value: Any, path: str, write: Callable[..., str]) -> dict[str, Any]:
    options = {"index": not _numbered(value)} if hasattr(value, "index") else {}
    text = _made(value, path, "CSV", lambda: write(**options))
    _fits(len(text), TEXT_LIMIT, path, "table", "Send fewer rows, or a summary.")
    return {"type": "input_text", "text": checked_text(text, path)}


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
    kind = _sniffed(data)
    if kind:
        return _image(data, kind, path)
    if data.startswith(b"%PDF-"):
        return _file(data, "application/pdf", "data.pdf", path)
    return _file(data, "application/octet-stream", "data.bin", path)


def _sniffed(data: bytes) -> str:
    """The kind of picture that bytes begin; empty for others."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else ""


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


def checked_text(value: str, path: str) -> str:
    """Give a text as it is, once it can be sent.

    Raises
    ------
    InvalidInput
        It is empty or too long.
    """
    if not value.strip():
        msg = f"{path} is empty: there is nothing to send."
        raise InvalidInput(msg, field=path, value=value, rule="not empty")
    check_value(value, path=path)
    _fits(len(value), TEXT_LIMIT, path, "text")
    return value
