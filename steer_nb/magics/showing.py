"""What a magic prints, and values that look well in a cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Facts", "say"]


def say(text: str) -> None:
    """Print to the running cell."""
    print(text)  # noqa: T201


class Facts(dict[str, Any]):
    """A dict that shows itself as lines of name and value.

    Parameters
    ----------
    values : mapping
        What it holds.
    said : mapping, optional
        What to show for some of them instead.

    Examples
    --------
    >>> Facts({"name": "default", "connected": True})
    name       default
    connected  True
    """

    def __init__(self, values: Mapping[str, Any], said: Mapping[str, str] | None = None) -> None:
        super().__init__(values)
        self._said = dict(said or {})

    def __repr__(self) -> str:
        width = max((len(name) for name in self), default=0) + 2
        return "\n".join(
            f"{name:<{width}}{self._said.get(name) or _shown(value)}"
            for name, value in self.items()
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("{...}" if cycle else repr(self))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(inner)}" for name, inner in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "none"
    return str(value)
