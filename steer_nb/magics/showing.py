"""What a magic prints, and values that look well in a cell."""

from __future__ import annotations

from typing import Any

__all__ = ["Facts", "say"]


def say(text: str) -> None:
    """Print to the running cell."""
    print(text)  # noqa: T201


class Facts(dict[str, Any]):
    """A dict that shows itself as lines of name and value.

    Examples
    --------
    >>> Facts(name="default", connected=True)
    name       default
    connected  True
    """

    def __repr__(self) -> str:
        width = max((len(name) for name in self), default=0) + 2
        return "\n".join(f"{name:<{width}}{_shown(value)}" for name, value in self.items())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text("{...}" if cycle else repr(self))


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.1f}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_shown(inner)}" for name, inner in value.items()) or "none"
    return str(value)
