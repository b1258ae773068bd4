"""How the objects that a person holds appear when they are a cell's result."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from steer_nb.client import Lane

__all__ = ["install_pictures", "show_now"]


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

    each = _ShowEach(shell)
    shell.events.register("post_run_cell", _keep)
    shell.ast_transformers.append(each)
    each.begin()

    def undo() -> None:
        shell.events.unregister("post_run_cell", _keep)
        if each in shell.ast_transformers:
            shell.ast_transformers.remove(each)
        for formatter, name, _ in chosen:
            formatter.pop(name, None)

    return undo


class _ShowEach(ast.NodeTransformer):
    """Lets each `%steer` of a cell show its view, as the last one does by being the cell's result.

    A cell shows what its last expression gives; a view that a line before it opens would be lost.
    Only whole lines of the cell itself are meant: `x = %steer open a` shows nothing, and neither
    does a line in a loop or one that ends in a semicolon.
    """

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def visit_Module(self, node: ast.Module) -> ast.Module:
        if self._shell.ast_node_interactivity in ("last_expr", "last_expr_or_assign"):
            node.body[:-1] = [_shown(line) if _is_steer(line) else line for line in node.body[:-1]]
        return node

    def begin(self) -> None:
        """Do the same with what is left of the cell that runs: `%load_ext` stands in that.

        It was parsed before there was this transformer. IPython compiles each statement when it is
        its turn, and holds them until then only in the frame that runs the cell. Where there is no
        such frame, in another version or outside a cell, the last view of that cell is shown.
        """
        frame: FrameType | None = sys._getframe()
        while frame is not None and frame.f_code.co_name != "run_ast_nodes":
            frame = frame.f_back
        lines = None if frame is None else frame.f_locals.get("nodelist")
        if isinstance(lines, list) and lines:
            self._change(lines)

    def _change(self, lines: list[ast.stmt]) -> None:
        rest = self.visit_Module(ast.Module(list(lines), []))
        for line, shown in zip(lines, rest.body, strict=True):
            if shown is not line:
                assert isinstance(line, ast.Expr)
                assert isinstance(shown, ast.Expr)
                line.value = shown.value  # in place: IPython holds each, and not their list


def _is_steer(line: ast.stmt) -> bool:
    """Whether it is ``get_ipython().run_line_magic("steer", ...)``, which `%steer` is made into."""
    call = line.value if isinstance(line, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    name = call.args[0] if call.args else None
    steers = isinstance(name, ast.Constant) and name.value == "steer"
    return steers and call.func.attr == "run_line_magic"


def _shown(line: ast.stmt) -> ast.stmt:
    assert isinstance(line, ast.Expr)
    # Imported in the line itself: no name of ours appears among the person's.
    call = ast.parse(f"__import__({__name__!r}, fromlist=['show_now']).show_now(0)", mode="eval")
    assert isinstance(call.body, ast.Call)
    call.body.args = [line.value]
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call.body), line))


def show_now(result: object) -> None:
    """Show what a `%steer` line gave, if that is a view of something that goes on.

    Parameters
    ----------
    result : object
        A lane, a view or forms are shown; anything else, as in any cell, only when it comes last.
    """
    from IPython.display import display

    names = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(result).__mro__}
    if names & _VIEWS:
        publish: Any = display  # typed in some versions of IPython, untyped in others
        publish(result)


_VIEWS = {("steer_nb", name) for name in ("Lane", "LaneView", "BoardView", "PendingForms")}


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
