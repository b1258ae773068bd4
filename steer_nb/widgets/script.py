"""The scripts of the widgets that have one: files beside this one, put together as they are."""

from __future__ import annotations

from pathlib import Path

__all__ = ["script"]


def script(*names: str) -> str:
    """Give the text of a widget's module, made of these files; no build, nothing is fetched.

    Parameters
    ----------
    *names : str
        Files of this package, those first that the others need.

    Examples
    --------
    >>> script("common.js", "press.js").count("export default")
    1
    """
    folder = Path(__file__).parent
    return "\n".join((folder / name).read_text("utf-8") for name in names)
