"""Variables of the notebook as answers: which can be sent, and what would be sent of one.

A value is taken at the moment it is picked. What the form shows then is what is sent: a variable
that changes later changes nothing, and a draft survives the kernel that had the variable.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

import ipywidgets as w
import msgspec

from steer_nb.client.inputs import answer_output
from steer_nb.client.objects import content_part, object_kind, plain
from steer_nb.errors import InvalidInput
from steer_nb.widgets.controls import control
from steer_nb.widgets.names import own_variables
from steer_nb.widgets.ticker import ticker

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["VariablePicker", "as_output", "as_picture"]

_MOST: Final = 200
_PLACEHOLDER: Final = "from a variable …"


def as_output(value: object) -> Any:
    """Turn a variable into what a function's or a custom tool's `output` takes.

    Returns
    -------
    str, list of dict, or any JSON value
        Text as it is and a table as CSV; pictures, files and bytes as content parts; all else as
        plain values.

    Raises
    ------
    InvalidInput
        If it cannot be sent.

    Examples
    --------
    >>> as_output({"sat": (1, 2)})
    {'sat': [1, 2]}
    >>> as_output(b"%PDF-1.7")[0]["filename"]
    'data.pdf'
    """
    made = answer_output(value)
    if isinstance(value, str) or made is not value:
        return made
    return json.loads(json.dumps(plain(value, "output")))  # a tuple is a list there


def as_picture(value: object) -> str:
    """Turn a variable into the address of a picture that holds the picture itself.

    Raises
    ------
    InvalidInput
        If it is none.
    """
    if isinstance(value, str) and value.startswith("data:image/"):
        return value
    part = content_part(value, "output")
    if part is not None and part["type"] == "input_image":
        return str(part["image_url"])
    rule = "a picture: a figure, a PIL image, a path or the bytes of one"
    msg = f"a {type(value).__name__} is no picture; pick {rule}."
    raise InvalidInput(msg, field="output.image_url", value=value, rule=rule)


def _is_picture(value: object) -> bool:
    given = isinstance(value, str) and value.startswith("data:image/")
    return given or object_kind(value) == "picture"


def _is_answer(value: object) -> bool:
    if isinstance(value, type | ModuleType):
        return False
    numbers = type(value).__module__ == "numpy" and hasattr(value, "tolist")
    plain = isinstance(value, str | int | float | dict | list | tuple | msgspec.Struct)
    return plain or numbers or dataclasses.is_dataclass(value) or object_kind(value) is not None


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return None if ipython is None else ipython.get_ipython()


def _offered(fits: Callable[[object], bool]) -> list[tuple[str, str]]:
    """Label and name of what can be sent."""
    found = [
        (f"{name} · {type(value).__name__}", name)
        for name, value in own_variables(_shell(), fits).items()
    ]
    return sorted(found, key=lambda pair: pair[1].lower())[:_MOST]


class VariablePicker:
    """A menu of the variables that fit; what is picked is handed over and the menu reset.

    A menu cannot say that it is being opened, and variables change when cells run: it is renewed
    after each cell.

    Parameters
    ----------
    name : str
        What it is for.
    pictures : bool
        Whether only pictures fit.
    taken : callable
        Called with name and value of what is picked.
    """

    def __init__(
        self, name: str, taken: Callable[[str, object], object], *, pictures: bool = False
    ) -> None:
        self._fits = _is_picture if pictures else _is_answer
        self._taken = taken
        self.widget: w.Dropdown = control(
            w.Dropdown, name, css="snb-pick", options=[(_PLACEHOLDER, "")], value=""
        )
        self.refresh()
        self.widget.observe(self._picked, names="value")
        _pickers.add(self)
        _follow(_shell())

    def refresh(self) -> None:
        """Offer what is there now; without anything there is no menu."""
        if self.widget.disabled:
            return  # its form is over
        options = ((_PLACEHOLDER, ""), *_offered(self._fits))
        if self.widget.options != options:
            self.widget.options = options
        self.widget.layout.display = "" if len(options) > 1 else "none"

    def _picked(self, change: Mapping[str, Any]) -> None:
        name = change["new"]
        if not name:
            return
        shell = _shell()
        self.widget.value = ""
        if shell is not None and name in shell.user_ns:
            self._taken(name, shell.user_ns[name])


_pickers: WeakSet[VariablePicker] = WeakSet()
_followed: WeakSet[Any] = WeakSet()


def _follow(shell: Any) -> None:
    if shell is not None and shell not in _followed:
        _followed.add(shell)
        shell.events.register("post_run_cell", _cell_ran)


def _cell_ran(_: object) -> None:
    if _pickers:
        ticker.later("variables", 0.05, _refresh_all)


def _refresh_all() -> None:
    for picker in tuple(_pickers):
        picker.refresh()
