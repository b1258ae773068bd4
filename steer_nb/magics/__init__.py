"""``%steer`` and ``%%steer``.

`grammar` declares the words; `parsing`, `helping` and `completing` are made from it; `actions` does
what a line asks for; `shell` and `completion` know IPython.
"""

from __future__ import annotations

from steer_nb.magics.shell import SteerMagics, register, unregister

__all__ = ["SteerMagics", "register", "unregister"]
