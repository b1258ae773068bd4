"""Jupyter servers that tests and benchmarks start, and their end."""

from __future__ import annotations

import subprocess

__all__ = ["end"]

_PATIENCE_S = 15


def end(server: subprocess.Popen[bytes]) -> None:
    """Ask a Jupyter server to end, and see that it does.

    Its last step can wait for good for a thread that AnyIO left behind; nothing is lost by then.
    """
    server.terminate()
    try:
        server.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
