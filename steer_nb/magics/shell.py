"""The magic itself, and how it comes into a shell and out of it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from IPython.core.error import UsageError
from IPython.core.magic import (
    Magics,
    line_cell_magic,
    magics_class,
    needs_local_scope,
    no_var_expand,
)

from steer_nb.errors import SteerError
from steer_nb.magics.actions import glance, perform, perform_cell
from steer_nb.magics.completion import install
from steer_nb.magics.helping import docstring
from steer_nb.magics.parsing import is_blank, parse_cell, parse_line
from steer_nb.magics.pictures import install_pictures
from steer_nb.magics.transforms import keep_questions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["SteerMagics", "register", "unregister"]

_undo: WeakKeyDictionary[Any, list[Callable[[], None]]] = WeakKeyDictionary()


@magics_class
class SteerMagics(Magics):  # type: ignore[misc, unused-ignore]
    """``%steer`` and ``%%steer``.

    A person's mistake, and every error of steer_nb, is one red line (`UsageError`), which stops a
    notebook that runs without a person. The error behind it, with its traceback, is
    ``sys.last_value.__cause__``. Anything else is a fault, and shows its whole traceback.
    """

    # IPython's `output_can_be_silenced` would take a semicolon at the end of what is sent to a
    # model for its own, and drop the handle: `parse_line` tells the two apart.
    @no_var_expand  # type: ignore[untyped-decorator, unused-ignore]
    @needs_local_scope
    @line_cell_magic
    def steer(  # noqa: D102 - its docstring is made from the table, below
        self, line: str, cell: str | None = None, local_ns: Mapping[str, Any] | None = None
    ) -> Any:
        assert self.shell is not None
        spaces = [*([local_ns] if local_ns is not None else []), self.shell.user_ns]
        try:
            if cell is not None:
                # IPython ends the last line of a cell; nobody typed that line feed.
                parsed = parse_cell(line)
                result: Any = perform_cell(parsed, cell.removesuffix("\n"), spaces)
            elif is_blank(line):
                return glance()
            else:
                parsed = parse_line(line)
                result = perform(parsed, spaces)
        except SteerError as problem:
            raise UsageError(str(problem)) from problem
        return None if parsed.silenced else result

    steer.__doc__ = docstring()


def register(shell: Any) -> None:
    """Add the magics, their completion and the input transformation to a shell.

    Parameters
    ----------
    shell : InteractiveShell
        Registering again replaces what was there.
    """
    unregister(shell)
    shell.register_magics(SteerMagics)
    transforms = shell.input_transformers_cleanup
    transforms.append(keep_questions)

    def untransform() -> None:
        if keep_questions in transforms:
            transforms.remove(keep_questions)

    _undo[shell] = [install(shell), untransform, install_pictures(shell)]


def unregister(shell: Any) -> None:
    """Take everything away that `register` added; sessions stay open."""
    for undo in _undo.pop(shell, ()):
        undo()
    for kind in ("line", "cell"):
        shell.magics_manager.magics[kind].pop("steer", None)
    shell.magics_manager.registry.pop(SteerMagics.__name__, None)
