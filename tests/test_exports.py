"""The public names, and what importing them costs in modules."""

from __future__ import annotations

import subprocess
import sys

import pytest

import steer_nb

PUBLIC = [
    "Inject",
    "Lane",
    "Reconnect",
    "Replay",
    "RequiredInput",
    "Response",
    "Session",
    "Simulator",
    "Steer",
    "Tool",
    "Trace",
    "TraceSet",
    "__version__",
    "allow_nested_loops",
    "connect",
    "current_session",
    "load",
    "load_ipython_extension",
    "recover",
    "replay",
    "scan",
    "sessions",
    "tool",
    "unload_ipython_extension",
]

HEAVY = [
    "pandas",
    "dask",
    "ipywidgets",
    "altair",
    "websockets",
    "IPython",
    "nest_asyncio",
    "msgspec",
    "markdown_it",
]


def test_public_names_are_pinned_and_exist():
    assert sorted(steer_nb.__all__) == PUBLIC
    for name in PUBLIC:
        assert getattr(steer_nb, name) is not None
    assert set(PUBLIC) <= set(dir(steer_nb))


def test_importing_loads_nothing_heavy():
    code = f"import sys, steer_nb; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_connecting_loads_neither_pandas_nor_widgets_nor_nested_loops():
    code = (
        "import asyncio, sys, steer_nb\n"
        "run = asyncio.run\n"
        "s = steer_nb.connect(simulate='planner', journal=False, quiet=True)\n"
        "s.lane('a'); s.close()\n"
        "assert asyncio.run is run\n"
        "print([m for m in ('pandas', 'ipywidgets', 'nest_asyncio') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="nothing"):
        steer_nb.nothing  # noqa: B018
