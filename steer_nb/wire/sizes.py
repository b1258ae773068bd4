"""What makes a message large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from steer_nb.wire.jsonio import encode

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["largest_parts", "utf8_length"]

_DEEPEST = 6


def utf8_length(text: str) -> int:
    """Count the bytes that a message has on the wire."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def largest_parts(message: dict[str, Any], count: int = 3) -> list[tuple[str, int]]:
    """Find the values that take most of a message's room.

    Parameters
    ----------
    message : dict
        A request.
    count : int
        At most so many.

    Returns
    -------
    list of (str, int)
        Where each stands, as in ``input[2].output[0].image_url``, and its size in bytes as JSON in
        UTF-8, the largest first. What is less than an eighth of the whole is left out.

    Examples
    --------
    >>> largest_parts({"type": "response.create", "input": [{"role": "user", "content": "x" * 98}]})
    [('input[0].content', 100)]
    """
    whole = _size(message)
    found = [(where, size) for where, size in _parts(message, "", 0) if size * 8 >= whole]
    return sorted(found, key=lambda part: -part[1])[:count]


def _parts(value: Any, where: str, depth: int) -> Iterator[tuple[str, int]]:
    inner: list[tuple[str, Any]] = []
    if depth < _DEEPEST and isinstance(value, dict):
        inner = [(f"{where}.{name}" if where else name, one) for name, one in value.items()]
    elif depth < _DEEPEST and isinstance(value, list):
        inner = [(f"{where}[{index}]", one) for index, one in enumerate(value)]
    if not inner and where:
        yield where, _size(value)
    for place, one in inner:
        yield from _parts(one, place, depth + 1)


def _size(value: Any) -> int:
    return len(encode(value).encode("utf-8"))
