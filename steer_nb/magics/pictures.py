"""How the objects that a person holds appear when they are a cell's result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane

__all__ = ["install_pictures"]


def install_pictures(shell: Any) -> Callable[[], None]:
    """Let a shell show lanes live: so `%steer open` shows the lane, and returns it too.

    The other objects, and lanes elsewhere, bring their own HTML.

    Parameters
    ----------
    shell : InteractiveShell
        Which shell.

    Returns
    -------
    callable
        Takes it away again.
    """
    live = shell.display_formatter.ipython_display_formatter
    chosen: list[tuple[Any, str, Callable[[Any], Any]]] = [
        (live, "steer_nb.client.lane.Lane", _show_lane),
    ]
    for formatter, name, show in chosen:
        formatter.for_type_by_name(*name.rsplit(".", 1), show)

    shell.events.register("post_run_cell", _keep)

    def undo() -> None:
        shell.events.unregister("post_run_cell", _keep)
        for formatter, name, _ in chosen:
            formatter.pop(name, None)

    return undo


def _keep(_: Any) -> None:
    """At the end of each cell: what executes notebooks saves the pictures as they are then."""
    forms = sys.modules.get("steer_nb.widgets.forms.pending")
    if forms is not None:
        forms.keep_forms()
    views = sys.modules.get("steer_nb.widgets.view")
    if views is not None:
        views.keep_pictures()


def _show_lane(lane: Lane) -> None:
    from steer_nb.widgets import LaneView

    LaneView(lane.session, lane).show()
