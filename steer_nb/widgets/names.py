"""The variables that a person made in this notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["own_variables"]


def own_variables(shell: Any, fits: Callable[[Any], bool]) -> dict[str, Any]:
    """Give those that fit, by name: what IPython put there itself only where it was replaced.

    Parameters
    ----------
    shell : InteractiveShell or None
        The notebook's; without one there are none.
    fits : callable
        Says of a value whether it is wanted.

    Examples
    --------
    >>> own_variables(None, callable)
    {}
    """
    if shell is None:
        return {}
    hidden = shell.user_ns_hidden
    found = {
        name: value
        for name, value in dict(shell.user_ns).items()
        if not name.startswith("_")
        and not (name in hidden and hidden[name] is value)
        and fits(value)
    }
    return dict(sorted(found.items()))
