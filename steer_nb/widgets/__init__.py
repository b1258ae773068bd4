"""What a person sees and touches in a notebook: lane views, the board, forms for required input.

Nothing here is loaded before it is used; ipywidgets only for forms and for the box below a lane.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from steer_nb.widgets.forms import NothingPending, PendingForms, pending_forms
    from steer_nb.widgets.reprs import html_for
    from steer_nb.widgets.view import BoardView, LaneView

__all__ = ["BoardView", "LaneView", "NothingPending", "PendingForms", "html_for", "pending_forms"]

_HOME = {
    "BoardView": "steer_nb.widgets.view",
    "LaneView": "steer_nb.widgets.view",
    "NothingPending": "steer_nb.widgets.forms",
    "PendingForms": "steer_nb.widgets.forms",
    "html_for": "steer_nb.widgets.reprs",
    "pending_forms": "steer_nb.widgets.forms",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
