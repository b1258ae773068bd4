"""How the objects that a person holds appear when they are a cell's result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from steer_nb.client import Lane, Response, Session, Steer

__all__ = ["install_pictures"]


def install_pictures(shell: Any) -> Callable[[], None]:
    """Let a shell show lanes live, and the other objects as HTML.

    So `%steer open` shows the lane, and returns it too.

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
    still = shell.display_formatter.formatters["text/html"]
    chosen: list[tuple[Any, str, Callable[[Any], Any]]] = [
        (live, "steer_nb.client.lane.Lane", _show_lane),
        (still, "steer_nb.client.session.Session", _session),
        (still, "steer_nb.client.handles.Response", _response),
        (still, "steer_nb.client.handles.Steer", _steer),
        (still, "steer_nb.client.required.RequiredInput", _draw),
        (still, "steer_nb.trace.log.Trace", _draw),
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
    views = sys.modules.get("steer_nb.widgets.view")
    if views is not None:
        views.keep_pictures()


def _show_lane(lane: Lane) -> None:
    from steer_nb.widgets import LaneView

    LaneView(lane.session, lane).show()


def _draw(thing: object) -> str:
    from steer_nb.widgets import html_for

    return html_for(thing)


# A picture that is out of date a moment later is worse than none: the plain repr says less.


def _session(session: Session) -> str | None:
    return _draw(session) if session.lanes else None


def _response(response: Response) -> str | None:
    return None if response.status in ("sent", "in_progress") else _draw(response)


def _steer(steer: Steer) -> str | None:
    return None if steer.state in ("sent", "accepted", "pending") else _draw(steer)
