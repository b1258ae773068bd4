"""Packages that only an extra of steer_nb brings along."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from steer_nb.errors import MissingExtra

__all__ = ["extra"]


def extra(module: str, name: str, why: str) -> Any:
    """Import a package that only an extra brings along.

    Parameters
    ----------
    module : str
        The package, or a module of it.
    name : str
        The extra that brings it.
    why : str
        What needs it, as a sentence without its end.

    Raises
    ------
    MissingExtra
        It is not installed.

    Examples
    --------
    >>> extra("json", "yaml", "A recording needs it").loads("[1]")
    [1]
    >>> extra("no_such_package", "yaml", "A VCR cassette needs PyYAML")
    Traceback (most recent call last):
    ...
    steer_nb.errors.MissingExtra: A VCR cassette needs PyYAML: pip install "steer-nb[yaml]"
    """
    try:
        return import_module(module)
    except ImportError as error:
        msg = f'{why}: pip install "steer-nb[{name}]"'
        raise MissingExtra(msg, extra=name) from error
