"""Whether a cell runs: while one does, a kernel may not hear what is typed in a page."""

from __future__ import annotations

import time
from typing import Any

from steer_nb.widgets.painter import find_kernel

__all__ = ["Cells", "cells"]


class Cells:
    """Follows the beginning and the end of cells in this kernel, from the first question on.

    Examples
    --------
    >>> Cells().quiet(0.5)
    True
    """

    def __init__(self) -> None:
        self._shell: Any = None
        self._runs = False
        self._ended = 0.0

    def watch(self) -> None:
        """Begin to follow; to be called in a running cell. Without a kernel nothing is followed."""
        from IPython import get_ipython

        shell = get_ipython()
        if find_kernel() is None or shell is self._shell:
            return
        self._shell, self._runs = shell, True
        shell.events.register("pre_run_cell", self._begin)
        shell.events.register("post_run_cell", self._end)

    def quiet(self, seconds: float) -> bool:
        """Whether no cell has run for so long."""
        return not self._runs and time.monotonic() - self._ended >= seconds

    def _begin(self, _: object) -> None:
        self._runs = True

    def _end(self, _: object) -> None:
        self._runs = False
        self._ended = time.monotonic()


cells = Cells()
"""Those of this kernel."""
