"""What the parts of one request may hold, each and together.

Sources: chapter 6 (single parts), guide "Images and vision" (images in a request, and its total
payload), guide "File inputs" (content of all files in a request).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.errors import InvalidInput
from steer_nb.wire import checks
from steer_nb.wire.limits import (
    FILE_DATA_LIMIT,
    FILES_LIMIT,
    IMAGE_URL_LIMIT,
    MAX_IMAGES,
    REQUEST_LIMIT,
    TEXT_LIMIT,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["check_payload", "check_totals"]

_MIB = 1024 * 1024


_LIMITS = {"text": TEXT_LIMIT, "image_url": IMAGE_URL_LIMIT, "file_data": FILE_DATA_LIMIT}


def check_totals(given: object) -> None:
    """Refuse an `input` of which a part, or all of them together, are more than the service takes.

    Parameters
    ----------
    given : object
        The input of a request: text, or items with text or content parts in `content` or `output`.

    Raises
    ------
    InvalidInput
        A part that is too large, too many images, or too much content of files; the message has the
        size and the limit.

    Examples
    --------
    >>> image = {"type": "input_image", "file_id": "file_1"}
    >>> check_totals([{"role": "user", "content": [image] * 1501}])
    Traceback (most recent call last):
        ...
    steer_nb.errors.InvalidInput: input holds 1,501 images: a request takes at most 1,500. Send \
fewer.
    """
    images, files, count = 0, 0, 0
    for path, part in _parts(given):
        if isinstance(part, str):
            checks.text(part, path, limit=TEXT_LIMIT)
            continue
        for name, limit in _LIMITS.items():
            if isinstance(part.get(name), str):
                checks.text(part[name], f"{path}.{name}", limit=limit)
        kind = part.get("type")
        if kind in ("input_image", "computer_screenshot"):
            images += 1
        elif kind == "input_file" and isinstance(part.get("file_data"), str):
            files += _content_bytes(part["file_data"])
            count += 1
    if images > MAX_IMAGES:
        rule = f"a request takes at most {MAX_IMAGES:,}"
        msg = f"input holds {images:,} images: {rule}. Send fewer."
        raise InvalidInput(msg, field="input", value=None, rule=rule)
    if files > FILES_LIMIT:
        rule = f"a request takes at most {_size(FILES_LIMIT)} of them"
        what = "1 file" if count == 1 else f"{count:,} files"
        msg = f"input holds {what} of {_size(files)}: {rule}. Upload them and give each file_id."
        raise InvalidInput(msg, field="input", value=None, rule=rule)


def check_payload(text: str) -> None:
    """Refuse a request that is larger than the service takes, as encoded.

    Raises
    ------
    InvalidInput
        With its size and the limit.
    """
    if len(text) * 4 <= REQUEST_LIMIT:  # UTF-8 has at most four bytes for a character
        return
    size = len(text.encode("utf-8"))
    if size > REQUEST_LIMIT:
        rule = f"at most {_size(REQUEST_LIMIT)} are allowed"
        msg = f"The request would be {_size(size)}, and {rule}. Send fewer or smaller parts."
        raise InvalidInput(msg, field="input", value=None, rule=rule)


def _parts(given: object) -> Iterator[tuple[str, str | dict[str, Any]]]:
    """Where text and content parts stand, and each of them."""
    if isinstance(given, str):
        yield "input", given
    for index, item in enumerate(given if isinstance(given, list) else ()):
        for name in ("content", "output"):
            value = item.get(name) if isinstance(item, dict) else None
            where = f"input[{index}].{name}"
            if isinstance(value, str | dict):
                yield where, value
            for at, part in enumerate(value if isinstance(value, list) else ()):
                if isinstance(part, dict):
                    yield f"{where}[{at}]", part


def _content_bytes(data: str) -> int:
    """Bytes of a file that is given as base64, with or without the head of a data URL."""
    head, comma, _ = data[:200].partition(",")
    body = len(data) - (len(head) + 1 if comma else 0)
    return body * 3 // 4 - data[-2:].count("=")


def _size(number: int) -> str:
    """Bytes for reading, never rounded down to what would fit."""
    return f"{number:,} bytes ({number / _MIB:,.1f} MiB)"
